/// Connects a context to its undo manager. Used on the context's queue.
///
///     the program                     the context                        the manager
///     book.title = "Emma"             the event notes the former title
///     (end of the event)              register: one step                 a group with the step
///     undo()                          ends the event                     calls the step
///                                     apply: sets the former title
///                                     register: the opposite step        on the stack for redo
///
/// A manager may be used by hand as well, with groups over several events. It posts a checkpoint before it opens and
/// closes a group: the context then ends its event, so that each change is in the group in which it happened.
final class UndoTracking {
  /// The program's manager, which may serve other contexts and other code too.
  let manager: UndoManager
  private weak var context: NSManagedObjectContext?
  /// Ends the event when the manager is about to open or close a group.
  private let checkpoint: NotificationObservation
  /// Whether changes are being undone or redone: delete rules then do not cascade, since the step knows what the
  /// deletion took along.
  var isApplying = false
  /// Whether the context is saving: all events of one save form one group.
  var isSaving = false {
    didSet { if !isSaving { manager.endEvent() } }
  }

  /// `@unchecked Sendable`: the manager posts where it is used, on the context's queue.
  private struct Reference: @unchecked Sendable { weak var context: NSManagedObjectContext? }

  /// Observes the manager's checkpoints from now on.
  init(_ manager: UndoManager, of context: NSManagedObjectContext) {
    self.manager = manager
    self.context = context
    let reference = Reference(context: context)
    // The changes so far belong to the group that is about to be closed, or before the one about to be opened.
    checkpoint = NotificationObservation(of: .NSUndoManagerCheckpoint, from: manager) { _ in
      reference.context?.processEvent()
    }
  }

  /// Registers an event's changes as one step, and as a group if none is open.
  func register(_ event: ContextEvent) {
    guard manager.isUndoRegistrationEnabled, let context else { return }
    var event = event
    event.prepareQuestions()
    let step = UndoStep(event, in: context)
    guard !step.isEmpty else { return }
    manager.registerUndo(withTarget: context) { $0.apply(step) }
    if !isSaving { manager.endEvent() }
  }
}

extension NSManagedObjectContext {
  /// Undoes the last group of changes, saved or not: it ends the event and calls the undo manager. Changes that were
  /// saved are changes again, which the next save writes. Does nothing without an undo manager. Call it on the
  /// context's queue.
  ///
  /// ```swift
  /// context.undoManager = UndoManager()
  /// book.title = "Emma"
  /// context.undo()  // the former title
  /// context.redo()  // "Emma" again
  /// ```
  ///
  /// Each event is a group: what a `perform` block or a turn of the main queue has changed is undone together.
  /// `undoManager?.beginUndoGrouping()` puts several events into one. Objects whose insertion is undone are deleted,
  /// those whose deletion is undone come back with their values and relationships, and both get
  /// `awakeFromSnapshotEvents(_:)`.
  ///
  /// What happens otherwise: changes of other contexts and processes are not undone. If one of them has changed the
  /// same row in between, the save after the undoing is a conflict.
  ///
  /// Source: Apple's documentation of `undo()`.
  public final func undo() {
    checkQueue()
    processEvent()
    undoManager?.undo()
  }

  /// Redoes the changes that were undone last, if nothing was changed since: it ends the event and calls the undo
  /// manager. Does nothing without an undo manager. Call it on the context's queue.
  ///
  /// ```swift
  /// context.undo()
  /// if context.undoManager?.canRedo ?? false { context.redo() }
  /// ```
  ///
  /// A change after the undoing empties the manager's stack for redoing.
  ///
  /// Source: Apple's documentation of `redo()`.
  public final func redo() {
    checkQueue()
    processEvent()
    undoManager?.redo()
  }

  /// Connects another manager, or none. It ends the event, and removes all registrations of this context from the
  /// former manager, which must not call it any more.
  final func setUndoManager(_ manager: UndoManager?) {
    guard manager !== undoTracking?.manager else { return }
    // Earlier changes belong to the earlier manager, or to none.
    if !changes.event.isEmpty { processEvent() }
    undoTracking?.manager.removeAllActions(withTarget: self)
    undoTracking = manager.map { UndoTracking($0, of: self) }
  }

  /// Returns to the beginning of an event. The changes of doing so are registered in turn.
  final func apply(_ step: UndoStep) {
    guard let undoTracking else { return }
    undoTracking.isApplying = true
    // Objects must exist before others refer to them, and must have no references when they go.
    for object in step.deleted { revive(object) }
    for (object, store) in step.assignedStores where object.isInserted { changes.assign(object, to: store) }
    for change in step.values where isUsable(change.object) { apply(change) }
    for change in step.members where isUsable(change.object) { apply(change) }
    for object in step.deleted where isUsable(object) { rejoinMembers(of: object) }
    for object in step.inserted where isUsable(object) {
      object.loadAll()
      markDeleted(object)
    }
    processEvent()
    undoTracking.isApplying = false
    for change in step.values { settleAfterUndo(change.object) }
    for change in step.members { settleAfterUndo(change.object) }
    wake(step)
  }

