import Synchronization
import TestFiles
import Testing

@testable import CoreData

/// A store that is removed while others still hold it, and its connections.
@Suite struct RemovedStoreTests {
  static let kinds: [StoreKind] = [.file] + (PostgreSQLServer.isInstalled ? [.server] : [])

  private func library(_ kind: StoreKind) throws -> (StoreStack, any ObjectStore, NSManagedObjectID) {
    let stack = try StoreStack(kind)
    let id = try stack.perform { context in
      for number in 1...20 { context.make("Book", ["title": "b\(number)"]) }
      let book = context.make("Book", ["title": "last"])
      try context.save()
      return book.objectID
    }
    return (stack, stack.coordinator.objectStores[0], id)
  }

  private func readEachOther(_ store: any ObjectStore, _ depth: Int) throws {
    var isFirst = true
    try store.fetch(RowFetch(entityName: "Book")) { _, _, _ in
      defer { isFirst = false }
      if isFirst && depth > 1 { #expect(throws: Never.self) { try readEachOther(store, depth - 1) } }
    }
  }

  /// With all readers made, and all given back.
  @Test(.timeLimit(.minutes(20)), arguments: kinds)
  func everyUseOfARemovedStoreIsAnError(kind: StoreKind) throws {
    let (stack, store, id) = try library(kind)
    try readEachOther(store, kind == .file ? 8 : 4)
    try stack.coordinator.remove(stack.store)
    for _ in 0..<10 {
      #expect(throws: NSError.self) { try store.count(RowFetch(entityName: "Book")) }
      #expect(throws: NSError.self) { try store.row(id, in: nil) }
    }
    #expect(throws: NSError.self) { try store.writeScope.transaction("Saving") {} }
    #expect(throws: NSError.self) { try store.pin(beside: []) }
    let connected = try #require(store as? any ConnectedStore)
    connected.interrupt()
    store.validateRowCache()
    connected.releaseMemory()
  }

  /// reader                 | remover
  /// -----------------------+-------------
  /// the first row          |
  ///                        | removes the store
  /// the other rows         |
  /// reads again: an error  |
  @Test(.timeLimit(.minutes(20)), arguments: kinds)
  func aFetchThatRunsWhenItsStoreIsRemovedEndsWell(kind: StoreKind) throws {
    let (stack, store, _) = try library(kind)
    let mayRemove = DispatchSemaphore(value: 0)
    let isRemoved = DispatchSemaphore(value: 0)
    Thread { [coordinator = stack.coordinator, removed = stack.store] in
      mayRemove.wait()
      #expect(throws: Never.self) { try coordinator.remove(removed) }
      isRemoved.signal()
    }.start()
    var rows = 0
    try store.fetch(RowFetch(entityName: "Book")) { _, _, _ in
      if rows == 0 {
        mayRemove.signal()
        isRemoved.wait()
      }
      rows += 1
    }
    #expect(rows == 21)
    #expect(throws: NSError.self) { try store.count(RowFetch(entityName: "Book")) }
  }

  /// The object and its ID keep the entities, and not the store.
  @Test(arguments: [StoreKind.file, .memory, .binary, .xml])
  func aRemovedStoreIsFreedBeforeItsObjects(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    weak var removed: NSPersistentStore?
    try stack.perform { context in
      let author = context.make("Author", ["name": "Ada"])
      let book = context.make("Book", ["title": "a", "author": author])
      try context.save()
      let uri = author.objectID.uriString
      removed = stack.store
      #expect(removed != nil)
      try stack.coordinator.remove(stack.store)
      #expect(removed == nil)
      context.refresh(author, mergeChanges: false)
      #expect((book.value(forKey: "author") as? NSManagedObject)?.objectID.uriString == uri)
      #expect(book.objectID.persistentStore == nil)
    }
  }

  @Test(.timeLimit(.minutes(20)), arguments: kinds)
  func aPinnedStateEndsWithItsStore(kind: StoreKind) throws {
    let (stack, store, id) = try library(kind)
    let generation = try QueryGeneration([store], of: stack.coordinator)
    #expect(try store.row(id, in: generation) != nil)
    try stack.coordinator.remove(stack.store)
    #expect(throws: NSError.self) { try store.row(id, in: generation) }
  }
}
