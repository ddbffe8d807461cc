/// The keys in the user info of the notifications, boxed once.
///
/// A save of one object needs seven of them, and boxing a text takes an allocation.
///
/// `nonisolated(unsafe)`: strings in boxes and empty sets, which never change.
enum UserInfoKey {
  nonisolated(unsafe) static let inserted: AnyHashable = NSInsertedObjectsKey
  nonisolated(unsafe) static let updated: AnyHashable = NSUpdatedObjectsKey
  nonisolated(unsafe) static let deleted: AnyHashable = NSDeletedObjectsKey
  nonisolated(unsafe) static let refreshed: AnyHashable = NSRefreshedObjectsKey
  /// The key of the `NSPersistentHistoryToken` after a save or a merge. Apple has no constant for it.
  nonisolated(unsafe) static let historyToken: AnyHashable = "newChangeToken"
  /// The key by which observers tell a merge's notification from those of the context's own changes. Its value is an
  /// empty set. Apple has no constant for it.
  nonisolated(unsafe) static let changedByMerge: AnyHashable = "NSObjectsChangedByMergeChangesKey"
  /// What a save without changes tells.
  nonisolated(unsafe) static let emptySets: [AnyHashable: Any] = [
    inserted: Set<NSManagedObject>(), updated: Set<NSManagedObject>(), deleted: Set<NSManagedObject>(),
  ]
  nonisolated(unsafe) static let insertedIDs: AnyHashable = NSInsertedObjectIDsKey
  nonisolated(unsafe) static let updatedIDs: AnyHashable = NSUpdatedObjectIDsKey
  nonisolated(unsafe) static let deletedIDs: AnyHashable = NSDeletedObjectIDsKey
}

/// The sets of objects in the notifications of one save: a set is made once, and shared by those with equal lists.
///
/// A save mostly reports the same objects twice: as the changes of the event that it ends, and as saved.
///
/// It is a value in the context while a save runs, and a new one for each other post.
struct NotificationSets {
  private var sets: [(objects: [NSManagedObject], set: Set<NSManagedObject>)] = []

  /// The set of the objects: the one that was made for an equal list, or a new one.
  mutating func set(of objects: [NSManagedObject]) -> Set<NSManagedObject> {
    if let shared = sets.first(where: { NotificationSets.areSame($0.objects, objects) }) {
      return shared.set
    }
    let set = Set(distinct: objects)
    sets.append((objects, set))
    return set
  }

  /// Whether the lists have the same objects in the same order.
  private static func areSame(_ left: [NSManagedObject], _ right: [NSManagedObject]) -> Bool {
    left.count == right.count
      && left.withUnsafeBytes { left in
        right.withUnsafeBytes {
          left.assumingMemoryBound(to: UInt.self).elementsEqual(
            $0.assumingMemoryBound(to: UInt.self))
        }
      }
  }
}

extension Set {
  /// The set of different elements. It has room for twice as many: each collision costs a call of `isEqual(_:)`, which
  /// takes longer than all the rest.
  init(distinct elements: some Collection<Element>) {
    self.init(minimumCapacity: elements.count * 2)
    for element in elements { insert(element) }
  }
}
