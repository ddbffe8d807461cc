/// Writes the rows of one save into a store, inside a transaction. Used once.
///
/// All stores save in one way, which stands here: the order of work, keys, groups of rows that are written alike, the
/// exchange of unique values, conflicts and refusals. A store supplies what writes its rows: statements, or changes in
/// memory.
package protocol ChangeWriter: AnyObject {
  associatedtype Store: ObjectStore
  var store: Store { get }
  var changes: RowChanges { get }
  var progress: SaveProgress { get set }

  /// Takes the new and the changed rows for the history; nil for a store without one.
  var history: (any HistoryNotes)? { get }

  /// The most updated rows that wait for others that change the same properties.
  var updateGroupSize: Int { get }

  /// The properties that the store writes for an entity's rows.
  func properties(_ storedEntity: StoredEntity) -> WrittenProperties

  /// Reserves keys for rows of an entity: as many numbers as asked for, in ascending ranges.
  func takeKeys(_ count: Int, _ group: Int) throws -> [Range<Int64>]

  /// The number of the counter that gives the entity's keys.
  func keyGroup(_ storedEntity: StoredEntity) -> Int

  /// The row as it is in the store now; nil for none.
  ///
  /// - Throws: an error of reading the row, which says nothing of a conflict.
  func currentRow(_ id: NSManagedObjectID) throws -> Snapshot?

  /// The row as the store's coordinator has it; nil for one that it does not keep. Default: the row of the cache.
  func cachedRow(_ id: NSManagedObjectID) -> Snapshot?

  /// Called when the keys of new rows are known and no row is written yet. Deleted rows are still there.
  func begin() throws

  /// Notes a conflict for each of the entity's checked rows that has another version. The rows are in the order of
  /// their keys.
  func check(_ rows: [Int], of storedEntity: StoredEntity) throws

  /// Deletes rows of an entity, in the order of their keys. Notes a conflict for each that has another version; one
  /// that is gone is none.
  ///
  /// - Parameter areRead: whether the rows have versions. Rows that were never read cannot conflict.
  func delete(_ rows: [Int], of storedEntity: StoredEntity, areRead: Bool) throws

  /// Updates rows of one kind, and notes a conflict for each that has another version, or is gone. They change no
  /// unique value.
  func update(_ rows: [Int], _ kind: UpdateKind) throws

  /// Updates one row that changes unique values, and notes a conflict as the others do.
  ///
  /// - Returns: the store's sentence if another row has the unique values. Nothing is written then.
  func updateUnique(_ row: Int, _ kind: UpdateKind) throws -> String?

  /// Sets the changed unique values of a row to nil, so that other rows of the save can have them.
  func clearUnique(_ row: Int, _ kind: UpdateKind) throws

  /// Inserts rows of an entity, in their order. Rejects each whose unique values another row has.
  func insert(_ rows: [Int], of storedEntity: StoredEntity) throws

  /// Writes changed members of one relationship. Their keys are permanent.
  func write(_ members: MemberChange, of owner: Int64, _ storedEntity: StoredEntity) throws

  /// Ends the save, when everything was written: throws the refusals, or else has the rows noted and writes the
  /// history.
  func finish(_ noteRows: () throws -> Void) throws
}

/// What was found out while the rows of a save are written.
///
/// A conflict, from the statement to the policy. Context A has read the book 1 with version 1; B has saved another
/// title:
///
/// ```text
/// A saves     BEGIN IMMEDIATE
///             UPDATE ZBOOK SET Z_OPT = 2, ZTITLE = 'mine' WHERE Z_PK = 1 AND Z_OPT = 1       changes no row
///             SELECT … FROM ZBOOK t WHERE t.Z_PK = 1 AND t.Z_ENT = 2                        noteConflict: version 2
///             ROLLBACK                                                                      throwRefusals
/// error policy                                                                              133020
/// object trump: the object gets version 2 as its base, and keeps its title
///             BEGIN IMMEDIATE
///             UPDATE ZBOOK SET Z_OPT = 3, ZTITLE = 'mine' WHERE Z_PK = 1 AND Z_OPT = 2
///             COMMIT
/// ```
package struct SaveProgress {
  package var saved = SavedRows()
  /// The inserted rows, divided where the entity changes.
  package var insertRuns: [(storedEntity: StoredEntity, rows: Range<Int>)] = []
  fileprivate var conflicts: [RowConflicts.Conflict] = []
  /// The rows whose unique values another row has, with the store's sentence.
  fileprivate var rejected: [(place: RowChanges.Place, message: String)] = []

  package init() {}

  package mutating func reject(_ place: RowChanges.Place, _ message: String) { rejected.append((place, message)) }
}

/// Updated rows of one entity that change the same properties. Those that were never read apart from the others: only
/// their members change.
package struct UpdateKind: Hashable {
  package let storedEntity: StoredEntity
  package let changed: StepSet
  package let isRead: Bool

  package static func == (one: UpdateKind, other: UpdateKind) -> Bool {
    one.storedEntity === other.storedEntity && one.changed == other.changed && one.isRead == other.isRead
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(storedEntity.number)
    hasher.combine(changed)
  }
}

