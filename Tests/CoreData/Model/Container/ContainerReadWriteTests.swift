import CoreData
import TestFiles
import Testing

/// `read` and `write` of a container.
@Suite(.timeLimit(.minutes(20))) struct ContainerReadWriteTests {
  /// A container on a file with one book, in a folder that is removed with this object.
  private final class Library: Sendable {
    private let folder = temporaryURL("container")
    let container = NSPersistentContainer(name: "Library", managedObjectModel: LibraryModel.make())

    init() throws {
      let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("Library.sqlite"))
      description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
      container.persistentStoreDescriptions = [description]
      // `nonisolated(unsafe)`: the handler runs before the call returns.
      nonisolated(unsafe) var failure: (any Error)?
      container.loadPersistentStores { failure = $1 }
      if let failure { throw failure }
      try save("A")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Another context gives the book this title, or makes it.
    func save(_ title: String) throws {
      let context = container.newBackgroundContext()
      try context.performAndWait {
        let book = try context.all("Book").first ?? context.make("Book")
        book.setValue(title, forKey: "title")
        try context.save()
      }
    }

    func titles() async throws -> [String] {
      try await container.read { try $0.all("Book", sort: "title").compactMap { $0.value(forKey: "title") as? String } }
    }
  }

  @Test func whatTheBlockChangesIsSavedAtItsEnd() async throws {
    let library = try Library()
    let id = try await library.container.write(author: "import") { context in
      let book = context.make("Book", ["title": "B"])
      try context.obtainPermanentIDs(for: [book])
      return book.objectID
    }
    #expect(try await library.titles() == ["A", "B"])
    let (title, authors) = try await library.container.read { context in
      let history = try context.execute(
        NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?))
      let transactions = (history as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction] ?? []
      return (context.object(with: id).value(forKey: "title") as? String, transactions.map(\.author))
    }
    #expect(title == "B" && authors == [nil, "import"])
  }

  private struct Refusal: Error {}

  @Test func nothingIsSavedIfTheBlockOrTheSaveThrows() async throws {
    let library = try Library()
    await #expect(throws: Refusal.self) {
      try await library.container.write { context in
        context.make("Book", ["title": "B"])
        throw Refusal()
      }
    }
    let error = await #expect(throws: CocoaError.self) {
      try await library.container.write { context in
        context.make("Book", ["title": "B"])
        _ = context.make("Book")  // without its title
      }
    }
    #expect(error?.code == .validationMissingMandatoryProperty)
    #expect(try await library.titles() == ["A"])
  }

  @Test func readingSavesNothing() async throws {
    let library = try Library()
    let count = try await library.container.read { context in
      context.make("Book", ["title": "B"])
      return try context.all("Book").count
    }
    #expect(count == 2)
    #expect(try await library.titles() == ["A"])
  }

  /// this write            | another context
  /// ----------------------+----------------------
  /// reads the book        |
  ///                       | changes the title, saves
  /// changes the pages     |
  /// and the title, saves  |
  @Test func theSecondOfTwoWritesIsAConflictUnlessAPolicyDecides() async throws {
    let library = try Library()
    @Sendable func change(_ context: NSManagedObjectContext) throws {
      let book = try context.all("Book")[0]
      _ = book.value(forKey: "title")
      try library.save("theirs")
      book.setValue("mine", forKey: "title")
      book.setValue(7, forKey: "pages")
    }
    do {
      try await library.container.write(change)
      Issue.record("The conflict was not noticed.")
    } catch {
      #expect(CoreDataError(error) == .conflict)
    }
    #expect(try await library.titles() == ["theirs"])
    try library.save("A")
    try await library.container.write(mergePolicy: .mergeByPropertyObjectTrump, change)
    #expect(try await library.titles() == ["mine"])
  }

  @Test func aCancelledTaskBeginsNothing() async throws {
    let library = try Library()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await library.container.write { _ = $0.make("Book", ["title": "B"]) }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await library.titles() == ["A"])
  }
}
