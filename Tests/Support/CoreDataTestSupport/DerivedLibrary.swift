import CoreData

extension LibraryModel {
  private static let derivations: [(name: String, entity: String, type: NSAttributeType, format: String)] = [
    ("copied", "Author", .stringAttributeType, "name"), ("folded", "Author", .stringAttributeType, "canonical:(name)"),
    ("upper", "Author", .stringAttributeType, "uppercase:(name)"),
    ("lower", "Author", .stringAttributeType, "lowercase:(name)"),
    ("upperOfFolded", "Author", .stringAttributeType, "uppercase:(d_folded)"),
    ("pages", "Author", .integer64AttributeType, "books.@sum.pages"),
    ("prices", "Author", .decimalAttributeType, "books.@sum.price"),
    ("ratings", "Author", .doubleAttributeType, "books.@sum.rating"),
    ("read", "Author", .integer64AttributeType, "books.@sum.isRead"),
    ("mean", "Author", .doubleAttributeType, "books.@avg.pages"),
    ("least", "Author", .integer64AttributeType, "books.@min.pages"),
    ("most", "Author", .integer64AttributeType, "books.@max.pages"),
    ("lastTitle", "Author", .stringAttributeType, "books.@max.title"),
    ("tagsOfBooks", "Author", .integer64AttributeType, "books.@sum.d_tagCount"),
    ("count", "Author", .integer64AttributeType, "books.@count"), ("savedAt", "Author", .dateAttributeType, "now()"),
    ("authorName", "Book", .stringAttributeType, "author.name"),
    ("authorFolded", "Book", .stringAttributeType, "canonical:(author.name)"),
    ("authorUpper", "Book", .stringAttributeType, "author.d_upper"),
    ("tagCount", "Book", .integer64AttributeType, "tags.@count"),
    ("lastTag", "Book", .stringAttributeType, "tags.@max.label"),
    ("artistUpper", "Comic", .stringAttributeType, "uppercase:(artist)"),
    ("tagsOfComic", "Comic", .integer64AttributeType, "tags.@count"),
    ("bookCount", "Tag", .integer64AttributeType, "books.@count"),
    ("orderedCount", "Tag", .integer64AttributeType, "ordered.@count"),
  ]

  /// The model with derived attributes of every form, whose names begin with `d_`.
  ///
  /// - Parameter names: those to add, without `d_`; nil for all.
  package static func makeWithDerivedAttributes(_ names: Set<String>? = nil) -> NSManagedObjectModel {
    let model = make()
    for derivation in derivations where names?.contains(derivation.name) ?? true {
      let attribute = NSDerivedAttributeDescription()
      attribute.name = "d_" + derivation.name
      attribute.attributeType = derivation.type
      attribute.derivationExpression = NSExpression(format: derivation.format)
      model.entitiesByName[derivation.entity]?.properties.append(attribute)
    }
    return model
  }
}
