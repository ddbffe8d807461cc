import CoreData
import Testing

@Suite struct ChildRequestTests {
  @Test func aBatchOfAChildIsItsParentsInTheHistory() throws {
    let store = try TemporaryStore(
      LibraryModel.make(), options: [NSPersistentHistoryTrackingKey: NSNumber(value: true)])
    let parent = store.context()
    let child = parent.child()
    parent.performAndWait { parent.transactionAuthor = "parent" }
    try child.performAndWait {
      child.transactionAuthor = "child"
      let request = NSBatchInsertRequest(entityName: "Book", objects: [["title": "One"]])
      _ = try child.execute(request)
      let history = try child.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: Date.distantPast))
      let transactions = (history as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction]
      #expect(transactions?.map(\.author) == ["parent"])
    }
    try #expect(store.sql("SELECT ZTITLE FROM ZBOOK") == [["One"]])
  }
}