extension ChangeWriter {
  /// Writes everything. Throws the conflicts after all were found, those of versions first.
  ///
  /// ```text
  /// step           what it needs from the one before
  /// -------------  --------------------------------------------------------------------------------
  /// assignKeys     rows refer to each other by key: all keys are known before the first row is written
  /// begin          deleted rows are still there: the history keeps what it preserves of them
  /// writeChecks    rows that must be unchanged, before this save changes any
  /// writeDeletes   frees unique values for what follows
  /// writeUpdates   the same: a book may give its title up to a new one
  /// writeInserts
  /// writeMembers   join rows refer to rows that are all there now
  /// finish         conflicts first, then rejected rows, then the history
  /// ```
  ///
  /// Conflicts do not stop the work: all of them are found, so that a merge policy is asked once for the whole save and
  /// not once for each row. Then the transaction is rolled back, the policy changes the objects, and the coordinator
  /// saves anew.
  package func write() throws -> SavedRows {
    try assignKeys()
    try begin()
    try writeChecks()
    try writeDeletes()
    // An update may free the unique value that a new row takes.
    try writeUpdates()
    try writeInserts()
    try writeMembers()
    try finish(noteRows)
    return progress.saved
  }

  package func begin() throws {}

  // MARK: Checks and deletions

  private func writeChecks() throws {
    let checked = changes.checked
    if checked.isEmpty { return }
    for (storedEntity, rows) in Self.byEntity(checked) {
      try check(rows, of: storedEntity)
    }
  }

  /// Rows that were read go apart from those that were not: only the former have a version to compare, so a statement
  /// for a group asks for versions or does not.
  private func writeDeletes() throws {
    let deleted = changes.deleted
    if deleted.isEmpty { return }
    for (storedEntity, rows) in Self.byEntity(deleted) {
      let read = rows.filter { deleted[$0].version != nil }
      if !read.isEmpty { try delete(read, of: storedEntity, areRead: true) }
      if read.count == rows.count { continue }
      try delete(rows.filter { deleted[$0].version == nil }, of: storedEntity, areRead: false)
    }
  }

  /// The rows by entity, in the order of the entities' numbers and of their keys: saves lock the rows of several tables
  /// in one order.
  private static func byEntity(_ rows: [some KeyedRow]) -> [(storedEntity: StoredEntity, rows: [Int])] {
    var groups: [(storedEntity: StoredEntity, rows: [Int])] = []
    var start = 0
    while start < rows.count {
      let storedEntity = rows[start].storedEntity
      // Rows of one entity mostly follow each other.
      let end = rows[start...].firstIndex { $0.storedEntity !== storedEntity } ?? rows.count
      if let group = groups.firstIndex(where: { $0.storedEntity === storedEntity }) {
        groups[group].rows += start..<end
      } else {
        groups.append((storedEntity, Array(start..<end)))
      }
      start = end
    }
    if groups.count > 1 { groups = groups.sorted(on: { $0.storedEntity.number }) }
    return groups.map { ($0.storedEntity, $0.rows.inOrder { rows[$0].key }) }
  }

  // MARK: Refusals

  /// The current row is read inside of the save's transaction: it is the one that this save would overwrite, and nobody
  /// can change it until the end.
  package func noteConflict(_ place: RowChanges.Place, _ storedEntity: StoredEntity, _ key: Int64) throws {
    let id = NSManagedObjectID(storedEntity: storedEntity, key: key)
    let stored = try currentRow(id)
    progress.conflicts.append(RowConflicts.Conflict(place: place, stored: stored, cached: cachedRow(id)))
  }

  package func cachedRow(_ id: NSManagedObjectID) -> Snapshot? { store.rowCache.find(id.key, id.storedEntity.table) }

  /// Throws the conflicts, or else the rejected rows, in the save's order: groups may have found them in another one.
  package func throwRefusals() throws {
    if !progress.conflicts.isEmpty {
      throw RowConflicts(store: store, conflicts: progress.conflicts.sorted { $0.place < $1.place })
    }
    let rejected = progress.rejected.sorted { $0.place < $1.place }
    if let first = rejected.first {
      throw RejectedRows(store: store, places: rejected.map(\.place), message: first.message)
    }
  }

  // MARK: History

  /// Inserted rows are noted before updated ones, and deleted ones were noted first: the order of a transaction's
  /// changes in the history is deletions, insertions, updates.
  private func noteRows() throws {
    guard let history else { return }
    for run in progress.insertRuns {
      for key in progress.saved.keys[run.rows] { try history.noteInsert(number: run.storedEntity.number, key: key) }
    }
    for row in changes.updated {
      let names = changedNames(of: row)
      if names.isEmpty { continue }
      try history.noteUpdate(number: row.storedEntity.number, key: row.key, changed: names)
    }
  }

  /// The properties whose values or members this save writes.
  ///
  /// What a program has set to the same value is not in the history.
  private func changedNames(of row: RowChanges.Update) -> [String] {
    let names = row.members.map(\.relationship.name)
    guard let values = row.values, let base = row.base else { return names }
    let properties = properties(row.storedEntity)
    return names + properties.names(of: properties.changed(base, values))
  }
}

extension [Int] {
  /// The rows in the order of their keys, which mostly is theirs.
  package func inOrder(of key: (Int) -> Int64) -> [Int] {
    let isSorted = indices.dropFirst().allSatisfy { key(self[$0 - 1]) <= key(self[$0]) }
    return isSorted ? self : sorted { key($0) < key($1) }
  }
}
