/// Records a save in the store's history.
extension ChangeWriter {
  /// The recorder for this save, with its deletions noted, because their values are gone afterwards. Nil for a store
  /// without a history.
  func startHistory() throws -> HistoryRecorder? {
    guard let recorder = HistoryRecorder(store, changes.origin, connection) else { return nil }
    for row in changes.deleted { try recorder.noteDelete(number: row.storedEntity.number, key: row.key) }
    return recorder
  }

  /// Notes the written rows.
  func finishHistory(_ recorder: HistoryRecorder) throws {
    for run in insertRuns {
      for key in saved.keys[run.rows] { try recorder.noteInsert(number: run.writer.mapping.number, key: key) }
    }
    for row in changes.updated {
      let changed = changedNames(of: row)
      if changed.isEmpty { continue }
      try recorder.noteUpdate(number: row.storedEntity.number, key: row.key, changed: changed)
    }
    try recorder.finish()
  }

  /// The properties whose columns or join rows this save writes.
  private func changedNames(of row: RowChanges.Update) -> [String] {
    let names = row.members.map(\.relationship.name)
    guard let values = row.values, let base = row.base else { return names }
    let steps = store.writer(row.storedEntity.number).steps
    return names
      + steps.lazy.filter { !base.isEqual(values, slot: $0.slot) }.map { row.storedEntity.layout.slots[$0.slot].name }
  }
}
