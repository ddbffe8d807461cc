import CoreData
import TestFiles
import Testing

/// Code that takes a managed object off its queue does not compile.
///
/// The toolchain compiles each snippet against the module under test. A line that it must refuse ends with `// error: `
/// and a part of the diagnostic.
@Suite struct CompilerRefusalTests {
  /// What Apple's signatures let blocks capture and return; ConcurrencyDebug finds the mistakes among it.
  @Test(arguments: [5, 6]) func blocksCaptureAndReturnWhatTheyMayOnAMac(version: Int) throws {
    try expectRefusals(
      """
      final class Importer {
        var log: [String] = []
        let container: NSPersistentContainer
        init(_ container: NSPersistentContainer) { self.container = container }
        func run(_ context: NSManagedObjectContext, done: @escaping () -> Void) {
          var count = 0
          context.perform {
            count += 1
            self.log.append("begun")
            done()
          }
          container.performBackgroundTask { _ in self.log.append("in the background") }
          container.persistentStoreCoordinator.perform { done() }
          container.loadPersistentStores { description, error in
            count += 1
            self.log.append(description.type)
          }
          context.performAndWait { self.log.append("\\(count)") }
          let _: Int = context.performAndWait { self.log.count }
        }
        func rows(_ context: NSManagedObjectContext) async throws -> [NSDictionary] {
          try await context.perform {
            self.log.append("fetching")
            return try context.fetch(NSFetchRequest<NSDictionary>(entityName: "Book"))
          }
        }
        func first(_ context: NSManagedObjectContext) async -> Book {
          await context.perform { Book(context: context) }
        }
      }
      @MainActor final class View {
        var titles: [String] = []
        func show(_ context: NSManagedObjectContext) async throws {
          titles = try await context.perform {
            try context.fetch(NSFetchRequest<Book>(entityName: "Book")).map(\\.description)
          }
        }
        func clear(_ context: NSManagedObjectContext) { context.perform { self.titles = [] } }
      }
      class OwnContext: NSManagedObjectContext, @unchecked Sendable {
        override func perform(_ block: @escaping () -> Void) { super.perform(block) }
        override func performAndWait(_ block: () -> Void) { super.performAndWait(block) }
        override func save() throws { try super.save() }
      }
      class OwnCoordinator: NSPersistentStoreCoordinator, @unchecked Sendable {}
      func make(
        _ kind: NSPersistentStoreCoordinator.Type, _ model: NSManagedObjectModel
      ) -> NSPersistentStoreCoordinator {
        kind.init(managedObjectModel: model)
      }
      func mock() -> [NSManagedObject] { [NSManagedObject(), Book()] }
      """, inSwift: version)
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
func expectRefusals(
  _ snippet: String, inSwift version: Int = 6, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let folder = temporaryURL("snippet")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let source = "import CoreData\nfinal class Book: NSManagedObject {}\n" + snippet + "\n"
  let file = folder.appendingPathComponent("Snippet.swift")
  try source.write(to: file, atomically: true, encoding: .utf8)

  let diagnostics = try Compiler.diagnostics(of: file, inSwift: version)
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
