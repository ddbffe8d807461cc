import CoreData
import Testing

/// A controller in one context while another context imports.
@Suite struct FetchedResultsImportTests {
  private func controller(
    _ context: NSManagedObjectContext, batch: Int = 0, _ predicate: String? = nil
  ) -> NSFetchedResultsController<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.predicate = predicate.map { NSPredicate(format: $0) }
    request.sortDescriptors = [
      NSSortDescriptor(key: "pages", ascending: true), NSSortDescriptor(key: "title", ascending: true),
    ]
    request.fetchBatchSize = batch
    return NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "pages", cacheName: nil)
  }

  /// Import                              | Listing
  /// ------------------------------------+------------------------------------------------
  ///                                     | lists books of fewer than 10 pages, by pages
  /// inserts, changes and deletes, saves |
  ///                                     | merges by itself: one set of calls
  /// saves what is not listed            |
  ///                                     | no call
  @Test func aBackgroundImportShowsAndNothingElse() async throws {
    let store = try TemporaryStore()
    try store.save { context in
      for number in 0..<20 { context.make("Book", ["title": "old \(number)", "pages": number % 4]) }
      context.make("Book", ["title": "thick", "pages": 99])
      context.make("Author", ["name": "Ada"])
    }
    let context = store.context()
    context.automaticallyMergesChangesFromParent = true
    // `nonisolated(unsafe)`: used in blocks of their context only; so is the mirror.
    nonisolated(unsafe) let listing = context.performAndWait { controller(context, "pages < 10") }
    nonisolated(unsafe) let mirror = try context.performAndWait { () throws -> TableMirror in
      try listing.performFetch()
      let mirror = TableMirror(listing) { $0.text("title") ?? "" }
      listing.delegate = mirror
      return mirror
    }

    let background = store.context()
    try await background.perform {
      for number in 0..<1000 { background.make("Book", ["title": "new \(number)", "pages": number % 12]) }
      for book in try background.all("Book", where: "title BEGINSWITH 'old' AND pages == 1") { background.delete(book) }
      for book in try background.all("Book", where: "title BEGINSWITH 'old' AND pages == 2") {
        book.setValue(7, forKey: "pages")
      }
      try background.all("Book", where: "title == 'old 3'")[0].setValue("old 3, changed", forKey: "title")
      // The object was not among the results, and not in the other context.
      try background.all("Book", where: "title == 'thick'")[0].setValue(5, forKey: "pages")
      try background.save()
    }
    // The save queued the merge, so this block runs after it.
    await context.perform {
      #expect(mirror.complaints.isEmpty, "\(mirror.complaints)")
      #expect(mirror.calls.filter { $0 == "will" }.count == 1)
      let counts = Dictionary(grouping: mirror.rowChanges, by: \.type).mapValues(\.count)
      #expect(counts == [.insert: 834 + 1, .delete: 5, .move: 5, .update: 1])
      #expect(mirror.names == ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"])
      #expect(mirror.sectionChanges.map(\.name) == ["4", "5", "6", "7", "8", "9"])
      mirror.clear()
    }
    try await background.perform {
      try background.all("Author")[0].setValue("Bob", forKey: "name")
      try background.all("Book", where: "pages == 11")[0].setValue("other", forKey: "title")
      background.make("Tag", ["label": "new"])
      try background.save()
    }
    await context.perform { #expect(mirror.calls.isEmpty) }
  }

  /// Programs create a controller and fetch before they are on the context's queue.
  @Test func performFetchGoesToTheQueueOfItsContext() throws {
    let store = try TemporaryStore()
    try store.save { context in for number in 0..<5 { context.make("Book", ["title": "\(number)", "pages": number]) } }
    let context = store.context()
    let listing = controller(context)
    try listing.performFetch()
    context.performAndWait {
      #expect(listing.fetchedObjects?.map { $0.text("title") } == ["0", "1", "2", "3", "4"])
    }
  }

  @Test func inBatchesRowsAreReadAsTheyAreUsed() throws {
    let store = try TemporaryStore()
    try store.save { context in
      for number in 0..<2000 { context.make("Book", ["title": "\(10_000 + number)", "pages": number / 100]) }
    }
    try store.read { context in
      let listing = controller(context, batch: 20)
      try listing.performFetch()
      #expect(listing.sections?.map(\.numberOfObjects) == Array(repeating: 100, count: 20))
      // The store counted the sections; the rows were not read.
      let objects = listing.fetchedObjects ?? []
      #expect(objects.allSatisfy { !$0.hasValues })
      #expect(listing.object(at: [5, 50]).text("title") == "10550")
      #expect(objects.filter(\.hasValues).count == 20)
      // A change reads the objects with which it is compared.
      let mirror = TableMirror(listing) { "\($0.objectID)" }
      listing.delegate = mirror
      context.make("Book", ["title": "10333x", "pages": 3])
      context.processPendingChanges()
      #expect(listing.object(at: [3, 34]).text("title") == "10333x" && mirror.complaints.isEmpty)
      #expect(objects.filter(\.hasValues).count < 500)
    }
  }
}

extension NSManagedObject {
  /// Whether the row was read.
  fileprivate var hasValues: Bool { primitiveValue(forKey: "pages") != nil }
}
