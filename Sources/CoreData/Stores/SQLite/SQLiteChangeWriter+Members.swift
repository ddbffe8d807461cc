/// Writes the members of to-many relationships: join rows and positions.
extension SQLiteChangeWriter {
  /// Writes what the members' own rows do not say: pairs of a join table, and positions.
  ///
  /// ```text
  /// many-to-many     DELETE FROM Z_1BOOKS WHERE Z_1AUTHORS = ? AND Z_2BOOKS = ?
  ///                  INSERT OR IGNORE INTO Z_1BOOKS (Z_1AUTHORS, Z_2BOOKS) VALUES (?, ?)
  ///   ordered        UPDATE Z_1BOOKS SET Z_FOK_2BOOKS = ? WHERE Z_2BOOKS = ? AND Z_1AUTHORS = ?
  /// one-to-many      nothing: the books' own rows have their author
  ///   ordered        UPDATE ZBOOK SET Z_FOK_AUTHOR = ? WHERE Z_PK = ?
  /// ```
  ///
  /// Both ends of a many-to-many relationship report the change, so the same pair comes twice; OR IGNORE makes the
  /// second do nothing.
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
  /// ```text
  /// members that were read       2048, 3072, 4096, …: all get their positions anew
  /// members of a fault, plus 1   SELECT max(Z_FOK_AUTHOR) FROM ZBOOK WHERE ZAUTHOR = 1     4096
  ///                              UPDATE ZBOOK SET Z_FOK_AUTHOR = 5120 WHERE Z_PK = 4
  /// ```
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
