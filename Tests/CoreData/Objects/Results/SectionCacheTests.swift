import Testing

@testable import CoreData

/// The file that caches a controller's sections.
@Suite(.serialized) struct SectionCacheTests {
  private static func controller(
    _ context: NSManagedObjectContext, _ name: String?, predicate: String = "pages >= 0"
  ) -> NSFetchedResultsController<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.predicate = NSPredicate(format: predicate)
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    return NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "title", cacheName: name)
  }

  /// A store that was last written long ago, and a context on it. The cache is removed afterwards.
  private func withStore(_ body: (TemporaryStore, NSManagedObjectContext, String) throws -> Void) throws {
    let store = try TemporaryStore()
    let name = "test/\(UUID().uuidString)"
    defer { NSFetchedResultsController<NSManagedObject>.deleteCache(withName: name) }
    try store.save { context in
      for title in ["a", "b", "c"] { context.make("Book", ["title": title, "pages": 1]) }
    }
    try age(store)
    try store.read { try body(store, $0, name) }
  }

  private func age(_ store: TemporaryStore) throws {
    for suffix in ["", "-wal"] {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -100)], ofItemAtPath: store.url.path + suffix)
    }
  }

  @Test func theSecondControllerFindsTheSectionsOfTheFirst() throws {
    try withStore { _, context, name in
      try Self.controller(context, name).performFetch()
      let cache = try #require(SectionCache.read(name))
      #expect(cache.names == ["a", "b", "c"] && cache.counts == [1, 1, 1])
      // These sections can only come from the file.
      SectionCache(configuration: cache.configuration, stamp: cache.stamp, names: ["x", "y"], counts: [1, 2]).write(
        name)
      let second = Self.controller(context, name)
      try second.performFetch()
      #expect(second.sections?.map(\.name) == ["x", "y"])
    }
  }

  @Test func theFileIsNotUsedOnceTheStoreWasWritten() throws {
    try withStore { store, context, name in
      try Self.controller(context, name).performFetch()
      try store.save { context in context.make("Book", ["title": "d", "pages": 1]) }
      let second = Self.controller(context, name)
      try second.performFetch()
      #expect(second.sections?.map(\.name) == ["a", "b", "c", "d"])
      // Nor with unsaved changes.
      context.make("Book", ["title": "e", "pages": 1])
      try second.performFetch()
      #expect(second.sections?.map(\.name) == ["a", "b", "c", "d", "e"])
    }
  }

  @Test func anotherRequestMakesTheFileAnew() throws {
    try withStore { _, context, name in
      try Self.controller(context, name).performFetch()
      let other = Self.controller(context, name, predicate: "title > 'a'")
      try other.performFetch()
      #expect(other.sections?.map(\.name) == ["b", "c"])
      #expect(SectionCache.read(name)?.names == ["b", "c"])
    }
  }

  @Test func aRequestChangedUnderItsCacheIsRefusedUntilTheCacheIsDeleted() throws {
    try withStore { _, context, name in
      let controller = Self.controller(context, name)
      try controller.performFetch()
      controller.fetchRequest.predicate = NSPredicate(format: "title > 'b'")
      let error = try #require(throws: NSError.self) { try controller.performFetch() }
      #expect(error.code == 134060 && error.localizedDescription.contains("deleteCache"))
      NSFetchedResultsController<NSManagedObject>.deleteCache(withName: name)
      #expect(SectionCache.read(name) == nil)
      try controller.performFetch()
      #expect(controller.sections?.map(\.name) == ["c"])
      // Without a cache the request may be changed freely.
      let free = Self.controller(context, nil)
      try free.performFetch()
      free.fetchRequest.predicate = nil
      try free.performFetch()
      #expect(free.sections?.count == 3)
    }
  }
}
