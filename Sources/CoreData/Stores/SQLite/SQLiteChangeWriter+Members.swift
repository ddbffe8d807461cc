/// Writes the members of to-many relationships: join rows and positions.
extension SQLiteChangeWriter {
  func write(_ change: MemberChange, of owner: Int64, _ storedEntity: StoredEntity) throws {
    switch store.writer(storedEntity.number).mapping.toManys[change.relationship.name] {
    case .foreignKey(_, let table, let inverse):
      guard let orderColumn = inverse.orderColumn else { return }
      let last: SQL =
        "SELECT max(\(raw: orderColumn)) FROM \(raw: table) WHERE \(raw: inverse.column) = \(bind: .integer(owner))"
      let update = "UPDATE \(table) SET \(orderColumn) = ? WHERE Z_PK = ?"
      try writeOrder(change, after: last) { try run(update, .integer($0), .integer($1)) }
    case .join(_, let table, let ownerColumn, let destinationColumn, let orderColumn):
      let delete = "DELETE FROM \(table) WHERE \(ownerColumn) = ? AND \(destinationColumn) = ?"
      for member in change.removed { try run(delete, .integer(owner), .integer(member)) }
      let insert = "INSERT OR IGNORE INTO \(table) (\(ownerColumn), \(destinationColumn)) VALUES (?, ?)"
      for member in change.added { try run(insert, .integer(owner), .integer(member)) }
      guard let orderColumn else { return }
      let last: SQL =
        "SELECT max(\(raw: orderColumn)) FROM \(raw: table) WHERE \(raw: ownerColumn) = \(bind: .integer(owner))"
      let update = "UPDATE \(table) SET \(orderColumn) = ? WHERE \(destinationColumn) = ? AND \(ownerColumn) = ?"
      try writeOrder(change, after: last) { try run(update, .integer($0), .integer($1), .integer(owner)) }
    case nil: break
    }
  }

  /// Gives every member its position. If the members were not read, new ones come after the existing ones.
  ///
  /// - Parameters:
  ///   - lastSQL: finds the last position.
  ///   - update: gives a member, by its key, a position.
  private func writeOrder(
    _ change: MemberChange, after lastSQL: SQL, _ update: (_ position: Int64, _ member: Int64) throws -> Void
  ) throws {
    guard let order = change.order else { return }
    var position = MemberPosition.first
    if !change.isWhole, let last = try connection.integer(lastSQL), last > 0 {
      position = last + MemberPosition.distance
    }
    for member in order {
      try update(position, member)
      position += MemberPosition.distance
    }
  }
}
