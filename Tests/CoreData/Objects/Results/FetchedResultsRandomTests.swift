import CoreData
import TestFiles
import Testing

/// A table that only follows the delegate's calls always shows the controller's results, whatever changes.
@Suite struct FetchedResultsRandomTests {
  /// The listed objects, their order and their sections.
  struct Listing: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var sort: [(String, Bool)]
    var section: String?
    var predicate: String?
    var limit = 0
    var offset = 0
    var batch = 0
  }

  static let listings = [
    Listing(testDescription: "by title", sort: [("title", true)]),
    Listing(testDescription: "by pages, downwards, many equal", sort: [("pages", false), ("title", true)]),
    Listing(testDescription: "some of them", sort: [("title", true)], predicate: "pages > 3 AND isRead == NO"),
    Listing(
      testDescription: "sections by flag", sort: [("isRead", true), ("pages", true), ("title", true)],
      section: "isRead", predicate: "pages < 8"),
    Listing(
      testDescription: "sections by number, in batches", sort: [("pages", true), ("title", false)], section: "pages",
      batch: 5),
    Listing(
      testDescription: "sections by a related name", sort: [("author.name", true), ("title", true)],
      section: "author.name"),
    Listing(
      testDescription: "sections by a related name, sorted by a related date",
      sort: [("author.born", true), ("author.name", true), ("title", true)], section: "author.name"),
    Listing(
      testDescription: "a window", sort: [("pages", true), ("title", true)], section: "pages", limit: 7, offset: 2),
  ]

  @Test(arguments: listings.indices, 0..<tries(12, inDebug: 3))
  func aTableShowsWhatTheControllerHas(listing: Int, seed: Int) throws {
    let history = try ListingHistory(Self.listings[listing], seed: seed * 100 + listing)
    try history.context.performAndWait {
      try history.start()
      for step in 0..<60 {
        try history.step()
        guard history.mirror.complaints.isEmpty else {
          Issue.record(
            "\(Self.listings[listing].testDescription), seed \(seed), step \(step): \(history.mirror.complaints)")
          return
        }
        guard try history.isAsFetched() else {
          Issue.record("\(Self.listings[listing].testDescription), seed \(seed), step \(step): not what a fetch gives")
          return
        }
      }
    }
  }
}

/// One random history: a context with a controller, and another context that saves.
private final class ListingHistory {
  let store: TemporaryStore
  let context: NSManagedObjectContext
  let other: NSManagedObjectContext
  let listing: FetchedResultsRandomTests.Listing
  let controller: NSFetchedResultsController<NSManagedObject>
  var mirror: TableMirror
  var random: RandomSteps
  private var number = 0

  init(_ listing: FetchedResultsRandomTests.Listing, seed: Int) throws {
    store = try TemporaryStore()
    context = store.context()
    other = store.context()
    for context in [context, other] { context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump }
    self.listing = listing
    random = RandomSteps(seed: seed)
    controller = NSFetchedResultsController(
      fetchRequest: ListingHistory.request(listing), managedObjectContext: context,
      sectionNameKeyPath: listing.section, cacheName: nil)
    mirror = TableMirror(controller, text: ListingHistory.text)
  }

  static func request(_ listing: FetchedResultsRandomTests.Listing) -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.predicate = listing.predicate.map { NSPredicate(format: $0) }
    request.sortDescriptors = listing.sort.map { NSSortDescriptor(key: $0.0, ascending: $0.1) }
    request.fetchLimit = listing.limit
    request.fetchOffset = listing.offset
    request.fetchBatchSize = listing.batch
    return request
  }

  /// The visible values of a book itself.
  static func text(_ book: NSManagedObject) -> String {
    "\(book.text("title") ?? "-") \(book.value(forKey: "pages") ?? "-") \(book.value(forKey: "isRead") ?? "-")"
  }

  func start() throws {
    for _ in 0..<30 { change(context) }
    try context.save()
    try controller.performFetch()
    showAnew()
  }

  private func showAnew() {
    mirror = TableMirror(controller, text: ListingHistory.text)
    controller.delegate = mirror
  }

  func step() throws {
    switch random.next(12) {
    case 0..<6: for _ in 0...random.next(8) { change(context) }
    case 6..<8: try context.save()
    case 8, 9:
      try context.save()
      let saved = try saveElsewhere()
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: saved, into: [context])
    case 10: context.rollback()
    default:
      switch random.next(3) {
      case 0: context.refreshAllObjects()
      case 1:
        context.reset()
        // The delegate heard nothing.
        try controller.performFetch()
        showAnew()
      default:
        // A new book would lose its title, which it needs.
        let saved = try context.all("Book", sort: "title").filter { !$0.isInserted }
        random.pick(saved).map { context.refresh($0, mergeChanges: false) }
      }
    }
    context.processPendingChanges()
  }

  /// Saves some changes in another context and returns them as IDs.
  private func saveElsewhere() throws -> [AnyHashable: Any] {
    try other.performAndWait {
      other.reset()
      for _ in 0...random.next(8) { change(other) }
      other.processPendingChanges()
      let info: [AnyHashable: Any] = [
        NSUpdatedObjectIDsKey: other.updatedObjects.map(\.objectID),
        NSDeletedObjectIDsKey: other.deletedObjects.map(\.objectID),
      ]
      let inserted = Array(other.insertedObjects)
      try other.save()
      return info.merging([NSInsertedObjectIDsKey: inserted.map(\.objectID)]) { $1 }
    }
  }

  private func change(_ context: NSManagedObjectContext) {
    // A context whose objects another context has deleted has nothing to change.
    guard let books = try? context.all("Book", sort: "title"), let authors = try? context.all("Author", sort: "name")
    else { return }
    let book = random.pick(books)
    let author = random.pick(authors)
    switch random.next(14) {
    case 0..<4:
      let book = context.make(random.next(3) == 0 ? "Comic" : "Book", ["title": newName(), "pages": random.next(9)])
      if random.next(3) > 0 { book.setValue(author, forKey: "author") }
    case 4: book?.setValue(newName(), forKey: "title")
    case 5, 6: book?.setValue(random.next(9), forKey: "pages")
    case 7: book?.setValue(random.next(2) == 0, forKey: "isRead")
    case 8, 9: book?.setValue(random.next(4) == 0 ? nil : author, forKey: "author")
    case 10: author?.setValue(newName(), forKey: "name")
    case 11: author?.setValue(Date(timeIntervalSinceReferenceDate: Double(random.next(100_000))), forKey: "born")
    case 12:
      if authors.count < 5 {
        context.make(
          "Author",
          ["name": newName(), "born": Date(timeIntervalSinceReferenceDate: Double(random.next(100_000)))])
      } else if let author, random.next(3) == 0 {
        context.delete(author)
      }
    default: if let book { context.delete(book) }
    }
  }

  /// A name that no other object has, so that only one order is right.
  private func newName() -> String {
    number += 1
    return "\(random.next(1000))-\(number)"
  }

  /// Whether the controller's results equal those of a fetch.
  func isAsFetched() throws -> Bool {
    guard let objects = controller.fetchedObjects else { return false }
    for (position, section) in (controller.sections ?? []).enumerated() {
      for (row, object) in (section.objects as? [NSManagedObject] ?? []).enumerated() {
        guard controller.indexPath(forObject: object) == [position, row] else { return false }
      }
    }
    let fetched = try context.fetch(ListingHistory.request(listing))
    // A fetch does not sort by unsaved values of related objects.
    if context.hasChanges && listing.sort[0].0.contains(".") { return Set(objects) == Set(fetched) }
    return objects == fetched
  }
}
