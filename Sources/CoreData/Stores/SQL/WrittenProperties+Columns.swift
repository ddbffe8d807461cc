extension WrittenProperties {
  /// - Parameter columns: the slot and the columns of each property.
  convenience init(
    _ layout: EntityLayout, _ columns: some Sequence<(slot: Int, columns: [String])>, _ constraints: [UniqueConstraint]
  ) {
    let constrained = Set(constraints.flatMap(\.columns))
    var unique = StepSet()
    for (position, property) in columns.enumerated() where !constrained.isDisjoint(with: property.columns) {
      unique.insert(position)
    }
    self.init(layout, slots: columns.map(\.slot), unique: unique)
  }
}
