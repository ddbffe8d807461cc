import StoreTools
import Testing

@testable import CoreData

/// Look-ups that follow each other share a read transaction, and see every commit nevertheless.
@Suite struct SharedReadTests {
  private struct Library {
    let store: TemporaryStore
    let file: SQLiteStore
    let id: NSManagedObjectID

    init(options: [AnyHashable: Any]? = nil) throws {
      store = try TemporaryStore(options: options)
      id = try store.save { $0.make("Tag", ["label": "0"]) }.objectID
      file = try #require(store.coordinator.persistentStores[0] as? SQLiteStore)
    }

    /// The row as the file has it, without the row cache.
    func label() throws -> String? {
      let row = try #require(try file.row(id, in: nil))
      return row.load(try #require(id.storedEntity.layout.slot("label")), as: String.self)
    }

    /// Whether a reader has a shared transaction.
    func isShared() throws -> Bool { try file.database.lookUp { $0.sharedRead.isOpen } }

    /// Looks the row up until a transaction is shared. On a busy machine one may end before the next look-up.
    func shareRead(_ label: String) throws {
      repeat {
        for _ in 0..<20 { #expect(try self.label() == label) }
      } while try !isShared()
    }
  }

  /// look-ups              | rival
  /// ----------------------+------------------------
  /// many of one row       |
  ///                       | changes it and saves
  /// one: the new value    |
  @Test func aLookUpSeesWhatARivalCommittedBefore() throws {
    let library = try Library()
    let rival = try library.store.otherCoordinator().context()
    for number in 1..<20 {
      try library.shareRead("\(number - 1)")
      try rival.performAndWait {
        try rival.all("Tag")[0].setValue("\(number)", forKey: "label")
        try rival.save()
      }
      #expect(try library.label() == "\(number)")
    }
  }

  @Test func aLookUpSeesWhatItsCoordinatorSavedBefore() throws {
    let library = try Library()
    for number in 1..<20 {
      try library.shareRead("\(number - 1)")
      try library.store.save { try $0.all("Tag")[0].setValue("\(number)", forKey: "label") }
      #expect(try library.label() == "\(number)")
    }
  }

  @Test func aFetchHasATransactionOfItsOwn() throws {
    let library = try Library()
    try library.shareRead("0")
    try library.file.database.read { #expect(!$0.isInTransaction) }
    #expect(try !library.isShared())
  }

  @Test func fewLookUpsShareNothing() throws {
    let library = try Library()
    for _ in 0..<10 { _ = try library.label() }
    #expect(try !library.isShared())
  }

  @Test func outsideOfWALModeLookUpsShareNothing() throws {
    let library = try Library(options: [NSSQLitePragmasOption: ["journal_mode": "DELETE"]])
    for _ in 0..<40 { #expect(try library.label() == "0") }
    #expect(try !library.isShared())
    try library.store.save { try $0.all("Tag")[0].setValue("1", forKey: "label") }
    #expect(try library.label() == "1")
  }

  @Test(.timeLimit(.minutes(20))) func theLogCanBeCutOffAfterTheLastLookUp() throws {
    let library = try Library()
    try library.shareRead("0")
    // Without its end, the transaction keeps the log from starting over, and this never ends.
    let checkpointer = try WALCheckpointer(url: library.store.url)
    var bytes = off_t(1)
    while bytes > 0 {
      try checkpointer.checkpoint(.completely)
      var status = stat()
      bytes = stat(library.store.url.path + "-wal", &status) == 0 ? status.st_size : 0
    }
    #expect(try library.label() == "0")
  }
}
