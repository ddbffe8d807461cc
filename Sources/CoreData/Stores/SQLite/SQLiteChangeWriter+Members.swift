/// Writes the members of to-many relationships: join rows and positions.
extension SQLiteChangeWriter {
  func write(_ change: MemberChange, of owner: Int64, _ storedEntity: StoredEntity) throws {
    switch store.writer(storedEntity.number).mapping.toManys[change.relationship.name] {
    case .foreignKey(_, let table, let inverse):
      guard let orderColumn = inverse.orderColumn else { return }
      let last = "SELECT max(\(orderColumn)) FROM \(table) WHERE \(inverse.column) = ?"
      try writeOrder(change, of: owner, after: last) { position, member in
        ("UPDATE \(table) SET \(orderColumn) = ? WHERE Z_PK = ?", [position, member])
      }
    case .join(_, let table, let ownerColumn, let destinationColumn, let orderColumn):
      for member in change.removed {
        try connection.execute(
          "DELETE FROM \(table) WHERE \(ownerColumn) = ? AND \(destinationColumn) = ?",
          [.integer(owner), .integer(member)])
      }
      for member in change.added {
        try connection.execute(
          "INSERT OR IGNORE INTO \(table) (\(ownerColumn), \(destinationColumn)) VALUES (?, ?)",
          [.integer(owner), .integer(member)])
      }
      guard let orderColumn else { return }
      let last = "SELECT max(\(orderColumn)) FROM \(table) WHERE \(ownerColumn) = ?"
      try writeOrder(change, of: owner, after: last) { position, member in
        (
          "UPDATE \(table) SET \(orderColumn) = ? WHERE \(destinationColumn) = ? AND \(ownerColumn) = ?",
          [position, member, .integer(owner)]
        )
      }
    case nil: break
    }
  }

  /// Gives every member its position. If the members were not read, new ones come after the existing ones.
  private func writeOrder(
    _ change: MemberChange, of owner: Int64, after lastSQL: String,
    _ statement: (SQLiteValue, SQLiteValue) -> (String, [SQLiteValue])
  ) throws {
    guard let order = change.order else { return }
    var position = MemberPosition.first
    if !change.isWhole, let last = try connection.integer(lastSQL, [.integer(owner)]), last > 0 {
      position = last + MemberPosition.distance
    }
    for member in order {
      let (sql, values) = statement(.integer(position), .integer(member))
      try connection.execute(sql, values)
      position += MemberPosition.distance
    }
  }
}
