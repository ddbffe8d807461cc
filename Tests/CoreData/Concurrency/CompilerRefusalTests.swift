import CoreData
import TestFiles
import Testing

/// Code that takes a managed object off its queue does not compile.
///
/// The toolchain compiles each snippet against the module under test. A line that it must refuse ends with `// error: `
/// and a part of the diagnostic.
@Suite struct CompilerRefusalTests {
  @Test func anObjectIsNotCapturedIntoABlockOfAnotherContext() throws {
    try expectRefusals(
      """
      func later(_ book: Book, _ other: NSManagedObjectContext) {
        other.perform { book.setValue("x", forKey: "title") }  // error: capture of 'book' with non-Sendable type
      }
      func fetchedHere(_ context: NSManagedObjectContext, _ other: NSManagedObjectContext) {
        let book = Book(context: context)
        other.perform { book.setValue("x", forKey: "title") }  // error: capture of 'book' with non-Sendable type
      }
      func awaited(_ book: Book, _ other: NSManagedObjectContext) async {
        await other.perform { book.setValue("x", forKey: "title") }  // error: capture of 'book' with non-Sendable type
      }
      func inTheBackground(_ book: Book, _ container: NSPersistentContainer) {
        container.performBackgroundTask { _ in
          book.setValue("x", forKey: "title")  // error: capture of 'book' with non-Sendable type
        }
      }
      """)
  }

  @Test func anObjectIsNotReturnedOutOfABlock() throws {
    try expectRefusals(
      """
      func one(_ context: NSManagedObjectContext) async {
        _ = await context.perform { Book(context: context) }  // error: does not conform to the 'Sendable' protocol
      }
      func fetched(_ context: NSManagedObjectContext) async throws {
        _ = try await context.perform { try context.fetch(NSFetchRequest<Book>(entityName: "Book")) }  // error: does not conform to the 'Sendable' protocol
      }
      func inTheBackground(_ container: NSPersistentContainer) async {
        _ = await container.performBackgroundTask { Book(context: $0) }  // error: does not conform to the 'Sendable' protocol
      }
      """)
  }

  @Test func anObjectIsNotKeptWhereAnyThreadReads() throws {
    try expectRefusals(
      """
      struct Selection: Sendable {
        let book: Book  // error: has non-Sendable type 'Book'
      }
      final class Cache: Sendable {
        let books: [Book]  // error: has non-Sendable type '[Book]'
        init(_ books: [Book]) { self.books = books }
      }
      """)
  }

  @Test func anObjectIsNotSentToATaskOrAnActor() throws {
    try expectRefusals(
      """
      actor Shelf { func put(_ book: Book) {} }

      func toATask(_ book: Book) {
        Task { print(book) }  // error: risks causing data races
      }
      func toATaskAndUsedHere(_ context: NSManagedObjectContext) {
        let book = Book(context: context)
        Task { print(book) }  // error: risks causing data races
        print(book)
      }
      @MainActor func toADetachedTask(_ book: Book) {
        Task.detached { print(book) }  // error: risks causing data races
      }
      func toAChildTask(_ book: Book) async {
        async let printed: Void = print(book)  // error: risks causing data races
        await printed
      }
      func toAnActor(_ book: Book, _ shelf: Shelf) async {
        await shelf.put(book)  // error: risks causing data races
      }
      """)
  }

  @Test func whatCrossesQueuesInOrderCompiles() throws {
    try expectRefusals(
      """
      func titles(_ context: NSManagedObjectContext, of id: NSManagedObjectID) async throws -> String? {
        try await context.perform {
          let book = try context.existingObject(with: id)
          return book.value(forKey: "title") as? String
        }
      }
      func ids(_ container: NSPersistentContainer) async throws -> [NSManagedObjectID] {
        try await container.performBackgroundTask { context in
          let request = NSFetchRequest<NSManagedObjectID>(entityName: "Book")
          request.resultType = .managedObjectIDResultType
          return try context.fetch(request)
        }
      }
      @MainActor func show(_ id: NSManagedObjectID, in view: NSManagedObjectContext) -> String {
        view.object(with: id).description
      }
      func values(_ context: NSManagedObjectContext) throws -> [String] {
        try context.performAndWait {
          try context.fetch(NSFetchRequest<Book>(entityName: "Book")).map(\\.description)
        }
      }
      """)
  }
}

/// Compiles the snippet, and compares the lines that the compiler refuses with those that are marked.
private func expectRefusals(_ snippet: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
  let folder = temporaryURL("snippet")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let source = "import CoreData\nfinal class Book: NSManagedObject {}\n" + snippet + "\n"
  let file = folder.appendingPathComponent("Snippet.swift")
  try source.write(to: file, atomically: true, encoding: .utf8)

  let diagnostics = try Compiler.diagnostics(of: file)
  var expected: [Int: String] = [:]
  for (index, line) in source.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
    if let range = line.range(of: "// error: ") { expected[index + 1] = String(line[range.upperBound...]) }
  }
  for (line, text) in expected {
    #expect(
      diagnostics.contains { $0.line == line && $0.text.contains(text) },
      "line \(line) compiles: \(diagnostics)", sourceLocation: sourceLocation)
  }
  for diagnostic in diagnostics {
    #expect(expected[diagnostic.line] != nil, "\(diagnostic)", sourceLocation: sourceLocation)
  }
}
