/// The columns of a stored property.
package enum StoredColumns {
  case attribute(AttributeColumn)
  case composite(CompositeColumns)
  case toOne(ToOneColumn)

  /// A column, and the attribute whose values it has; nil for a key or an entity's number.
  package typealias Column = (name: String, attribute: NSAttributeDescription?)

  /// One, or one for each element, or the key's and the entity's.
  ///
  /// - Parameter attribute: the property, if it is an attribute.
  func columns(_ attribute: NSAttributeDescription?) -> [Column] {
    switch self {
    case .attribute(let column): [(column.column, attribute)]
    case .composite(let composite): composite.leaves.map { ($0.column.column, $0.attribute) }
    case .toOne(let toOne): [(toOne.column, nil)] + (toOne.entityColumn.map { [($0, nil)] } ?? [])
    }
  }
}

extension TableMapping {
  /// A stored property of an entity.
  ///
  /// For `Book`: `(0, author, .toOne(ZAUTHOR))`, `(1, isRead, .attribute(ZISREAD))`, then those of `pages` and `title`.
  /// Slots are in the order of names, which is not that of the table's columns; statements name their columns, so
  /// nobody has to care.
  package typealias StoredProperty = (slot: Int, description: SlotDescription, columns: StoredColumns)

  /// The properties that a row has columns for, in the order of their slots.
  package func storedProperties(_ layout: EntityLayout) -> [StoredProperty] {
    layout.slots.enumerated().compactMap { slot, description in
      let name = description.name
      let columns: StoredColumns? =
        attributes[name].map { .attribute($0) } ?? composites[name].map { .composite($0) }
        ?? toOnes[name].map { .toOne($0) }
      return columns.map { (slot, description, $0) }
    }
  }

  /// The properties that a save writes. The database computes derived attributes.
  package func writtenProperties(_ layout: EntityLayout) -> [StoredProperty] {
    storedProperties(layout).filter { !$0.description.isDerived }
  }
}

extension WrittenProperties {
  package convenience init(
    _ layout: EntityLayout, _ properties: [TableMapping.StoredProperty], _ constraints: [UniqueConstraint]
  ) {
    let constrained = Set(constraints.flatMap(\.columns))
    var unique = StepSet()
    for (position, property) in properties.enumerated()
    where !constrained.isDisjoint(with: property.columns.columns(nil).map(\.name)) {
      unique.insert(position)
    }
    self.init(layout, slots: properties.map(\.slot), unique: unique)
  }
}
