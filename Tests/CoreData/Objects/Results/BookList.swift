import CoreData
import Testing

/// Books in the order of their titles, listed by a controller.
enum BookList {
  static func request(_ predicate: String? = nil, sort: String = "title") -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.predicate = predicate.map { NSPredicate(format: $0) }
    request.sortDescriptors = [NSSortDescriptor(key: sort, ascending: true)]
    return request
  }

  /// Runs the body with a controller that lists the stored titles, and a table that follows it.
  static func follow(
    _ titles: [String], _ predicate: String? = nil, section: String? = nil, sort: String = "title",
    _ body: (NSManagedObjectContext, NSFetchedResultsController<NSManagedObject>, TableMirror) throws -> Void
  ) throws {
    let store = try TemporaryStore()
    try store.save { context in
      for title in titles { context.make("Book", ["title": title, "pages": title.count]) }
    }
    try store.read { context in
      let controller = NSFetchedResultsController(
        fetchRequest: request(predicate, sort: sort), managedObjectContext: context, sectionNameKeyPath: section,
        cacheName: nil)
      try controller.performFetch()
      let mirror = TableMirror(controller) { $0.text("title") ?? "" }
      controller.delegate = mirror
      try body(context, controller, mirror)
      #expect(mirror.complaints.isEmpty, "\(mirror.complaints)")
    }
  }
}
