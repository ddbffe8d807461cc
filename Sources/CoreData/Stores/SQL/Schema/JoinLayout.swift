/// The join table of a many-to-many relationship, seen from the end that names it.
package struct JoinLayout {
  /// The end that names the table, and its inverse; nil for none.
  package let relationship: NSRelationshipDescription
  package let inverse: NSRelationshipDescription?
  package let table: JoinTable
  /// The columns with the positions of the two ends' members, if they are ordered.
  package let orderColumn: String?
  package let inverseOrderColumn: String?

  package init(
    relationship: NSRelationshipDescription, inverse: NSRelationshipDescription?, table: JoinTable,
    orderColumn: String?, inverseOrderColumn: String?
  ) {
    self.relationship = relationship
    self.inverse = inverse
    self.table = table
    self.orderColumn = orderColumn
    self.inverseOrderColumn = inverseOrderColumn
  }

  /// The mapping of one of the two ends.
  func mapping(of end: NSRelationshipDescription) -> ToManyMapping {
    let destination = end.destinationEntity?.name ?? ""
    if end === relationship {
      return .join(
        destinationEntityName: destination, table: table.name, ownerColumn: table.firstColumn,
        destinationColumn: table.secondColumn, orderColumn: orderColumn)
    }
    return .join(
      destinationEntityName: destination, table: table.name, ownerColumn: table.secondColumn,
      destinationColumn: table.firstColumn, orderColumn: inverseOrderColumn)
  }
}

