/// The join table of a many-to-many relationship, seen from the end that names it.
struct JoinLayout {
  /// The end that names the table, and its inverse; nil for none.
  let relationship: NSRelationshipDescription
  let inverse: NSRelationshipDescription?
  let table: JoinTable
  /// The columns with the positions of the two ends' members, if they are ordered.
  let orderColumn: String?
  let inverseOrderColumn: String?

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
struct JoinLayouts {
  let layouts: [JoinLayout]

  init(_ numbering: EntityNumbering, prefix: String) {
    var builder = Builder(numbering: numbering, prefix: prefix)
    for entity in numbering.entities.sorted(by: { numbering.number(of: $0) < numbering.number(of: $1) }) {
      for case let relationship as NSRelationshipDescription in numbering.properties(of: entity)
      where relationship.isToMany {
        builder.add(relationship, of: entity)
      }
    }
    layouts = builder.layouts
  }

  private struct Builder {
    let numbering: EntityNumbering
    let prefix: String
    var layouts: [JoinLayout] = []
    private var columnNames: Set<String> = []

    init(numbering: EntityNumbering, prefix: String) {
      self.numbering = numbering
      self.prefix = prefix
    }

    mutating func add(_ relationship: NSRelationshipDescription, of entity: NSEntityDescription) {
      guard let destination = relationship.destinationEntity, numbering.contains(destination) else { return }
      guard let inverse = relationship.inverseRelationship else {
        addWithoutInverse(relationship, of: entity, to: destination)
        return
      }
      guard inverse.isToMany, let other = declarer(of: inverse, at: destination) else { return }
      let (number, otherNumber) = (numbering.number(of: entity), numbering.number(of: other))
      if inverse !== relationship {
        let isFirst =
          number == otherNumber ? inverse.name.precedesByBytes(relationship.name) : number < otherNumber
        guard isFirst else { return }
      }
      let capitals = relationship.name.uppercased()
      let first = uniqueName("Z_\(number)\(inverse.name.uppercased())")
      // A relationship that is its own inverse would give both columns the same name.
      let second = inverse === relationship ? "REFLEXIVE" : uniqueName("Z_\(otherNumber)\(capitals)")
      let orderColumn = relationship.isOrdered ? orderName(second) : nil
      let inverseOrderColumn = inverse.isOrdered && inverse !== relationship ? orderName(first) : nil
      append(
        relationship, inverse, number, "\(prefix)_\(number)\(capitals)", first, second, orderColumn, inverseOrderColumn)
    }

    /// No file of Apple's with such a relationship was available: the owner's column is named after its entity.
    private mutating func addWithoutInverse(
      _ relationship: NSRelationshipDescription, of entity: NSEntityDescription, to destination: NSEntityDescription
    ) {
      let number = numbering.number(of: entity)
      let capitals = relationship.name.uppercased()
      let first = uniqueName("Z_\(number)\((entity.name ?? "").uppercased())")
      let second = uniqueName("Z_\(numbering.number(of: destination))\(capitals)")
      append(
        relationship, nil, number, "\(prefix)_\(number)\(capitals)", first, second,
        relationship.isOrdered ? orderName(second) : nil, nil)
    }

    private mutating func append(
      _ relationship: NSRelationshipDescription, _ inverse: NSRelationshipDescription?, _ number: Int,
      _ name: String, _ first: String, _ second: String, _ orderColumn: String?, _ inverseOrderColumn: String?
    ) {
      let table = JoinTable(
        name: name, firstColumn: first, secondColumn: second,
        orderColumns: [orderColumn, inverseOrderColumn].compactMap { $0 }, ownerNumber: number)
      layouts.append(
        JoinLayout(
          relationship: relationship, inverse: inverse, table: table, orderColumn: orderColumn,
          inverseOrderColumn: inverseOrderColumn))
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
    private func orderName(_ column: String) -> String {
      "Z_FOK_" + column.dropFirst("Z_".count)
    }

    /// A second column of the same name gets a number, even in another table.
    private mutating func uniqueName(_ wanted: String) -> String {
      var name = wanted
      var suffix = 0
      while !columnNames.insert(name).inserted {
        suffix += 1
        name = wanted + String(suffix)
      }
      return name
    }
  }
}
