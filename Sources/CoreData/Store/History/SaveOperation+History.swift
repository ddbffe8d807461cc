/// What a save leaves in the store's history.
extension SaveOperation {
  /// The recorder for this save, with its deletions noted: their values are gone afterwards. nil for a store without history.
  func startHistory(_ connection: SQLiteConnection) throws -> HistoryRecorder? {
    guard store.history != nil else { return nil }
    let context = (inserted.first ?? updated.first ?? deleted.first)?.managedObjectContext
    let recorder = HistoryRecorder(store, ChangeOrigin(context), connection)
    for object in deleted where !object.objectID.isTemporaryID {
      try recorder?.noteDelete(number: object.objectID.home.number, key: object.objectID.key)
    }
    return recorder
  }

  /// Notes what was written.
  func finishHistory(_ recorder: HistoryRecorder) throws {
    for object in inserted {
      let id = permanentID(object)
      try recorder.noteInsert(number: id.home.number, key: id.key)
    }
    for object in updated {
      let changed = changedNames(of: object)
      if changed.isEmpty { continue }
      try recorder.noteUpdate(number: object.objectID.home.number, key: object.objectID.key, changed: changed)
    }
    try recorder.finish()
  }

  /// The properties whose columns or join rows this save writes.
  private func changedNames(of object: NSManagedObject) -> [String] {
    var names = object.toManys.compactMap { toMany in
      toMany.flatMap { $0.hasChanges ? $0.relationship.name : nil }
    }
    guard let snapshot = object.snapshot, let base = object.committed else { return names }
    for step in store.writer(object.objectID.home.number).steps where !base.isEqual(snapshot, slot: step.slot) {
      names.append(object.layout.slots[step.slot].name)
    }
    return names
  }
}
