/// Applies delete rules: the effects of a deletion on related objects.
extension NSManagedObjectContext {
  /// Applies the delete rules of deleted objects until no more objects follow.
  final func propagateDeletes() {
    while case let objects = changes.takeUnpropagated(), !objects.isEmpty {
      for object in objects where object.isDeleted { propagateDelete(of: object) }
    }
  }

  private func propagateDelete(of object: NSManagedObject) {
    defer { changes.didPropagate(object) }
    guard object.layout.hasRelationships else { return }
    for slot in object.layout.toOneSlots {
      guard let relationship = object.layout.slots[slot].relationship, let other = object.related(slot),
        !other.isDeleted
      else { continue }
      apply(relationship, from: object, to: other)
    }
    for (index, relationship) in object.layout.toManys.enumerated()
    where relationship.deleteRule != .noActionDeleteRule && relationship.deleteRule != .denyDeleteRule {
      for other in object.toMany(index).members?.items ?? [] where !other.isDeleted {
        apply(relationship, from: object, to: other)
      }
    }
  }

  @inline(never)
  private func apply(_ relationship: NSRelationshipDescription, from object: NSManagedObject, to other: NSManagedObject)
  {
    switch relationship.deleteRule {
    case .cascadeDeleteRule where undoTracking?.isApplying != true: deleteObject(other)
    // The undone event restores by itself what its deletions removed.
    case .cascadeDeleteRule, .nullifyDeleteRule:
      guard let inverse = relationship.inverseRelationship else { return }
      other.removeInverse(inverse, object)
    case .denyDeleteRule, .noActionDeleteRule: return
    }
  }
}
