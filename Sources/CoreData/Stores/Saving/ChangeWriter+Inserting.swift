/// New rows: their keys, their order and their members.
extension ChangeWriter {
  // MARK: Keys

  /// Gives new rows their keys before any of them is written.
  ///
  /// ```text
  /// inserted   Author -1, Book -2, Book -3           runs: Author 0..<1, Book 1..<3
  /// needed     group 1: 1, group 2: 2                one reservation for each table
  /// assigned   -1 → 1, -2 → 1, -3 → 2                keys of authors and books are counted apart
  /// ```
  ///
  /// A row that got its ID before (`obtainPermanentIDs`) has a positive key and keeps it.
  package func assignKeys() throws {
    let inserted = changes.inserted
    if inserted.isEmpty { return }
    var needed: [(group: Int, count: Int)] = []
    var runs: [(storedEntity: StoredEntity, rows: Range<Int>)] = []
    var start = 0
    while start < inserted.count {
      let layout = inserted[start].values.layout
      let storedEntity = try store.storedEntity(of: layout)
      var (end, count) = (start, 0)
      while end < inserted.count, inserted[end].values.layout === layout {
        if inserted[end].key < 0 { count += 1 }
        end += 1
      }
      runs.append((storedEntity, start..<end))
      let group = keyGroup(storedEntity)
      if let index = needed.firstIndex(where: { $0.group == group }) {
        needed[index].count += count
      } else {
        needed.append((group, count))
      }
      start = end
    }
    progress.insertRuns = runs
    var reserved: [Int: KeySupply] = [:]
    for (group, count) in needed where count > 0 { reserved[group] = KeySupply(try takeKeys(count, group)) }
    var keys: [Int64] = []
    keys.reserveCapacity(inserted.count)
    var assigned: [AssignedKeys.Pair] = []
    assigned.reserveCapacity(inserted.count)
    for (storedEntity, rows) in runs {
      let number = Int64(storedEntity.number)
      let group = keyGroup(storedEntity)
      var ranges = reserved[group] ?? KeySupply()
      for index in rows {
        let temporary = inserted[index].key
        guard temporary < 0, let key = ranges.next() else {
          keys.append(temporary)
          continue
        }
        keys.append(key)
        assigned.append((temporary, RelatedKey(key: key, number: number)))
      }
      reserved[group] = ranges
    }
    progress.saved.keys = keys
    progress.saved.assigned.add(assigned)
  }

  /// The row to which a key leads that may be a temporary one of this save, or of an earlier one.
  package func resolve(_ related: RelatedKey) -> RelatedKey? {
    if related.key > 0 { return related }
    return progress.saved.assigned[related.key] ?? changes.permanentIDs[related.key]?.relatedKey
  }

  // MARK: Rows

  /// Writes table by table, the rows of each in the save's order: of two rows with the same unique values the later one
  /// is rejected.
  ///
  /// Inserts of one table are brought together so that they fill groups; rows of other tables may come in between
  /// without harm, since SQLite checks no foreign keys here.
  package func writeInserts() throws {
    var tables: [(table: Int32, runs: [(storedEntity: StoredEntity, rows: [Int])])] = []
    for (storedEntity, rows) in progress.insertRuns {
      let table = tables.firstIndex { $0.table == storedEntity.table } ?? tables.count
      if table == tables.count { tables.append((storedEntity.table, [])) }
      let last = tables[table].runs.count - 1
      if last >= 0, tables[table].runs[last].storedEntity === storedEntity {
        tables[table].runs[last].rows += rows
      } else {
        tables[table].runs.append((storedEntity, Array(rows)))
      }
    }
    for table in tables {
      for run in table.runs { try insert(run.rows, of: run.storedEntity) }
    }
  }

  // MARK: Members

  package func writeMembers() throws {
    let inserted = changes.inserted
    for (storedEntity, rows) in progress.insertRuns {
      for index in rows where !inserted[index].members.isEmpty {
        try write(inserted[index].members, of: progress.saved.keys[index], storedEntity)
      }
    }
    for row in changes.updated where !row.members.isEmpty { try write(row.members, of: row.key, row.storedEntity) }
  }

  private func write(_ members: [MemberChange], of owner: Int64, _ storedEntity: StoredEntity) throws {
    for change in members { try write(change.withPermanentKeys(resolve), of: owner, storedEntity) }
  }
}

/// The positions that ordered members get in a database: so far apart that other programs can put rows between.
///
/// With 1,024 numbers between two neighbours another program can put ten members between them, one after the other, by
/// halving the gap, before it has to number anew.
package enum MemberPosition {
  package static let first: Int64 = 2048
  package static let distance: Int64 = 1024
}

extension MemberChange {
  /// The change with the permanent keys of all members. A new object that was removed again is left out.
  fileprivate func withPermanentKeys(_ resolve: (RelatedKey) -> RelatedKey?) throws -> MemberChange {
    func permanent(_ keys: [Int64]) throws -> [Int64] {
      if keys.allSatisfy({ $0 > 0 }) { return keys }
      return try keys.map { try permanentKey($0, resolve) }
    }
    return MemberChange(
      relationship: relationship, added: try permanent(added), removed: removed.filter { $0 > 0 },
      order: try order.map(permanent), isWhole: isWhole)
  }
}
