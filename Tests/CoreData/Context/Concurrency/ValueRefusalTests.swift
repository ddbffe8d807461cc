import CoreData
import TestFiles
import Testing

/// `read`, `write` and `values(for:)` keep objects on their queues: what takes one off does not compile.
@Suite struct ValueRefusalTests {
  @Test(.timeLimit(.minutes(20))) func objectsDoNotLeaveTheirQueue() throws {
    let code = """
      import CoreData
      final class Book: NSManagedObject {}
      actor Shelf { func put(_ books: [Book]) {} }
      func good(_ container: NSPersistentContainer) async throws -> [NSManagedObjectID] {
        for try await ids in container.viewContext.values(for: NSFetchRequest<Book>(), { $0.objectID }) {
          return ids.values
        }
        return try await container.read { context in try context.fetch(NSFetchRequest<Book>()).map(\\.objectID) }
      }
      @MainActor func shown(_ context: NSManagedObjectContext) async throws {
        for try await books in context.values(for: NSFetchRequest<Book>()) { print(books.first?.isFault ?? true) }
      }
      func read(_ container: NSPersistentContainer) async throws {
        let _: Book = try await container.read { context in Book(context: context) }  // refused
      }
      func write(_ container: NSPersistentContainer) async throws {
        let _: Book = try await container.write { context in Book(context: context) }  // refused
      }
      func values(_ context: NSManagedObjectContext) {
        _ = context.values(for: NSFetchRequest<Book>()) { $0 }  // refused
      }
      @MainActor func sent(_ context: NSManagedObjectContext, _ shelf: Shelf) async throws {
        for try await books in context.values(for: NSFetchRequest<Book>()) { await shelf.put(books.values) }  // refused
      }
      """
    let folder = temporaryURL("values")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let lines = code.components(separatedBy: "\n")
    // Errors about types end the compilation before data races are looked for.
    let raceLine = lines.count - 2
    let isRefused = { (lines: [String]) in
      let file = folder.appendingPathComponent("Values.swift")
      try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
      return Set(try Compiler.diagnostics(of: file).map(\.line))
    }
    let refused = Set(lines.indices.filter { lines[$0].hasSuffix("// refused") }.map { $0 + 1 })
    try #expect(isRefused(lines) == refused.subtracting([raceLine + 1]))
    let withoutTypeErrors = lines.enumerated().map { refused.contains($0 + 1) && $0 != raceLine ? "" : $1 }
    try #expect(isRefused(withoutTypeErrors) == [raceLine + 1])
  }
}
