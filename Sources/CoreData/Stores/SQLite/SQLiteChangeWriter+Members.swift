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
  /// Both ends of a many-to-many relationship report the change, so the same pair comes twice: ``WrittenPairs`` leaves
  /// the second report out. OR IGNORE passes over a pair that another save has written already.
  func write(_ change: MemberChange, of owner: Int64, _ storedEntity: StoredEntity) throws {
    switch store.writer(storedEntity.number).mapping.toManys[change.relationship.name] {
    case .foreignKey(_, let table, let inverse):
      guard let orderColumn = inverse.orderColumn else { return }
      let stored: SQL = """
        SELECT Z_PK, \(raw: orderColumn) FROM \(raw: table) \
        WHERE \(raw: inverse.column) = \(bind: .integer(owner)) AND \(raw: orderColumn) NOT NULL
        """
      let update = "UPDATE \(table) SET \(orderColumn) = ? WHERE Z_PK = ?"
      try writeOrder(change, stored) { try run(update, .integer($0), .integer($1)) }
    case .join(_, let table, let ownerColumn, let destinationColumn, let orderColumn):
      let isFirst = ownerColumn < destinationColumn
      let delete = "DELETE FROM \(table) WHERE \(ownerColumn) = ? AND \(destinationColumn) = ?"
      for pair in removedPairs.add(change.removed.map { (owner, $0) }, to: table, ownerIsFirst: isFirst) {
        try run(delete, .integer(pair.owner), .integer(pair.member))
      }
      let insert = "INSERT OR IGNORE INTO \(table) (\(ownerColumn), \(destinationColumn)) VALUES (?, ?)"
      for pair in addedPairs.add(change.added.map { (owner, $0) }, to: table, ownerIsFirst: isFirst) {
        try run(insert, .integer(pair.owner), .integer(pair.member))
      }
      guard let orderColumn else { return }
      let stored: SQL = """
        SELECT \(raw: destinationColumn), \(raw: orderColumn) FROM \(raw: table) \
        WHERE \(raw: ownerColumn) = \(bind: .integer(owner)) AND \(raw: orderColumn) NOT NULL
        """
      let update = "UPDATE \(table) SET \(orderColumn) = ? WHERE \(destinationColumn) = ? AND \(ownerColumn) = ?"
      try writeOrder(change, stored) { try run(update, .integer($0), .integer($1), .integer(owner)) }
    case nil: break
    }
  }

  /// Gives the members positions in their order. Those whose stored positions are in order keep them.
  ///
  /// ```text
  /// 2048, 3072, 4096, and a new one at the end     5120: one UPDATE
  /// 2048, 4096 after a removal                     nothing is written, the gap stays
  /// the last one moves to the front                more than half would change: 2048, 3072, 4096, … anew
  /// members of a fault, plus one                   after the last stored position
  /// ```
  ///
  /// Without the numbering anew, positions would grow with each such move, and other programs may read 32 bits.
  ///
  /// - Parameters:
  ///   - storedSQL: finds the members' keys and positions.
  ///   - update: gives a member, by its key, a position.
  private func writeOrder(
    _ change: MemberChange, _ storedSQL: SQL, _ update: (_ position: Int64, _ member: Int64) throws -> Void
  ) throws {
    guard let order = change.order else { return }
    let stored = Dictionary(try connection.integers(storedSQL).map { ($0[0], $0[1]) }, uniquingKeysWith: max)
    var positions: [Int64] = []
    var last = change.isWhole ? 0 : stored.values.max() ?? 0
    for member in order {
      if change.isWhole, let position = stored[member], position > last {
        last = position
      } else {
        last = last > 0 ? last + MemberPosition.distance : MemberPosition.first
      }
      positions.append(last)
    }
    func changed() -> [(member: Int64, position: Int64)] {
      zip(order, positions).filter { stored[$0] != $1 }.map { (member: $0, position: $1) }
    }
    if change.isWhole, changed().count * 2 > order.count {
      positions = order.indices.map { MemberPosition.first + Int64($0) * MemberPosition.distance }
    }
    for (member, position) in changed() { try update(position, member) }
  }
}
