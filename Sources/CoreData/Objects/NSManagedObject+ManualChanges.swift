/// For handwritten accessors around primitive values: `willChangeValue`, `setPrimitiveValue`, `didChangeValue`.
///
/// The pair brackets a change that this module cannot see, since `setPrimitiveValue` is silent. `ManualChanges` keeps
/// what only the first call knows, the former partners and the observers' old values, for the second:
///
/// ```text
/// willChangeValue(forKey:)    mark as updated, tell observers "before", remember the related objects
/// setPrimitiveValue           the slot or the members, nothing else
/// didChangeValue(forKey:)     set the inverses of what came and went, tell observers "after"
/// ```
///
/// Pairs may be nested; for one property the innermost ends first.
extension NSManagedObject {
  /// Call it before a change of a primitive value: it marks the object as updated and tells observers.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   var text: String? {
  ///     get {
  ///       willAccessValue(forKey: "text")
  ///       defer { didAccessValue(forKey: "text") }
  ///       return primitiveValue(forKey: "text") as? String
  ///     }
  ///     set {
  ///       willChangeValue(forKey: "text")
  ///       setPrimitiveValue(newValue, forKey: "text")
  ///       didChangeValue(forKey: "text")
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// Generated accessors and `setValue(_:forKey:)` do all of it. Without `didChangeValue(forKey:)` after it, the other
  /// end of a relationship is not set.
  ///
  /// It costs what the first change of a property costs: a copy of the row. Of a to-many relationship it reads the
  /// members. Call it on the context's queue.
  ///
  /// - Parameter key: a property of the entity. Of a key that the model lacks it tells observers only.
  ///
  /// Source: Apple's documentation of `willChangeValue(forKey:)`.
  public final func willChangeValue(forKey key: String) {
    var change = ManualChange(object: self, key: key, observed: willChangeObserved(key))
    switch layout.locations[key] {
    case .slot(let slot):
      willEdit()
      if layout.slots[slot].kind == .toOne {
        change.isOfRelationship = true
        change.before = related(slot).map { [$0] } ?? []
      }
    case .toMany(let index):
      change.isOfRelationship = true
      change.before = membersBeforeChange(of: index)
    case .fetched, nil: break
    }
    remember(change)
  }

  /// Call it after a change of a primitive value: it sets the other end of a relationship and tells observers.
  ///
  /// Without a `willChangeValue(forKey:)` before it does nothing: neither observers nor the inverse learn of the
  /// change. See there for an example. Call it on the context's queue.
  ///
  /// - Parameter key: the same as at the beginning.
  ///
  /// Source: Apple's documentation of `didChangeValue(forKey:)`.
  public final func didChangeValue(forKey key: String) {
    let manualChanges = reference?.context?.manualChanges ?? (reference as? LooseReference)?.manualChanges
    guard let change = manualChanges?.take(of: self, key) else { return }
    if change.isOfRelationship { setInverses(after: change) }
    change.observed?.finish()
  }

  /// Like `willChangeValue(forKey:)` for a to-many relationship whose added or removed members are known: observers are
  /// told of these members only. The change itself is made on the set of `primitiveValue(forKey:)`. For
  /// another property it does what `willChangeValue(forKey:)` does.
  ///
  /// ```swift
  /// final class Shelf: NSManagedObject {
  ///   func put(_ book: NSManagedObject) {
  ///     let added: Set<AnyHashable> = [book]
  ///     willChangeValue(forKey: "books", withSetMutation: .union, using: added)
  ///     (primitiveValue(forKey: "books") as? NSMutableSet)?.add(book)
  ///     didChangeValue(forKey: "books", withSetMutation: .union, using: added)
  ///   }
  /// }
  /// ```
  ///
  /// Generated methods such as `addToBooks(_:)` do all of it. Call it on the context's queue; it reads the members.
  ///
  /// - Parameters:
  ///   - mutationKind: `.union` for members that come, `.minus` for members that go. For the others observers hear that
  ///     the property is set.
  ///   - objects: the members.
  ///
  /// Source: Apple's documentation of `willChangeValue(forKey:withSetMutation:using:)`.
  public final func willChangeValue(
    forKey key: String, withSetMutation mutationKind: NSKeyValueSetMutationKind, using objects: Set<AnyHashable>
  ) {
    guard case .toMany(let index) = layout.locations[key] else { return willChangeValue(forKey: key) }
    let members = objects.compactMap { $0.base as? NSManagedObject }
    let kind: NSKeyValueChange? =
      switch mutationKind {
      case .union: .insertion
      case .minus: .removal
      case .intersect, .set: nil
      }
    var observed: ObservedChange?
    if state.contains(.isObserved) {
      let isOrdered = layout.toManys[index].isOrdered
      observed = ObservedChange(
        of: self, key: key, members: kind.map { ObservedMembers(kind: $0, objects: members, isOrdered: isOrdered) })
    }
    var change = ManualChange(object: self, key: key, observed: observed)
    change.isOfRelationship = true
    change.before = membersBeforeChange(of: index)
    remember(change)
  }

