/// What a merge policy does. Raw values are Apple's.
public enum NSMergePolicyType: UInt, Sendable {
  /// The save fails.
  case errorMergePolicyType = 0
  /// Property by property; where both changed, the store's value stays.
  case mergeByPropertyStoreTrumpMergePolicyType = 1
  /// Property by property; where both changed, the context's value is saved.
  case mergeByPropertyObjectTrumpMergePolicyType = 2
  /// The context's object replaces the row.
  case overwriteMergePolicyType = 3
  /// The context's changes are dropped.
  case rollbackMergePolicyType = 4
}

/// Decides what becomes of objects whose rows others changed meanwhile. Subclasses override `resolve(mergeConflicts:)`.
///
/// `@unchecked Sendable`: immutable.
open class NSMergePolicy: NSObject, @unchecked Sendable {
  public let mergeType: NSMergePolicyType

  public init(merge type: NSMergePolicyType) { mergeType = type }

  public class var error: NSMergePolicy { shared[0] }
  public class var mergeByPropertyStoreTrump: NSMergePolicy { shared[1] }
  public class var mergeByPropertyObjectTrump: NSMergePolicy { shared[2] }
  public class var overwrite: NSMergePolicy { shared[3] }
  public class var rollback: NSMergePolicy { shared[4] }

  private static let shared: [NSMergePolicy] = [
    .errorMergePolicyType, .mergeByPropertyStoreTrumpMergePolicyType, .mergeByPropertyObjectTrumpMergePolicyType,
    .overwriteMergePolicyType, .rollbackMergePolicyType,
  ].map(NSMergePolicy.init(merge:))

  /// Changes the conflicting objects so that the save can be tried again; throws where that is not wanted or possible.
  ///
  /// A row that was deleted meanwhile is a conflict that only `rollback` and store-trump resolve: the object goes too.
  open func resolve(mergeConflicts list: [Any]) throws {
    let conflicts = list.compactMap { $0 as? NSMergeConflict }
    guard mergeType != .errorMergePolicyType else { throw MergeConflicts(conflicts: conflicts).nsError }
    for conflict in conflicts {
      let object = conflict.sourceObject
      guard let context = object.reference?.context else { continue }
      guard let stored = conflict.persisted else {
        guard mergeType == .rollbackMergePolicyType || mergeType == .mergeByPropertyStoreTrumpMergePolicyType else {
          throw MergeConflicts(conflicts: conflicts).nsError
        }
        context.dropMissing(object)
        continue
      }
      context.rebase(object, on: stored, mergeType)
    }
  }
}

extension NSManagedObjectContext {
  /// Puts an object's changes on top of the row as it is now, as far as the policy lets them stand.
  final func rebase(_ object: NSManagedObject, on stored: Snapshot, _ policy: NSMergePolicyType) {
    event.refreshed.insert(object)
    scheduleEndOfEvent()
    guard policy != .rollbackMergePolicyType, let snapshot = object.snapshot else {
      updated.remove(object)
      deleted.remove(object)
      object.state.subtract([.updated, .deleted, .ownsSnapshot])
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

  /// Forgets an object whose row is gone.
  final func dropMissing(_ object: NSManagedObject) {
    updated.remove(object)
    deleted.remove(object)
    object.state.subtract([.updated, .deleted])
    object.state.insert(.gone)
    registry.remove(object.objectID.key, object.objectID.home.table)
    object.reference = nil
    event.deleted.insert(object)
  }
}

public var NSErrorMergePolicy: Any { NSMergePolicy.error }
public var NSMergeByPropertyStoreTrumpMergePolicy: Any { NSMergePolicy.mergeByPropertyStoreTrump }
public var NSMergeByPropertyObjectTrumpMergePolicy: Any { NSMergePolicy.mergeByPropertyObjectTrump }
public var NSOverwriteMergePolicy: Any { NSMergePolicy.overwrite }
public var NSRollbackMergePolicy: Any { NSMergePolicy.rollback }
