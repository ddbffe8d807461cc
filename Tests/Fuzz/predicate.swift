import CoreData

/// Texts of predicates: any text is a predicate, or refused with an error. A predicate's own text is one that means the
/// same, and fetching with either gives the same number of objects or an error.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  let arguments: [Any?] = ["name", 17, 2.5, Date(timeIntervalSinceReferenceDate: 1), ["a", "b"], nil]
  guard let predicate = try? NSPredicate.parse(format: text, arguments: arguments) else { return 0 }
  let written = predicate.canonicalFormat
  do {
    let again = try NSPredicate.parse(format: written)
    // What arguments have become literals, which may be written in a simpler way the second time, and then stay.
    let settled = again.canonicalFormat
    guard try NSPredicate.parse(format: settled).canonicalFormat == settled else { fatalError("\(settled) changes") }
    let counts = library.performAndWait { [predicate, again].map(number) }
    guard counts[0] == counts[1] else { fatalError("\(written) finds \(counts[1] ?? -1), not \(counts[0] ?? -1)") }
  } catch {
    fatalError("what was written cannot be read: \(error)")
  }
  return 0
}

/// How many books a predicate finds; nil if it is refused.
private func number(_ predicate: NSPredicate) -> Int? {
  let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
  request.predicate = predicate
  return try? library.count(for: request)
}

/// Two authors, each with two books.
private let library: NSManagedObjectContext = {
  let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
  let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model())
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("fuzz-\(getpid())")
  do {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("store.sqlite"))
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      for name in ["Ada", "Émile"] {
        let author = NSEntityDescription.insertNewObject(forEntityName: "Author", into: context)
        author.setValue(name, forKey: "name")
        for pages in [17, 300] {
          let book = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
          book.setValue("\(name)'s book of \(pages)", forKey: "title")
          book.setValue(pages, forKey: "pages")
          book.setValue(Double(pages) / 7, forKey: "price")
          book.setValue(author, forKey: "author")
        }
      }
      try context.save()
    }
    // The open files stay usable.
    try FileManager.default.removeItem(at: folder)
  } catch {
    fatalError("no store: \(error)")
  }
  return context
}()

private func model() -> NSManagedObjectModel {
  let author = NSEntityDescription()
  author.name = "Author"
  let book = NSEntityDescription()
  book.name = "Book"
  let books = NSRelationshipDescription()
  books.name = "books"
  books.destinationEntity = book
  let written = NSRelationshipDescription()
  written.name = "author"
  written.destinationEntity = author
  written.maxCount = 1
  written.inverseRelationship = books
  books.inverseRelationship = written
  author.properties = [attribute("name", .stringAttributeType), books]
  book.properties = [
    attribute("title", .stringAttributeType), attribute("pages", .integer64AttributeType),
    attribute("price", .doubleAttributeType), attribute("bought", .dateAttributeType),
    attribute("cover", .binaryDataAttributeType), attribute("lent", .booleanAttributeType), written,
  ]
  let model = NSManagedObjectModel()
  model.entities = [author, book]
  return model
}

private func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
  let attribute = NSAttributeDescription()
  attribute.name = name
  attribute.attributeType = type
  attribute.isOptional = true
  return attribute
}
