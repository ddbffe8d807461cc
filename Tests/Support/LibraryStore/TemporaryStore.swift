import CoreData
import TestFiles

/// A stack on a SQLite file in a temporary folder, which is removed with the object.
package final class TemporaryStore: Sendable {
  package let folder: URL
  package let url: URL
  package let model: NSManagedObjectModel
  package let coordinator: NSPersistentStoreCoordinator

  package init(_ model: NSManagedObjectModel = LibraryModel.make(), options: [AnyHashable: Any]? = nil) throws {
    folder = temporaryURL("coredata")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appendingPathComponent("store.sqlite")
    self.model = model
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  package func context() -> NSManagedObjectContext {
    coordinator.context()
  }

  /// A second coordinator on the same file, like that of another process.
  package func otherCoordinator(_ options: [AnyHashable: Any]? = nil) throws -> NSPersistentStoreCoordinator {
    let copy = model.copy() as! NSManagedObjectModel
    let other = NSPersistentStoreCoordinator(managedObjectModel: copy)
    try other.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
    return other
  }
}

extension NSPersistentStoreCoordinator {
  /// A context with a private queue on the coordinator.
  package func context() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = self
    return context
  }
}

/// A context on a store of the library's model that is in memory only, of either kind: SQLite or rows.
package func libraryContext(_ type: String) throws -> NSManagedObjectContext {
  let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
  let url = URL(fileURLWithPath: "/dev/null")
  try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: url, options: nil)
  return coordinator.context()
}

/// Authors, books and tags: every kind of relationship and attribute in one small model.
package enum LibraryModel {
  /// Adds a derived attribute of authors, the number of their books, which triggers keep in a SQLite file.
  package static func addBookCount(to model: NSManagedObjectModel) {
    let count = NSDerivedAttributeDescription()
    count.name = "bookCount"
    count.attributeType = .integer64AttributeType
    count.derivationExpression = NSExpression(forKeyPath: "books.@count")
    model.entitiesByName["Author"]?.properties.append(count)
  }

  package static func make() -> NSManagedObjectModel {
    let author = entity(
      "Author",
      [
        attribute("name", .stringAttributeType, optional: false),
        attribute("born", .dateAttributeType),
      ])
    let book = entity(
      "Book",
      [
        attribute("title", .stringAttributeType, optional: false),
        attribute("pages", .integer32AttributeType, default: 0),
        attribute("price", .decimalAttributeType),
        attribute("rating", .doubleAttributeType),
        attribute("weight", .floatAttributeType),
        attribute("isRead", .booleanAttributeType, default: false),
        attribute("cover", .binaryDataAttributeType),
        attribute("uuid", .UUIDAttributeType),
        attribute("link", .URIAttributeType),
        attribute("extra", .transformableAttributeType),
        attribute("note", .stringAttributeType, transient: true),
      ])
    let comic = entity("Comic", [attribute("artist", .stringAttributeType)])
    book.subentities = [comic]
    let tag = entity("Tag", [attribute("label", .stringAttributeType)])
    let passport = entity("Passport", [attribute("number", .stringAttributeType)])

    relate(author, "books", book, "author", toMany: (true, false), rules: (.cascadeDeleteRule, .nullifyDeleteRule))
    relate(book, "tags", tag, "books", toMany: (true, true))
    relate(author, "passport", passport, "holder", toMany: (false, false))
    relate(tag, "ordered", tag, "orderedBy", toMany: (true, true), ordered: true)

    let model = NSManagedObjectModel()
    model.entities = [author, book, comic, tag, passport]
    return model
  }

  package static func entity(_ name: String, _ properties: [NSPropertyDescription]) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    entity.properties = properties
    return entity
  }

  package static func attribute(
    _ name: String, _ type: NSAttributeType, optional: Bool = true, default value: Any? = nil, transient: Bool = false
  ) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    attribute.isOptional = optional
    attribute.defaultValue = value
    attribute.isTransient = transient
    return attribute
  }

  package static func relate(
    _ first: NSEntityDescription, _ name: String, _ second: NSEntityDescription, _ inverseName: String,
    toMany: (Bool, Bool), rules: (NSDeleteRule, NSDeleteRule) = (.nullifyDeleteRule, .nullifyDeleteRule),
    ordered: Bool = false
  ) {
    let relationship = NSRelationshipDescription()
    let inverse = NSRelationshipDescription()
    for (end, name, destination, many, rule) in [
      (relationship, name, second, toMany.0, rules.0), (inverse, inverseName, first, toMany.1, rules.1),
    ] {
      end.name = name
      end.destinationEntity = destination
      end.maxCount = many ? 0 : 1
      end.deleteRule = rule
      end.isOptional = true
    }
    relationship.isOrdered = ordered
    relationship.inverseRelationship = inverse
    inverse.inverseRelationship = relationship
    first.properties += [relationship]
    second.properties += [inverse]
  }
}

extension NSManagedObjectContext {
  /// A child with a private queue.
  package func child() -> NSManagedObjectContext {
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = self
    return child
  }

  @discardableResult
  package func make(_ entity: String, _ values: [String: Any] = [:]) -> NSManagedObject {
    let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: self)
    for (key, value) in values { object.setValue(value, forKey: key) }
    return object
  }

  package func all(_ entity: String, where format: String? = nil, sort: String? = nil) throws -> [NSManagedObject] {
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    request.predicate = format.map { NSPredicate(format: $0) }
    request.sortDescriptors = sort.map { [NSSortDescriptor(key: $0, ascending: true)] }
    return try fetch(request)
  }

  /// Runs the body on the context's queue, with the context.
  package func performAndWaitWith<T>(_ body: (NSManagedObjectContext) throws -> T) rethrows -> T {
    try performAndWait { try body(self) }
  }
}

extension TemporaryStore {
  /// Runs the body in a new context, and saves it.
  @discardableResult
  package func save<T>(_ body: (NSManagedObjectContext) throws -> T) throws -> T {
    let context = context()
    return try context.performAndWait {
      let result = try body(context)
      try context.save()
      return result
    }
  }

  /// Runs the body in a new context.
  @discardableResult
  package func read<T>(_ body: (NSManagedObjectContext) throws -> T) throws -> T {
    let context = context()
    return try context.performAndWait { try body(context) }
  }
}