  /// Whether the object belongs to this context and has a row, or will have one. Steps hold objects for long: a reset
  /// or another context's deletion may have come in between.
  private func isUsable(_ object: NSManagedObject) -> Bool {
    graph.owns(object) && object.state.isDisjoint(with: [.gone, .deleted])
  }

  /// Sets the former values. Relationships are set through the relationship, with the objects and not the keys of that
  /// time.
  private func apply(_ change: UndoStep.Values) {
    let object = change.object
    for slot in change.slots { object.set(slot: slot, from: change.before) }
    for (slot, other) in change.related {
      let relationship = object.layout.slots[slot].relationship
      object.setRelated(other.flatMap { canRefer(to: $0, by: relationship) ? $0 : nil }, slot: slot)
    }
  }

  /// Whether an object may have another one as its partner again. A deleted one may be, where its delete rule leaves
  /// references to it: a loan has its deleted book until the next undo, which restores that.
  private func canRefer(to object: NSManagedObject, by relationship: NSRelationshipDescription?) -> Bool {
    if isUsable(object) { return true }
    let rule = relationship?.inverseRelationship?.deleteRule
    return object.isDeleted && graph.owns(object) && (rule == .denyDeleteRule || rule == .noActionDeleteRule)
  }

  /// Gives the members of a restored object their own end of the relationship back.
  ///
  /// ```text
  /// book is deleted          its loans refer to it still, since the rule is to deny or to do nothing
  /// loan is deleted, saved
  /// undo                     the loan is there again, with no book: that has no row
  /// undo                     the book is there again, and its loan has it
  /// ```
  private func rejoinMembers(of object: NSManagedObject) {
    for case let toMany? in object.toManys {
      guard let inverse = toMany.relationship.inverseRelationship, !inverse.isToMany else { continue }
      for member in toMany.members?.items ?? [] where isUsable(member) {
        guard let slot = member.layout.slot(inverse.name), member.related(slot) == nil else { continue }
        member.setRelated(object, slot: slot)
      }
    }
  }

  /// Takes back additions and removals of members, and the order if all members are there.
  private func apply(_ change: UndoStep.Members) {
    let object = change.object
    for member in change.came { object.removeMember(member, of: change.index) }
    for member in change.went where isUsable(member) { object.addMember(member, to: change.index) }
    guard let order = change.order, let now = object.toMany(change.index).members else { return }
    let members = order.filter { now.contains($0) }
    if members.count == now.count && members != now.items { object.reorderMembers(members, of: change.index) }
  }

  /// Restores a deleted object: as it was, or as a new one with the same identity if its deletion was saved.
  final func revive(_ object: NSManagedObject) {
    if changes.takeBackDeletion(of: object) {
      if object.committed != nil || object.toManys.contains(where: { $0?.hasChanges ?? false }) { noteUpdate(object) }
      return
    }
    guard object.reference == nil || graph.owns(object), !object.hasChanges, let snapshot = object.snapshot
    else { return }
    object.snapshot = snapshot.copy()
    object.committed = nil
    object.state.subtract([.fault, .gone])
    object.state.insert(.ownsSnapshot)
    for case let toMany? in object.toManys { toMany.markUnsaved() }
    graph.add(object)
    changes.insert(object)
    scheduleEndOfEvent()
  }

  /// An object that equals its row again need not be saved. `hasChanges` becomes false then, so a document window shows
  /// that nothing is unsaved.
  private func settleAfterUndo(_ object: NSManagedObject) {
    guard object.isUpdated, isUsable(object) else { return }
    // Members that were added and removed again are only known to be unchanged once the members are read.
    for index in object.toManys.indices where object.toManys[index]?.hasChanges == true { _ = object.toMany(index) }
    guard !object.toManys.contains(where: { $0?.hasChanges ?? false }) else { return }
    if let snapshot = object.snapshot, let committed = object.committed {
      guard object.layout.slots.indices.allSatisfy({ committed.isEqual(snapshot, slot: $0) }) else { return }
      object.snapshot = committed
      object.committed = nil
      object.state.remove(.ownsSnapshot)
    }
    changes.withdraw(object)
  }

  /// Tells the objects what has happened to them: `awakeFromSnapshotEvents(_:)`, once each.
  private func wake(_ step: UndoStep) {
    for object in step.inserted { object.awake(.undoInsertion) }
    for object in step.deleted { object.awake(.undoDeletion) }
    let deleted = MemberList(step.deleted, keepsOrder: false)
    for change in step.values where isUsable(change.object) && !deleted.contains(change.object) {
      change.object.awake(.undoUpdate)
    }
  }
}
