/// Applies an object's changes to the current row, after a save found that another one changed it.
extension NSManagedObjectContext {
  /// Applies an object's changes to the current row, as far as the policy allows.
  ///
  /// There are three states of each property: `base`, as this context read it, `snapshot`, as it has it now, and
  /// `stored`, as the row has it. A value that differs from the base was changed by that side:
  ///
  ///     base      here      stored     object-trump   store-trump   overwrite
  ///     Emma      Emma      Emma 2     Emma 2         Emma 2        Emma
  ///     Emma      Emma 3    Emma       Emma 3         Emma 3        Emma 3
  ///     Emma      Emma 3    Emma 2     Emma 3         Emma 2        Emma 3
  ///
  /// The stored row becomes the base: the next attempt writes an update of that version. To-many relationships are kept
  /// as sets of additions and removals, which need no merging.
  final func rebase(_ object: NSManagedObject, on stored: Snapshot, _ policy: NSMergePolicyType) {
    noteRefresh(of: object)
    let isGivenUp =
      policy == .rollbackMergePolicyType
      || policy == .mergeByPropertyStoreTrumpMergePolicyType && object.isDeleted
    guard !isGivenUp, let snapshot = object.snapshot else {
      changes.withdraw(object)
      object.state.remove(.ownsSnapshot)
      object.toManys = []
      object.committed = nil
      object.snapshot = stored
      return
    }
    if object.isDeleted {
      object.committed = stored
      return
    }
    let base = object.committed ?? snapshot
    let merged = stored.copy()
    for slot in object.layout.slots.indices {
      let isMine = !base.isEqual(snapshot, slot: slot)
      let isTheirs = !base.isEqual(stored, slot: slot)
      let staysMine =
        switch policy {
        case .overwriteMergePolicyType: true
        case .mergeByPropertyObjectTrumpMergePolicyType: isMine
        default: isMine && !isTheirs
        }
      if staysMine || object.layout.slots[slot].isTransient { merged.assign(slot: slot, from: snapshot) }
    }
    object.committed = stored
    object.snapshot = merged
    object.state.insert(.ownsSnapshot)
  }

  /// Forgets an object whose row is gone. Observers hear that it was deleted.
  final func dropMissing(_ object: NSManagedObject) {
    forgetAsDeleted(object)
    scheduleEndOfEvent()
  }

  /// Makes the save write the object's row again under its old key, so that references of other rows lead to it again.
  final func insertAgain(_ object: NSManagedObject) {
    changes.insertAgain(object)
    object.committed = nil
  }

  /// An object's row in the file, not from the cache, which may be what the conflict is about; nil for none.
  final func rowNow(of object: NSManagedObject) throws -> Snapshot? {
    guard !object.objectID.isTemporaryID, let store = object.objectID.objectStore else { return nil }
    return try store.row(object.objectID, in: nil)
  }

  // MARK: Objects that are only checked

  /// Makes the next save fail with a conflict if the object's row has changed by then, even if the object itself has
  /// not.
  ///
  /// ```swift
  /// context.detectConflicts(for: author)  // the new book is right only for this author as it was read
  /// book.author = author
  /// try context.save()
  /// ```
  ///
  /// The merge policy is asked as for a changed object; a policy that accepts the conflict refreshes the object. It
  /// applies to the next save only; if that writes nothing to the object's store, the object is not checked. If the row
  /// is gone already, that is a conflict too. Does nothing for a new object, and for one without a context. Traps for
  /// an object of another context.
  ///
  /// The call reads the object if it is a fault, and the save asks for the row's version: a statement for each object.
  /// Call it on the context's queue. What happens otherwise: a save compares only the versions of the rows that it
  /// writes, so the new book of the example would be saved with an author whose name another process has changed in
  /// between.
  ///
  /// - Parameter object: an object of this context that it does not change itself.
  ///
  /// Source: Apple's documentation of `detectConflicts(for:)`.
  public final func detectConflicts(for object: NSManagedObject) {
    checkQueue()
    requireNoOtherContext(of: object, "checked for conflicts in")
    guard graph.owns(object), !object.objectID.isTemporaryID else { return }
    _ = object.access()
    changes.check(object)
  }

  /// Makes the next save fail with a conflict if the object's row is deleted by then. Other changes of the row are no
  /// conflict: use it for a row that other processes write often. The rest is as with `detectConflicts(for:)`.
  ///
  /// The intake of jobs uses it for the jobs that a new one waits for: they change their state often, and only their
  /// removal would leave the new job waiting without end.
  package final func detectDeletion(of object: NSManagedObject) {
    checkQueue()
    requireNoOtherContext(of: object, "checked for conflicts in")
    guard graph.owns(object), !object.objectID.isTemporaryID else { return }
    changes.require(object)
  }

  /// Whether the next save checks objects that `detectConflicts(for:)` or `detectDeletion(of:)` has named.
  package final var detectsConflicts: Bool { !changes.checked.isEmpty || !changes.required.isEmpty }

  /// Makes the next save run the body in its transaction, and fail with the error that the body throws. Nothing is
  /// saved then.
  ///
  /// Use it for a condition that must be true when the save commits, such as that no row of some kind exists. For a row
  /// that exists `detectConflicts(for:)` is enough.
  ///
  ///     this context               another program
  ///     no job waits for this one
  ///                                saves a job that waits for it
  ///     saves: runs the body, which finds that job
  ///
  /// No other connection can write to a file between the body and the commit. At a server the body runs after the rows
  /// of the save are written: it sees the rows of each transaction that had locked one of these. Other transactions
  /// that are running may commit between the body and this commit.
  ///
  /// The body reads in another context of the coordinator, and does not use this one. It may run more than once. It
  /// applies to the next save of this context to its stores, unless `rollback()` or `reset()` comes first.
  package final func check(inNextSave body: @escaping () throws -> Void) {
    checkQueue()
    precondition(parentContext == nil, "only a save to stores has a transaction")
    changes.addSaveCheck(body)
  }

  /// A policy that does not throw has accepted the conflict. There are no changes to merge, only values to adopt.
  /// Without this the next attempt would find the same conflict again.
  final func acceptConflictChecks(_ conflicts: [Any]) {
    for case let conflict as NSMergeConflict in conflicts {
      let object = conflict.sourceObject
      let isGone = object.state.contains(.gone)
      guard !object.hasChanges || isGone, changes.stopChecking(object) else { continue }
      if graph.owns(object), !isGone { refreshObject(object, keepsChanges: true) }
    }
  }
}
