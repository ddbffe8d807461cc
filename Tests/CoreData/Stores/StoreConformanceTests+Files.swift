import Testing

@testable import CoreData

/// The store as a whole: files, metadata, snapshots and history.
extension StoreConformanceTests {
  @Test(arguments: StoreKind.lasting)
  func whatWasSavedIsThereWhenTheStoreIsOpenedAgain(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let keys = try subject.insert("Tag", [["label": "a"]])
    subject.coordinator.setMetadata(["app": "mine"], for: subject.store)
    try subject.save(StoreSubject.changes)
    let again = try subject.openedAgain()
    #expect(again.store.identifier == subject.store.identifier)
    #expect(again.store.metadata["app"] as? String == "mine")
    // Keys may be another process's own: the URI is what lasts.
    let uri = try subject.id("Tag", keys[0]).uriString
    let id = try #require(again.coordinator.objectID(forURI: uri))
    try #expect(again.text(again.store.row(id, in: nil), "label") == "a" && id.uriString == uri)
    guard kind.noticesOthers else { return }
    // The coordinator drops its cached rows when another connection has written.
    // At a server, those of other tests write all the time, so this is tried until none has.
    var epoch = subject.store.rowCache.epoch
    let isKept = (0..<1000).contains { _ in
      subject.store.validateRowCache()
      defer { epoch = subject.store.rowCache.epoch }
      return subject.store.rowCache.epoch == epoch
    }
    #expect(isKept)
    try again.update("Tag", keys[0], ["label": "b"])
    subject.store.validateRowCache()
    #expect(subject.store.rowCache.epoch != epoch)
  }

  @Test(arguments: StoreKind.openOnce)
  func aStoreIsOpenOnceInACoordinator(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    expectError(134080) {
      try subject.coordinator.addPersistentStore(
        ofType: kind.type, configurationName: nil, at: subject.store.url, options: nil)
    }
  }

  @Test(arguments: StoreKind.lasting)
  func metadataCanBeReadAndSetWhileNobodyHasTheStoreOpen(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let (type, url) = (Swift.type(of: try subject.placed()), try #require(subject.store.url))
    try subject.coordinator.remove(subject.store)
    try type.setMetadata(["app": "mine", NSStoreUUIDKey: "none"], at: url, nil)
    let metadata = try type.metadata(at: url, nil)
    #expect(metadata["app"] as? String == "mine")
    // What the store itself needs stays.
    #expect(metadata[NSStoreUUIDKey] as? String == subject.store.identifier)
  }

  @Test(arguments: StoreKind.copying)
  func aCopyHasTheRowsAndAnIdentifierOfItsOwn(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    _ = try subject.insert("Book", [["title": "a"]])
    let other = NSPersistentStoreCoordinator(managedObjectModel: subject.model)
    let copied = try subject.placed().copy(
      to: other.opening(kind.type, configuration: nil, at: subject.place("copy"), options: nil))
    let copy = try #require(copied)
    defer { copy.close(beside: []) }
    #expect(copy.identifier != subject.store.identifier)
    try #expect(copy.count(RowFetch(entityName: "Book")) == 1)
    // A file that is replaced becomes the other store, identifier included.
    let type = Swift.type(of: try subject.placed())
    let place = subject.place("replaced")
    try type.replace(
      StoreFile(url: place, options: nil), with: StoreFile(url: #require(subject.store.url), options: nil))
    try #expect(type.metadata(at: place, nil)[NSStoreUUIDKey] as? String == subject.store.identifier)
  }

  @Test(arguments: StoreKind.filed)
  func aDestroyedStoreIsEmptyBeforeItIsClosed(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    _ = try subject.insert("Book", [["title": "a"]])
    var closings = 0
    try Swift.type(of: subject.placed()).destroy(at: #require(subject.store.url), nil) {
      closings += 1
      try subject.coordinator.remove(subject.store)
    }
    #expect(closings == 1)
    let again = try subject.openedAgain()
    try #expect(again.store.count(RowFetch(entityName: "Book")) == 0)
    #expect(again.store.identifier != subject.store.identifier)
  }

  @Test(arguments: StoreKind.allCases)
  func historyIsKeptWhereTheOptionsAskForIt(kind: StoreKind) throws {
    let without = try StoreSubject(kind)
    let unkept = without.store as? any HistoryStore
    try #expect(unkept?.keepsHistory != true && unkept?.lastTransactionNumber() == nil)
    let subject = try StoreSubject(kind, options: [NSPersistentHistoryTrackingKey: true])
    let kept = subject.store as? any HistoryStore
    try #require(kept?.keepsHistory ?? false == kind.keepsHistory)
    guard let kept, kind.keepsHistory else { return try #expect(kept?.lastTransactionNumber() == nil) }
    let key = try subject.insert("Tag", [["label": "a"]])[0]
    try subject.update("Tag", key, ["label": "b"])
    try #expect(kept.keepsHistory && kept.lastTransactionNumber() == 2)
    let query = HistoryQuery(place: .token(nil), includesChanges: true, changesAreAlone: false)
    let transactions = try kept.history(query)
    #expect(transactions.map { $0.changes?.map(\.changeType) } == [[.insert], [.update]])
    try #expect(kept.deleteHistory(before: .token(transactions[1].token)) == 1)
    try #expect(kept.history(query).count == 1)
  }
}