  /// Like `didChangeValue(forKey:)`. Call it after the change with the same arguments.
  ///
  /// The other ends are set for the members that really came and went between the two calls, whatever the arguments
  /// say.
  ///
  /// Source: Apple's documentation of `didChangeValue(forKey:withSetMutation:using:)`.
  public final func didChangeValue(
    forKey key: String, withSetMutation mutationKind: NSKeyValueSetMutationKind, using objects: Set<AnyHashable>
  ) {
    didChangeValue(forKey: key)
  }

  /// Reads the members, since the inverses of those that come and go are found by comparison.
  private func membersBeforeChange(of index: Int) -> [NSManagedObject] {
    let toMany = toMany(index)
    _ = access()
    willChangeMembers(toMany)
    noteRelationshipChange()
    return toMany.members?.items ?? []
  }

  /// Keeps the change for `didChangeValue`, unless nothing will need it: an attribute without observers.
  private func remember(_ change: ManualChange) {
    guard change.isOfRelationship || change.observed != nil else { return }
    if let context = reference?.context {
      context.manualChanges.add(change)
    } else {
      makeLooseReference()?.manualChanges.add(change)
    }
  }

  /// The inverse calls change the other ends only, as in `setRelated`.
  private func setInverses(after change: ManualChange) {
    let relationship: NSRelationshipDescription
    let now: [NSManagedObject]
    switch layout.locations[change.key] {
    case .slot(let slot):
      relationship = layout.slots[slot].relationship!
      now = related(slot).map { [$0] } ?? []
    case .toMany(let index):
      relationship = layout.toManys[index]
      now = toMany(index).members?.items ?? []
    case .fetched, nil: return
    }
    guard let inverse = relationship.inverseRelationship else { return }
    let before = MemberList(change.before, keepsOrder: false)
    let after = MemberList(now, keepsOrder: false)
    for object in change.before where !after.contains(object) { object.removeInverse(inverse, self) }
    for object in now where !before.contains(object) { object.addInverse(inverse, self) }
  }
}

/// A change between `willChangeValue` and `didChangeValue`.
///
/// Holds its object: a setter that removes the last other reference must find it at `didChangeValue`.
struct ManualChange {
  let object: NSManagedObject
  let key: String
  let observed: ObservedChange?
  var isOfRelationship = false
  /// The related objects before the change.
  var before: [NSManagedObject] = []
}

/// The changes of one context, or of one object without a context, between `willChangeValue` and `didChangeValue`.
///
/// One list for a context, not a property of each object: a change that is half done is rare and short. A reset and a
/// roll-back drop all, since their values are no longer there. Searched from the end: the innermost pair is the last.
final class ManualChanges {
  private var changes: [ManualChange] = []

  func add(_ change: ManualChange) { changes.append(change) }

  func add(_ others: ManualChanges) { changes += others.changes }

  /// The change of a property that began last; nil if none did.
  func take(of object: NSManagedObject, _ key: String) -> ManualChange? {
    changes.lastIndex { $0.object === object && $0.key == key }.map { changes.remove(at: $0) }
  }

  func removeAll() { changes.removeAll() }
}
