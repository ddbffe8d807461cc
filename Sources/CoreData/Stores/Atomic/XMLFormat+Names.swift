extension XMLFormat {
  /// Refuses names that become one in the file, where entities are upper case and properties lower case:
  ///
  /// ```text
  /// Book, BOOK             <object type="BOOK" …>
  /// Book.title, .Title     <attribute name="title" …>, twice for one object
  /// ```
  ///
  /// An attribute and a relationship have elements of their own and may have such names.
  static func check(_ entities: [NSEntityDescription]) throws {
    try check(entities.map { $0.name ?? "" }, "The entities")
    for entity in entities {
      let properties = entity.properties.filter { !$0.isTransient }
      let names = { (kind: NSPropertyDescription.Type) in properties.filter { $0.isKind(of: kind) }.map(\.name) }
      try check(names(NSAttributeDescription.self), "The attributes of \(entity.name ?? "")")
      try check(names(NSRelationshipDescription.self), "The relationships of \(entity.name ?? "")")
    }
  }

  private static func check(_ names: [String], _ what: String) throws {
    var before: [String: String] = [:]
    for name in names.sorted() {
      guard let other = before.updateValue(name, forKey: name.lowercased()) else { continue }
      throw CoreDataErrors.error(
        .persistentStoreIncompatibleSchema,
        "\(what) \(other) and \(name) differ only in case, which an XML store cannot keep apart; rename one of them.")
    }
  }
}
