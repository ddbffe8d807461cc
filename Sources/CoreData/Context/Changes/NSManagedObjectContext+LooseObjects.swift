/// Inserts objects that were related to each other before they had a context.
extension NSManagedObjectContext {
  /// Inserts an object along with all loose ones that it refers to, over any number of steps. `awakeFromInsert()` runs
  /// when all of them are in the context.
  ///
  ///     let author = Author(entity: …, insertInto: nil)      loose
  ///     let book = Book(entity: …, insertInto: nil)          loose
  ///     book.author = author                                 the book holds the author by a `LooseReference`
  ///     context.insert(book)                                 the book, and the author with it
  ///
  /// A breadth-first walk: chains of a million objects need no stack. Objects get their keys when they are enlisted,
  /// and only then can slots refer to them.
  final func insertLoose(_ first: NSManagedObject) {
    var arrivals: [NSManagedObject] = []
    var waiting = [first]
    var next = 0
    while next < waiting.count {
      let object = waiting[next]
      next += 1
      if object.isInserted { continue }
      let wasLoose = object.isLoose
      let loose = object.reference as? LooseReference
      enlist(object)
      arrivals.append(object)
      guard wasLoose else { continue }
      if let loose { follow(loose, of: object, &waiting) }
      for case let toMany? in object.toManys { follow(toMany, of: object, &waiting) }
    }
    scheduleEndOfEvent()
    for object in arrivals { object.awakeFromInsert() }
  }

  /// Follows to-one relationships: the partner's key goes into the slot, and the partner is inserted too if it is
  /// loose.
  @inline(never)
  private func follow(_ loose: LooseReference, of object: NSManagedObject, _ waiting: inout [NSManagedObject]) {
    manualChanges.add(loose.manualChanges)
    guard let values = object.snapshot else { return }
    for (slot, partner) in loose.partners {
      if isUsable(partner, by: object, object.layout.slots[slot].name) {
        if partner.isLoose { waiting.append(partner) }
        // Another context may have saved it meanwhile, and given it another key.
        if values.related(slot)?.key != partner.key { values.assign(slot: slot, to: partner.objectID.relatedKey) }
      } else {
        values.setNil(slot)
      }
    }
  }

  /// Follows to-many relationships. Members whose deletion was saved meanwhile are left out.
  @inline(never)
  private func follow(_ toMany: ToMany, of object: NSManagedObject, _ waiting: inout [NSManagedObject]) {
    for member in toMany.added.items {
      if !isUsable(member, by: object, toMany.relationship.name) {
        toMany.remove(member)
      } else if member.isLoose {
        waiting.append(member)
      }
    }
  }

  /// Whether an object may stay in a relationship: one whose deletion was saved meanwhile may not. Traps for an object
  /// of another context.
  private func isUsable(_ object: NSManagedObject, by owner: NSManagedObject, _ name: String) -> Bool {
    if object.state.contains(.gone) { return false }
    require(
      object.isLoose || graph.owns(object),
      "\(owner.objectID) cannot be inserted into the context \(label): its relationship \(owner.layout.name).\(name) "
        + "refers to \(object.objectID), which belongs to another context. Use object(with:) to get that object in "
        + "this context.")
    return true
  }
}
