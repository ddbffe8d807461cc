/// Resolves the conflicts of one `NSMergePolicy.resolve(constraintConflicts:)`.
struct ConstraintResolution {
  private let policy: NSMergePolicyType
  private var context: NSManagedObjectContext?
  /// Objects that left the context, each with the one that stands in its place. Both are kept until the end.
  private var replacements: [ObjectIdentifier: (old: NSManagedObject, new: NSManagedObject)] = [:]
  /// The keys under which replaced objects were referred to.
  private var oldKeys: [RelatedKey: NSManagedObject] = [:]

  private var takenOver: [(object: NSManagedObject, stored: Snapshot)] = []

  init(_ policy: NSMergePolicyType) { self.policy = policy }

  private var objectsWin: Bool {
    policy == .mergeByPropertyObjectTrumpMergePolicyType || policy == .overwriteMergePolicyType
  }

  mutating func resolve(_ conflict: NSConstraintConflict) throws {
    let rivals = conflict.conflictingObjects.filter { isStillRival($0, conflict) }
    guard let context = rivals.first?.reference?.context else { return }
    self.context = context
    let changed = rivals.filter { !$0.isInserted }
    let new = rivals.filter(\.isInserted)
    guard let row = conflict.databaseObject, row.reference === context.reference, !row.isDeleted else {
      // Among themselves. Whoever has a row keeps it.
      guard let winner = chosen(changed) ?? chosen(new) else { return }
      return settle(changed, new, winner, conflict)
    }
    guard objectsWin, let winner = chosen(changed) ?? chosen(new) else { return settle(changed, new, row, conflict) }
    guard let stored = try conflict.stored ?? context.rowNow(of: row) else {
      return settle(changed, new, winner, conflict)
    }
    if winner.isInserted && winner.layout === row.layout {
      settle(changed, new, winner, conflict)
      takeOver(row, stored, by: winner, in: context)
    } else {
      // The row's values as they were found: whoever changes it now makes this a version conflict.
      row.supply(stored)
      // Before anything is changed: a save that fails leaves the context as it was.
      try row.validateForDelete()
      settle(changed, new, winner, conflict)
      context.delete(row)
      context.propagateDeletes()
    }
  }

  private func chosen(_ objects: [NSManagedObject]) -> NSManagedObject? { objectsWin ? objects.last : objects.first }

  /// Whether the object still has the values: an earlier conflict, or the policy's own code, may have changed that.
  private func isStillRival(_ object: NSManagedObject, _ conflict: NSConstraintConflict) -> Bool {
    guard object.reference?.context != nil, object.hasChanges, !object.isDeleted else { return false }
    let values = object.access().values(of: object, conflict.constraint)
    return NSDictionary(dictionary: values).isEqual(to: conflict.constraintValues)
  }

  /// Lets the winner alone have the values.
  private mutating func settle(
    _ changed: [NSManagedObject], _ new: [NSManagedObject], _ winner: NSManagedObject, _ conflict: NSConstraintConflict
  ) {
    for loser in changed where loser !== winner { giveBack(loser, conflict.constraint) }
    for loser in new where loser !== winner { replace(loser, by: winner) }
  }

  /// The object has again the values that its row has: those of the constraint, or all.
  private func giveBack(_ object: NSManagedObject, _ names: [String]) {
    guard let context, let committed = object.committed else { return }
    if policy == .rollbackMergePolicyType { return context.rebase(object, on: committed, policy) }
    for slot in names.compactMap({ object.layout.slot($0.components(separatedBy: ".")[0]) }) {
      if object.layout.slots[slot].kind == .toOne {
        let related = committed.related(slot).flatMap { context.object(for: $0, from: object, slot: slot) }
        object.setRelated(related, slot: slot)
      } else {
        object.willEdit()
        object.snapshot.unsafelyUnwrapped.assign(slot: slot, from: committed)
      }
    }
    context.noteRefresh(of: object)
  }

