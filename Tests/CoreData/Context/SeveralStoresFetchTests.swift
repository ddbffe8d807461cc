import CoreData
import Testing

/// Fetches of an entity that several stores hold.
@Suite struct SeveralStoresFetchTests {
  private let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
  private let stores: [NSPersistentStore]
  private let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)

  init() throws {
    stores = try [0, 1].map { [coordinator] _ in
      try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    }
    context.persistentStoreCoordinator = coordinator
  }

  private func make(_ title: String, pages: Int = 0, in store: Int) -> NSManagedObject {
    let book = context.make("Book", ["title": title, "pages": pages])
    context.assign(book, to: stores[store])
    return book
  }

  private func request() -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    return request
  }

  @Test func unsavedObjectsOfOtherStoresAreNoResults() throws {
    try context.performAndWait {
      // Given a stored book of each store that a change makes match, and new ones: assigned, and with the first store.
      let saved = [make("a", in: 0), make("b", in: 1)]
      try context.save()
      for book in saved { book.setValue(9, forKey: "pages") }
      _ = make("c", pages: 9, in: 1)
      context.make("Book", ["title": "d", "pages": 9])
      let request = request()
      request.predicate = NSPredicate(format: "pages == 9")
      // Then each store's request has its own.
      for (store, titles) in zip(stores, [["a", "d"], ["b", "c"]]) {
        request.affectedStores = [store]
        try #expect(context.fetch(request).map { $0.text("title") } == titles)
        try #expect(context.count(for: request) == 2)
        let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        child.parent = context
        try child.performAndWait {
          // A change in the child does not bring in what the parent leaves out.
          for id in context.registeredObjects.map(\.objectID) { child.object(with: id).setValue(9, forKey: "pages") }
          try #expect(child.fetch(request).map { $0.text("title") } == titles)
        }
      }
      request.affectedStores = nil
      try #expect(context.count(for: request) == 4)
    }
  }

  @Test func aControllerKeepsTheStoresOfItsLastFetch() throws {
    try context.performAndWait {
      let request = request()
      request.affectedStores = [stores[0]]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
      try controller.performFetch()
      let delegate = Follower()
      controller.delegate = delegate
      // When the request gets another store, and new objects come to both.
      request.affectedStores = [stores[1]]
      let books = [make("a", in: 0), make("b", in: 1)]
      context.processPendingChanges()
      // Then the controller follows the former store until it fetches again.
      #expect(controller.fetchedObjects == [books[0]])
      try controller.performFetch()
      #expect(controller.fetchedObjects == [books[1]] && controller.delegate === delegate)
    }
  }
}

/// A delegate, without which a controller follows nothing.
private final class Follower: NSObject, NSFetchedResultsControllerDelegate {}
