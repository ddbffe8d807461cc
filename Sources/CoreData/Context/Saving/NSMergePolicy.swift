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

/// Decides what becomes of objects whose rows others changed meanwhile, and of objects with the same unique values.
///
/// Used on the context's queue, in the middle of a save, as often as the save meets conflicts; version conflicts come
/// first. Subclasses override one of the `resolve` methods, change the objects as they like, and call super.
///
/// `@unchecked Sendable`: immutable.
open class NSMergePolicy: NSObject, @unchecked Sendable {
  /// What the policy does with a conflict.
  public let mergeType: NSMergePolicyType

  /// Makes a policy of a type. The shared ones below do the same.
  public init(merge type: NSMergePolicyType) { mergeType = type }

  /// The save fails, and its error names the conflicts.
  public class var error: NSMergePolicy { shared[0] }
  /// Changes are merged property by property; where both sides changed one, the store's value stays.
  public class var mergeByPropertyStoreTrump: NSMergePolicy { shared[1] }
  /// Changes are merged property by property; where both sides changed one, the context's value is saved.
  public class var mergeByPropertyObjectTrump: NSMergePolicy { shared[2] }
  /// The context's objects replace the rows.
  public class var overwrite: NSMergePolicy { shared[3] }
  /// The context's changes are dropped where they are in conflict.
  public class var rollback: NSMergePolicy { shared[4] }

  private static let shared: [NSMergePolicy] = [
    .errorMergePolicyType, .mergeByPropertyStoreTrumpMergePolicyType, .mergeByPropertyObjectTrumpMergePolicyType,
    .overwriteMergePolicyType, .rollbackMergePolicyType,
  ].map(NSMergePolicy.init(merge:))

  /// Resolves `NSMergeConflict`s and `NSConstraintConflict`s, by the method for each.
  open func resolve(mergeConflicts list: [Any]) throws {
    let versions = list.compactMap { $0 as? NSMergeConflict }
    if !versions.isEmpty { try resolve(optimisticLockingConflicts: versions) }
    let constraints = list.compactMap { $0 as? NSConstraintConflict }
    if !constraints.isEmpty { try resolve(constraintConflicts: constraints) }
  }

  /// Changes the conflicting objects so that the save can be tried again; throws where that is not wanted or possible.
  ///
  /// A row that was deleted meanwhile takes the object along with `rollback` and `mergeByPropertyStoreTrump`;
  /// `overwrite` writes it again; the others throw, since there is nothing to merge with. An object to be deleted whose
  /// row was changed meanwhile stays with `rollback` and `mergeByPropertyStoreTrump`, and goes with the others.
  open func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
    guard mergeType != .errorMergePolicyType else { throw NSMergeConflict.error(list) }
    let rows = try list.map { try $0.stored ?? $0.sourceObject.reference?.context?.rowNow(of: $0.sourceObject) }
    let pending = zip(list.map(\.sourceObject), rows).filter { $0.0.reference?.context != nil && $0.0.hasChanges }
    // A save that fails leaves the context as it was: what cannot be resolved is found before anything is.
    guard pending.allSatisfy({ $0.1 != nil || canDoWithoutRow($0.0) }) else {
      throw NSMergeConflict.error(list)
    }
    for (object, row) in pending {
      guard let context = object.reference?.context else { continue }
      if let row {
        let observed = object.willChangeAllObserved()
        context.rebase(object, on: row, mergeType)
        object.awake(.mergePolicy)
        observed?.finish()
      } else if mergeType == .overwriteMergePolicyType {
        context.insertAgain(object)
      } else {
        context.dropMissing(object)
      }
    }
  }

  /// Whether the policy says what becomes of an object whose row is gone.
  private func canDoWithoutRow(_ object: NSManagedObject) -> Bool {
    switch mergeType {
    case .rollbackMergePolicyType, .mergeByPropertyStoreTrumpMergePolicyType: true
    case .overwriteMergePolicyType: object.snapshot != nil
    default: false
    }
  }

  /// Changes the objects with the same unique values so that one of them has these; throws where that is not wanted.
  ///
  /// With `mergeByPropertyObjectTrump` and `overwrite`, a new object takes over the identity of the row that has its
  /// values, and all of its own values are written there. A stored object that got the values by a change keeps them,
  /// and the row that had them is deleted. With `mergeByPropertyStoreTrump` and `rollback`, the row stays as it is, and
  /// the new object is dropped; what referred to it refers to the row's object. A stored object gets back what it had
  /// (its unique values, or everything). Of several objects of one save with the same values, the last one stays with
  /// the first two policies, and the first one with the others; one that has a row is preferred to a new one.
  open func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
    guard mergeType != .errorMergePolicyType else { throw NSConstraintConflict.error(list) }
    var resolution = ConstraintResolution(mergeType)
    for conflict in list { try resolution.resolve(conflict) }
    resolution.finish()
  }
}

/// `NSMergePolicy.error`, for `NSManagedObjectContext.mergePolicy`.
public var NSErrorMergePolicy: Any { NSMergePolicy.error }
/// `NSMergePolicy.mergeByPropertyStoreTrump`, for `NSManagedObjectContext.mergePolicy`.
public var NSMergeByPropertyStoreTrumpMergePolicy: Any { NSMergePolicy.mergeByPropertyStoreTrump }
/// `NSMergePolicy.mergeByPropertyObjectTrump`, for `NSManagedObjectContext.mergePolicy`.
public var NSMergeByPropertyObjectTrumpMergePolicy: Any { NSMergePolicy.mergeByPropertyObjectTrump }
/// `NSMergePolicy.overwrite`, for `NSManagedObjectContext.mergePolicy`.
public var NSOverwriteMergePolicy: Any { NSMergePolicy.overwrite }
/// `NSMergePolicy.rollback`, for `NSManagedObjectContext.mergePolicy`.
public var NSRollbackMergePolicy: Any { NSMergePolicy.rollback }
