import Testing

@testable import CoreData

/// The metadata of open stores, while other threads set, read and save them.
@Suite struct OpenMetadataTests {
  @Test(arguments: StoreKind.lasting)
  func metadataThatAnotherThreadSetsDuringASaveIsNotLost(kind: StoreKind) throws {
    // saving thread            other thread
    // writes "first"
    //                          sets "second"
    // commits
    // saves again
    let subject = try StoreSubject(kind)
    let coordinator = subject.coordinator
    coordinator.setMetadata(["app": "first"], for: subject.store)
    func save(_ body: () -> Void) throws {
      try coordinator.save([(subject.store, StoreSubject.changes)]) { _ in body() }
    }
    try save { coordinator.setMetadata(["app": "second"], for: subject.store) }
    #expect(coordinator.metadata(for: subject.store)["app"] as? String == "second")
    try save {}
    let again = try subject.openedAgain()
    #expect(again.store.metadata["app"] as? String == "second")
  }

  @Test func metadataThatWasReadAgainIsNotWrittenOverThatOfOthers() throws {
    let subject = try StoreSubject(.file)
    let url = try #require(subject.store.url)
    subject.coordinator.setMetadata(["app": "unsaved"], for: subject.store)
    try subject.store.loadMetadata()
    #expect(subject.store.metadata["app"] == nil)
    try SQLiteStore.setMetadata(["app": "theirs"], at: url, nil)
    _ = try subject.insert("Tag", [["label": "a"]])
    try #expect(SQLiteStore.metadata(at: url, nil)["app"] as? String == "theirs")
  }

  @Test(arguments: StoreKind.allCases)
  func metadataIsReadWhileAnotherThreadSetsIt(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let (coordinator, store) = (subject.coordinator, subject.store as NSPersistentStore)
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for number in 0..<500 {
        if thread == 0 {
          coordinator.setMetadata(["app": number, "more": "\(number)"], for: store)
        } else {
          let metadata = coordinator.metadata(for: store)
          if let number = metadata["app"] as? Int { #expect(metadata["more"] as? String == "\(number)") }
        }
      }
    }
    #expect(store.metadata["app"] as? Int == 499 && store.metadata[NSStoreUUIDKey] != nil)
  }
}
