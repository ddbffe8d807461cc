import CoreData
import Testing

/// What the tests of SQLite files and of other files migrate.
package enum LibraryMigration {
  /// Options for opening a store with another model.
  package static func options(migrate: Bool = true, infer: Bool = true) -> [AnyHashable: Any] {
    [NSMigratePersistentStoresAutomaticallyOption: migrate, NSInferMappingModelAutomaticallyOption: infer]
  }

  /// The library's model with attributes of books added, removed and renamed: `heading` was `title`.
  package static func modelWithOtherAttributes() throws -> NSManagedObjectModel {
    let model = LibraryModel.make()
    let book = try #require(model.entitiesByName["Book"])
    book.properties.removeAll { $0.name == "rating" }
    book.properties += [
      LibraryModel.attribute("edition", .integer16AttributeType, optional: false, default: 3),
      LibraryModel.attribute("subtitle", .stringAttributeType),
    ]
    let title = try #require(book.propertiesByName["title"])
    title.name = "heading"
    title.renamingIdentifier = "title"
    return model
  }
}
