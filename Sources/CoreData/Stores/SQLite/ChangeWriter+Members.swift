/// Writes the members of to-many relationships.
extension ChangeWriter {
  /// Writes the changes of an object's to-many relationships: join rows and positions.
  func writeMembers(_ members: [MemberChange], of owner: Int64, _ writer: RowWriter) throws {
    for change in members {
      guard let place = writer.mapping.toManys[change.relationship.name] else { continue }
      switch place {
      case .foreignKey(_, let table, let inverse):
        guard let orderColumn = inverse.orderColumn else { continue }
        let last = "SELECT max(\(orderColumn)) FROM \(table) WHERE \(inverse.column) = ?"
        try writeOrder(change, of: owner, after: last) { position, member in
          ("UPDATE \(table) SET \(orderColumn) = ? WHERE Z_PK = ?", [position, member])
        }
      case .join(_, let table, let ownerColumn, let destinationColumn, let orderColumn):
        for member in change.removed where member > 0 {
          try connection.execute(
            "DELETE FROM \(table) WHERE \(ownerColumn) = ? AND \(destinationColumn) = ?",
            [.integer(owner), .integer(member)])
        }
        for member in change.added {
          try connection.execute(
            "INSERT OR IGNORE INTO \(table) (\(ownerColumn), \(destinationColumn)) VALUES (?, ?)",
            [.integer(owner), .integer(try change.permanentKey(member, resolve))])
        }
        guard let orderColumn else { continue }
        let last = "SELECT max(\(orderColumn)) FROM \(table) WHERE \(ownerColumn) = ?"
        try writeOrder(change, of: owner, after: last) { position, member in
          (
            "UPDATE \(table) SET \(orderColumn) = ? WHERE \(destinationColumn) = ? AND \(ownerColumn) = ?",
            [position, member, .integer(owner)]
          )
        }
      }
    }
  }

  /// Gives every member its position: 2048 for the first and 1024 more for each, as in Apple's files. If the members
  /// were not read, new ones come after the existing ones.
  private func writeOrder(
    _ change: MemberChange, of owner: Int64, after lastSQL: String,
    _ statement: (SQLiteValue, SQLiteValue) -> (String, [SQLiteValue])
  ) throws {
    guard let order = change.order else { return }
    var position: Int64 = 2048
    if !change.isWhole, let last = try connection.integer(lastSQL, [.integer(owner)]), last > 0 {
      position = last + 1024
    }
    for member in order {
      let (sql, values) = statement(.integer(position), .integer(try change.permanentKey(member, resolve)))
      try connection.execute(sql, values)
      position += 1024
    }
  }
}
