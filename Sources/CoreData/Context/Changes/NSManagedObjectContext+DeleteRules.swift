/// Applies delete rules: the effects of a deletion on related objects.
extension NSManagedObjectContext {
  /// Applies the delete rules of what was deleted in the event so far, for a fetch: it finds no book of a deleted
  /// author, as after the event. The event goes on, and observers hear of all of it at its end.
  ///
  /// Nothing happens while an event ends, and in a context whose rules wait for the save.
  final func propagateDeletesOfEvent() {
    guard propagatesDeletesAtEndOfEvent, !isProcessing else { return }
    isProcessing = true
    defer { isProcessing = false }
    propagateDeletes()
  }

  /// Applies the delete rules of deleted objects until no more objects follow.
  ///
  ///     delete(author)           author
  ///     author.books: cascade    -> its books are deleted, and their rules are applied next
  ///     book.shelf: nullify      -> the shelf's books lose the book
  ///     book.loans: deny         -> nothing here: validation refuses the save while there is a loan
  ///
  /// A list and no recursion: a cascade may be as deep as there are objects.
  final func propagateDeletes() {
    while case let objects = changes.takeUnpropagated(), !objects.isEmpty {
      for object in objects where object.isDeleted { propagateDelete(of: object) }
    }
  }

  /// Applies the rules of one object's relationships. To-many relationships are read for the rules that need their
  /// members, and for no others.
  private func propagateDelete(of object: NSManagedObject) {
    defer { changes.didPropagate(object) }
    guard object.layout.hasRelationships else { return }
    for slot in object.layout.toOneSlots {
      guard let other = object.related(slot), !other.isDeleted,
        let relationship = object.layout.slots[slot].relationship
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

  /// Applies one rule to one related object. Not inlined, since it is in two loops that mostly find nothing.
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
