import CoreData
import Testing

@testable import CoreData

@Suite struct OpeningTests {
  private func journalMode(_ url: URL) throws -> SQLiteValue {
    try SQLiteConnection(path: url.path, access: .readWrite).rows("PRAGMA journal_mode")[0][0]
  }

  @Test func aFileWithARollbackJournalIsPutIntoWALModeUnlessTheOptionsNameOne() throws {
    let store = try TemporaryStore()
    for old in store.coordinator.persistentStores { try store.coordinator.remove(old) }
    _ = try SQLiteConnection(path: store.url.path, access: .readWrite).rows("PRAGMA journal_mode = DELETE")
    #expect(try journalMode(store.url) == .text("delete"))

    let options = [NSSQLitePragmasOption: ["journal_mode": "DELETE"]]
    let kept = try store.coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, options: options)
    #expect(try journalMode(store.url) == .text("delete"))
    try store.coordinator.remove(kept)

    try store.coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: store.url)
    #expect(try journalMode(store.url) == .text("wal"))
  }

  @Test func aCoordinatorIsWritableIfOneOfItsStoresIs() throws {
    let store = try TemporaryStore()
    try store.coordinator.checkWritable()
    let other = try store.otherCoordinator([NSReadOnlyPersistentStoreOption: true])
    expectError(NSPersistentStoreSaveError) { try other.checkWritable() }
    try other.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    try other.checkWritable()
  }

  @Test func aFileThatIsNoStoreIsRefusedAndLeftAsItIs() throws {
    let store = try TemporaryStore()
    let url = store.folder.appendingPathComponent("other.sqlite")
    try SQLiteConnection(path: url.path, access: .create).execute("CREATE TABLE mine (a); INSERT INTO mine VALUES (1)")
    let text = store.folder.appendingPathComponent("text.sqlite")
    try Data("this is no database, and long enough to be taken for one by nobody".utf8).write(to: text)
    for (url, code) in [(url, 134020), (text, 134010)] {
      let before = try Data(contentsOf: url)
      #expect {
        try store.coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url)
      } throws: {
        ($0 as NSError).code == code
      }
      #expect(try Data(contentsOf: url) == before)
    }
  }
}