  /// Drops a new object; what referred to it refers to the winner.
  private mutating func replace(_ loser: NSManagedObject, by winner: NSManagedObject) {
    guard let context else { return }
    for (index, relationship) in loser.layout.toManys.enumerated() {
      guard let place = winner.layout.toManyIndex(relationship.name) else { continue }
      for member in loser.toMany(index).members?.items ?? [] {
        loser.removeMember(member, of: index)
        winner.addMember(member, to: place)
      }
    }
    note(loser, winner)
    context.delete(loser)
  }

  /// The new object becomes the object of the row, and is an update of it from now on.
  private mutating func takeOver(
    _ row: NSManagedObject, _ stored: Snapshot, by object: NSManagedObject, in context: NSManagedObjectContext
  ) {
    let id = row.objectID
    note(row, object)
    context.forgetAsDeleted(row)
    note(object, object)
    context.adopt(id, stored, object)
    takenOver.append((object, stored))
  }

  private mutating func note(_ old: NSManagedObject, _ new: NSManagedObject) {
    replacements[ObjectIdentifier(old)] = (old, new)
    oldKeys[old.objectID.relatedKey] = new
  }

  // MARK: At the end

  /// Lets everything refer to the objects that are left.
  func finish() {
    guard let context, !replacements.isEmpty else { return }
    context.propagateDeletes()
    let objects = replacements.filter { $0.value.old !== $0.value.new }.mapValues { last($0.new) }
    if !objects.isEmpty {
      for object in context.graph.all {
        for case let toMany? in object.toManys { toMany.replace(objects) }
      }
    }
    for (object, stored) in takenOver { context.loosenFormerPartners(of: object, stored) }
    for object in context.changes.inserted.items + context.changes.updated.items {
      for slot in object.layout.toOneSlots {
        guard let related = object.snapshot?.related(slot), let new = oldKeys[related].map(last),
          !isOfOtherStore(new, object)
        else { continue }
        object.willEditPrimitively()
        object.snapshot.unsafelyUnwrapped.assign(slot: slot, to: new.objectID.relatedKey)
      }
    }
    for case let (old, new) in replacements.values where old !== new && old.isDeleted { context.drop(old) }
    context.scheduleEndOfEvent()
  }

  private func last(_ object: NSManagedObject) -> NSManagedObject {
    guard let next = replacements[ObjectIdentifier(object)], next.new !== object else { return object }
    return last(next.new)
  }

  /// Keys are those of one store.
  private func isOfOtherStore(_ object: NSManagedObject, _ other: NSManagedObject) -> Bool {
    guard let one = object.home.family, let another = other.home.family else { return false }
    return one !== another
  }
}

extension NSManagedObjectContext {
  /// Makes a new object the one of a row, whose values it replaces by its own.
  fileprivate final func adopt(_ id: NSManagedObjectID, _ stored: Snapshot, _ object: NSManagedObject) {
    become(object, id)
    changes.updateInsteadOfInserting(object)
    object.state.insert(.ownsSnapshot)
    let values = object.access().copy()
    for (slot, description) in object.layout.slots.enumerated() where description.isDerived {
      values.assign(slot: slot, from: stored)
    }
    object.snapshot = values
    object.committed = stored
    // The row's members stay; what was added here comes to them.
    for case let toMany? in object.toManys { toMany.forgetMembers() }
  }

  /// Lets go of the partners that the row had and the object that took it over has not.
  fileprivate final func loosenFormerPartners(of object: NSManagedObject, _ stored: Snapshot) {
    guard let values = object.snapshot else { return }
    for slot in object.layout.toOneSlots where !stored.isEqual(values, slot: slot) {
      guard let inverse = object.layout.slots[slot].relationship?.inverseRelationship, let key = stored.related(slot),
        let partner = self.object(for: key, from: object, slot: slot)
      else { continue }
      partner.removeInverse(inverse, object)
    }
  }

  /// Forgets a new object that was deleted in the middle of a save.
  fileprivate final func drop(_ object: NSManagedObject) {
    changes.removeDropped(object)
    forget(object)
  }
}