/// Finds the many-to-many relationships of a store and names their tables and columns, as Apple's store does.
///
/// The end on the entity with the lower number names the table; of two ends on one entity the one with the later name
/// does.
///
/// How the names come about for `Author.books` (ordered) and `Book.authors`, where Author is 1 and Book is 2:
///
/// ```text
/// part of the name   rule                                              result
/// -----------------  ------------------------------------------------  -------------
/// table              _ number of the naming entity, its relationship   Z_1BOOKS
/// first column       Z_ number of the naming entity, the inverse       Z_1AUTHORS      keys of authors
/// second column      Z_ number of the other entity, the relationship   Z_2BOOKS        keys of books
/// position           Z_FOK_ and the second column without "Z_"         Z_FOK_2BOOKS    for the ordered end
/// ```
///
/// The columns look crossed at first: `Z_1AUTHORS` is named after `Book.authors`, since following that relationship
/// leads to the authors whose keys are in it.
///
/// The number is that of the entity that declares the end, not of its root: an end on `Novel` (3) makes `Z_3…`. A
/// renumbered entity therefore renames the table; `SchemaFile.existing` finds what a file really has.
package struct JoinLayouts {
  package let layouts: [JoinLayout]

  package init(_ numbering: EntityNumbering, prefix: String) {
    var builder = Builder(numbering: numbering, prefix: prefix)
    for entity in numbering.entities.sorted(on: { numbering.number(of: $0) }) {
      for case let relationship as NSRelationshipDescription in numbering.properties(of: entity)
      where relationship.isToMany {
        builder.add(relationship, of: entity)
      }
    }
    layouts = builder.layouts
  }

  /// A many-to-many relationship without the names of its columns.
  private struct Pair {
    let relationship: NSRelationshipDescription
    let inverse: NSRelationshipDescription?
    let number: Int
    /// The column with the keys of the relationship's owners, and the one with those of its members.
    let first: Column
    let second: Column
  }

  private struct Column {
    let plainName: String
    /// The name of the relationship that the entity of the column's rows has.
    let relationship: String
  }

  private struct Builder {
    let numbering: EntityNumbering
    let prefix: String
    private var pairs: [Pair] = []

    init(numbering: EntityNumbering, prefix: String) {
      self.numbering = numbering
      self.prefix = prefix
    }

    /// Called for both ends of a pair, in the order of the entities' numbers. Only the end that names the table adds
    /// something; one-to-many relationships add nothing.
    mutating func add(_ relationship: NSRelationshipDescription, of entity: NSEntityDescription) {
      guard let destination = relationship.destinationEntity, numbering.contains(destination) else { return }
      let number = numbering.number(of: entity)
      let capitals = relationship.name.uppercased()
      guard let inverse = relationship.inverseRelationship else {
        // No file of Apple's with such a relationship was available: the owner's column is named after its entity.
        let first = Column(plainName: "Z_\(number)\((entity.name ?? "").uppercased())", relationship: relationship.name)
        let second = Column(plainName: "Z_\(numbering.number(of: destination))\(capitals)", relationship: "")
        pairs.append(Pair(relationship: relationship, inverse: nil, number: number, first: first, second: second))
        return
      }
      guard inverse.isToMany, let other = declarer(of: inverse, at: destination) else { return }
      let otherNumber = numbering.number(of: other)
      if inverse !== relationship {
        let isFirst =
          number == otherNumber ? inverse.name.precedesByBytes(relationship.name) : number < otherNumber
        guard isFirst else { return }
      }
      let first = Column(plainName: "Z_\(number)\(inverse.name.uppercased())", relationship: relationship.name)
      // A relationship that is its own inverse would give both columns the same name.
      let second = Column(
        plainName: inverse === relationship ? JoinLayouts.reflexive : "Z_\(otherNumber)\(capitals)",
        relationship: inverse.name)
      pairs.append(Pair(relationship: relationship, inverse: inverse, number: number, first: first, second: second))
    }

    /// Positions: the ordered end's members have their place in the column named after the members' key column. For
    /// `Author.books` that is `Z_FOK_2BOOKS`; were `Book.authors` ordered too, `Z_FOK_1AUTHORS` would come before it.
    var layouts: [JoinLayout] {
      let names = uniqueNames()
      return pairs.enumerated().map { index, pair in
        let (first, second) = (names[2 * index], names[2 * index + 1])
        let orderColumn = pair.relationship.isOrdered ? Self.orderName(second) : nil
        let isOrderedBack = pair.inverse.map { $0.isOrdered && $0 !== pair.relationship } ?? false
        let inverseOrderColumn = isOrderedBack ? Self.orderName(first) : nil
        let table = JoinTable(
          name: "\(prefix)_\(pair.number)\(pair.relationship.name.uppercased())", firstColumn: first,
          secondColumn: second, orderColumns: [inverseOrderColumn, orderColumn].compactMap { $0 },
          ownerNumber: pair.number)
        return JoinLayout(
          relationship: pair.relationship, inverse: pair.inverse, table: table, orderColumn: orderColumn,
          inverseOrderColumn: inverseOrderColumn)
      }
    }

    /// The columns' names, first and second of each pair. Columns of one name get numbers, even in different tables: in
    /// the order of the relationships that lead there from the rows' own entity.
    ///
    /// ```text
    /// Team(7).users has the inverse User(23).teams, and Group(9).users has the inverse User(23).groups:
    ///
    /// table     columns                  the column with the keys of users, by the relationship of User
    /// Z_9USERS  Z_9GROUPS, Z_23USERS     groups
    /// Z_7USERS  Z_7TEAMS, Z_23USERS1     teams: the second name gets 1, although it is in another table
    /// ```
    private func uniqueNames() -> [String] {
      let columns = pairs.flatMap { [$0.first, $0.second] }
      var names = columns.map(\.plainName)
      for places in Dictionary(grouping: columns.indices, by: { columns[$0].plainName }).values
      where columns[places[0]].plainName != JoinLayouts.reflexive {
        let sorted = places.sorted { one, other in
          let (name, otherName) = (columns[one].relationship, columns[other].relationship)
          return name == otherName ? one < other : name.precedesByBytes(otherName)
        }
        for (suffix, place) in sorted.enumerated() where suffix > 0 { names[place] += String(suffix) }
      }
      return names
    }

    /// The entity that declares a relationship: the given one or an ancestor.
    private func declarer(
      of relationship: NSRelationshipDescription, at entity: NSEntityDescription
    ) -> NSEntityDescription? {
      sequence(first: entity, next: numbering.parent(of:)).first { candidate in
        numbering.properties(of: candidate).contains { $0 === relationship }
      }
    }

    /// "Z_1FAVORITES" orders by "Z_FOK_1FAVORITES".
    private static func orderName(_ column: String) -> String {
      "Z_FOK_" + (column.hasPrefix("Z_") ? String(column.dropFirst(2)) : column)
    }
  }

  /// The name of the members' column of a relationship that is its own inverse.
  private static let reflexive = "REFLEXIVE"
}
