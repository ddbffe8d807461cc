extension InferredMapping {
  /// Writes the warnings to standard error, before the migration starts.
  ///
  /// The migration goes on. Each sentence tells the developer which renaming identifier is missing.
  func writeWarnings() {
    for warning in warnings {
      FileHandle.standardError.write(Data("CoreData: the migration changes data: \(warning).\n".utf8))
    }
  }

  /// Maps relationships that are new by name, but whose inverse kept its name: if `Author.books` stays and its inverse
  /// `Book.author` becomes `Book.writer`, then `writer` continues `author`, where the store keeps the members of
  /// `books`.
  ///
  /// A to-many relationship has no column: its members are those whose to-one relationship names the owner. So renaming
  /// the to-one end without an identifier would lose the members of a relationship whose name did not change.
  ///
  /// ```text
  /// old   Author.books  <->  Book.author
  /// new   Author.books  <->  Book.writer        no identifier on writer
  /// names only:  books: books,  writer: new     every book would lose its author
  /// here:        books: books,  writer: author
  /// ```
  ///
  /// - Returns: a warning for each relationship whose members are lost nevertheless, because its inverse continues
  ///   another relationship.
  static func followInverses(_ entities: inout [Entity]) -> [String] {
    var warnings: [String] = []
    let indexes = Dictionary(
      entities.indices.map { (entities[$0].destination.name ?? "", $0) }, uniquingKeysWith: { first, _ in first })
    for index in entities.indices {
      for (name, was) in entities[index].relationships.sorted(on: { $0.key }) {
        guard let relationship = entities[index].destination.relationshipsByName[name],
          let inverse = relationship.inverseRelationship, let oldInverse = was.inverseRelationship,
          let owner = inverse.entity.name.flatMap({ indexes[$0] })
        else { continue }
        switch entities[owner].relationships[inverse.name] {
        case nil: take(oldInverse, for: inverse, below: owner, in: &entities)
        // A to-one relationship keeps its values in its own row.
        case let other?
        where other !== oldInverse && relationship.isToMany
          && relationship.entity === entities[index].destination:
          warnings.append(
            """
            \(relationship.owner?.name ?? "").\(name) loses its members: its inverse \(inverse.name) continues \
            \(other.owner?.name ?? "").\(other.name), not \(oldInverse.owner?.name ?? "").\(oldInverse.name); give \
            \(inverse.name) a renaming identifier to keep them
            """)
        default: break
        }
      }
    }
    return warnings
  }

  /// Maps the inverse in its entity and in the subentities that inherit it, unless another one continues the old
  /// relationship there.
  ///
  /// It does nothing where the old relationship is continued already, or where to-many would become to-one.
  private static func take(
    _ old: NSRelationshipDescription, for new: NSRelationshipDescription, below owner: Int, in entities: inout [Entity]
  ) {
    for index in entities.indices where entities[index].destination.isKindOf(entity: entities[owner].destination) {
      let isTaken = entities[index].relationships.values.contains { $0 === old }
      guard !isTaken, entities[index].source?.relationshipsByName[old.name] === old, !(old.isToMany && !new.isToMany)
      else { continue }
      entities[index].relationships[new.name] = old
    }
  }
}
