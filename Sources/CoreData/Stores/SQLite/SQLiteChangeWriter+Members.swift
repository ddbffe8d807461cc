/// Writes the members of to-many relationships: join rows and positions.
extension SQLiteChangeWriter {
  func write(_ change: MemberChange, of owner: Int64, _ storedEntity: StoredEntity) throws {
    switch store.writer(storedEntity.number).mapping.toManys[change.relationship.name] {
    case .foreignKey(_, let table, let inverse):
      guard let orderColumn = inverse.orderColumn else { return }
      let last = "SELECT max(\(orderColumn)) FROM \(table) WHERE \(inverse.column) = ?"
      try writeOrder(change, of: owner, after: last, with: "UPDATE \(table) SET \(orderColumn) = ? WHERE Z_PK = ?", [])
    case .join(_, let table, let ownerColumn, let destinationColumn, let orderColumn):
      let delete = "DELETE FROM \(table) WHERE \(ownerColumn) = ? AND \(destinationColumn) = ?"
      for member in change.removed { try connection.execute(delete, [.integer(owner), .integer(member)]) }
      let insert = "INSERT OR IGNORE INTO \(table) (\(ownerColumn), \(destinationColumn)) VALUES (?, ?)"
      for member in change.added { try connection.execute(insert, [.integer(owner), .integer(member)]) }
      guard let orderColumn else { return }
      let last = "SELECT max(\(orderColumn)) FROM \(table) WHERE \(ownerColumn) = ?"
      let update = "UPDATE \(table) SET \(orderColumn) = ? WHERE \(destinationColumn) = ? AND \(ownerColumn) = ?"
      try writeOrder(change, of: owner, after: last, with: update, [.integer(owner)])
    case nil: break
    }
  }

  /// Gives every member its position. If the members were not read, new ones come after the existing ones.
  ///
  /// - Parameters:
  ///   - update: its first parameters are the position and the member's key.
  ///   - values: those of the others.
  private func writeOrder(
    _ change: MemberChange, of owner: Int64, after lastSQL: String, with update: String, _ values: [SQLiteValue]
  ) throws {
    guard let order = change.order else { return }
    var position = MemberPosition.first
    if !change.isWhole, let last = try connection.integer(lastSQL, [.integer(owner)]), last > 0 {
      position = last + MemberPosition.distance
    }
    for member in order {
      try connection.execute(update, [.integer(position), .integer(member)] + values)
      position += MemberPosition.distance
    }
  }
}
