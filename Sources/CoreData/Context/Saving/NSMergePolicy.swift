/// The kinds of merge policies: what a save does with rows that other saves have changed. Raw values are Apple's.
///
/// ```swift
/// context.mergePolicy = NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
/// ```
///
/// `NSManagedObjectContext.mergePolicy` says when to use which. Source: Apple's documentation of `NSMergePolicyType`.
public enum NSMergePolicyType: UInt, Sendable {
  /// The save fails, and nothing is written. For programs in which the user or the code decides about each conflict.
  case errorMergePolicyType = 0
  /// Merges by property. If both sides changed one, the store's value stays, and the context's is lost.
  case mergeByPropertyStoreTrumpMergePolicyType = 1
  /// Merges by property. If both sides changed one, the context's value is saved, and the other side's is lost.
  case mergeByPropertyObjectTrumpMergePolicyType = 2
  /// The context's object replaces the row, also where only the other side changed a property.
  case overwriteMergePolicyType = 3
  /// The context's changes are dropped where they are in conflict; all other changes are saved.
  case rollbackMergePolicyType = 4
}

/// Resolves conflicts of a save: objects whose rows other saves changed, and objects with the same unique values.
///
/// ```swift
/// final class LongerTextWins: NSMergePolicy, @unchecked Sendable {
///   init() { super.init(merge: .mergeByPropertyObjectTrumpMergePolicyType) }
///
///   override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
///     for conflict in list {
///       let stored = (conflict.persistedSnapshot ?? conflict.cachedSnapshot)?["title"] as? String ?? ""
///       guard let book = conflict.sourceObject as? Book, stored.count > book.title?.count ?? 0 else { continue }
///       book.title = stored
///     }
///     try super.resolve(optimisticLockingConflicts: list)
///   }
/// }
/// context.mergePolicy = LongerTextWins()
/// ```
///
/// Use `mergeByPropertyObjectTrump` for imports whose values are newer, `mergeByPropertyStoreTrump` for a user
/// interface whose changes may be lost, and `error`, the default, where a program has to decide.
///
/// It is called on the context's queue during a save, each time the save meets conflicts; version conflicts come first.
/// The save is then tried again with what the policy left, up to a hundred times. A subclass overrides one of the
/// `resolve` methods, changes the objects as it likes, and calls super.
///
/// Source: Apple's documentation of `NSMergePolicy`.
///
/// `@unchecked Sendable`: immutable.
open class NSMergePolicy: NSObject, @unchecked Sendable {
  /// The kind of the policy. A subclass has the one that it was made with, which super's methods carry out.
  ///
  /// ```swift
  /// if (context.mergePolicy as? NSMergePolicy)?.mergeType == .errorMergePolicyType { print("conflicts throw") }
  /// ```
  ///
  /// A batch insertion looks at nothing else of the policy: an override of `resolve(constraintConflicts:)` is not
  /// called for it.
  ///
  /// Source: Apple's documentation of `mergeType`.
  public let mergeType: NSMergePolicyType

  /// Makes a policy of a type. The shared ones below do the same; a subclass calls it.
  ///
  /// - Parameter type: what the policy does with conflicts that the subclass has not resolved itself.
  public init(merge type: NSMergePolicyType) { mergeType = type }

  /// The save fails with 133020 or 133021, and its error lists the conflicts under
  /// `NSPersistentStoreSaveConflictsErrorKey`. The context keeps its changes.
  ///
  /// ```swift
  /// context.mergePolicy = NSMergePolicy.error
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .managedObjectMerge {
  ///   context.rollback()  // and let the user repeat the change
  /// }
  /// ```
  ///
  /// Source: Apple's documentation of `error`.
  public class var error: NSMergePolicy { shared[0] }

  /// Changes are merged property by property; where both sides changed one, the store's value stays. A new object with
  /// unique values that a row has is dropped in favour of the row.
  ///
  /// ```swift
  /// container.viewContext.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
  /// ```
  ///
  /// Use it where saved changes of other contexts count more than those of this one. The objects show the merged values
  /// after the save.
  ///
  /// Source: Apple's documentation of `mergeByPropertyStoreTrump`.
  public class var mergeByPropertyStoreTrump: NSMergePolicy { shared[1] }

  /// Changes are merged property by property; where both sides changed one, the context's value is saved. A new object
  /// with unique values that a row has takes over the row: an upsert.
  ///
  /// ```swift
  /// let importer = container.newBackgroundContext()
  /// importer.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
  /// ```
  ///
  /// Use it for imports and background tasks whose values are newer than the stored ones. A row that was deleted
  /// meanwhile is still an error: 133020.
  ///
  /// Source: Apple's documentation of `mergeByPropertyObjectTrump`.
  public class var mergeByPropertyObjectTrump: NSMergePolicy { shared[2] }

  /// The context's objects replace the rows with all their values, those that only the other side changed included. A
  /// row that was deleted meanwhile is written again.
  ///
  /// ```swift
  /// context.mergePolicy = NSMergePolicy.overwrite
  /// try context.save()  // the row is as this context has it
  /// ```
  ///
  /// Use it where the context has all correct values, such as those of a file that is loaded again. What other saves
  /// changed in these objects is lost, and no error tells of it.
  ///
  /// Source: Apple's documentation of `overwrite`.
  public class var overwrite: NSMergePolicy { shared[3] }

  /// The context's changes are dropped where they are in conflict; the objects get the stored values. The other changes
  /// are saved.
  ///
  /// ```swift
  /// context.mergePolicy = NSMergePolicy.rollback
  /// try context.save()
  /// ```
  ///
  /// Use it for work that is repeated anyway, such as filling a cache. `save()` does not tell which changes were
  /// dropped: compare the objects after it.
  ///
  /// Source: Apple's documentation of `rollback`.
  public class var rollback: NSMergePolicy { shared[4] }

  private static let shared: [NSMergePolicy] = [
    .errorMergePolicyType, .mergeByPropertyStoreTrumpMergePolicyType, .mergeByPropertyObjectTrumpMergePolicyType,
    .overwriteMergePolicyType, .rollbackMergePolicyType,
  ].map(NSMergePolicy.init(merge:))

  /// Resolves `NSMergeConflict`s and `NSConstraintConflict`s by the methods below. Throws their errors.
  ///
  /// ```swift
  /// // @unchecked Sendable: it adds no state.
  /// final class CountingPolicy: NSMergePolicy, @unchecked Sendable {
  ///   override func resolve(mergeConflicts list: [Any]) throws {
  ///     print(list.count, "conflicts")
  ///     try super.resolve(mergeConflicts: list)
  ///   }
  /// }
  /// context.mergePolicy = CountingPolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
  /// ```
  ///
  /// - Parameter list: the conflicts that one attempt to save has met, all of one kind.
  /// - Throws: an error ends the save, which throws it as it is. The context keeps its changes.
  open func resolve(mergeConflicts list: [Any]) throws {
    let versions = list.compactMap { $0 as? NSMergeConflict }
    if !versions.isEmpty { try resolve(optimisticLockingConflicts: versions) }
    let constraints = list.compactMap { $0 as? NSConstraintConflict }
    if !constraints.isEmpty { try resolve(constraintConflicts: constraints) }
  }

  /// Changes the conflicting objects so that the save can be tried again. Throws 133020 if the policy cannot or must
  /// not.
  ///
  /// If a row was deleted meanwhile, `rollback` and `mergeByPropertyStoreTrump` drop the object, `overwrite` writes it
  /// again, and the others throw, since there is nothing to merge with. If an object to be deleted has a row that was
  /// changed meanwhile, `rollback` and `mergeByPropertyStoreTrump` keep it, and the others delete it.
  ///
  /// An override that has changed the objects calls super with the conflicts that remain, or with all of them: for a
  /// property that has the stored value now there is nothing left to merge. An override that does not call super has to
  /// make sure that the next attempt does not meet the conflict again.
  ///
  /// - Parameter list: the objects whose rows other saves have changed or deleted.
  /// - Throws: 133020 with the conflicts. No object is changed then.
  ///
  /// Source: Apple's documentation of `resolve(optimisticLockingConflicts:)`.
  open func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
    guard mergeType != .errorMergePolicyType else { throw NSMergeConflict.error(list) }
    let rows = try list.map { try $0.stored ?? $0.sourceObject.reference?.context?.rowNow(of: $0.sourceObject) }
    let pending = zip(list.map(\.sourceObject), rows).filter { object, _ in
      object.reference?.context != nil && object.hasChanges && !object.state.contains(.gone)
    }
    // A failed save leaves the context as it was, so unresolvable conflicts are found before any is resolved.
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

  /// Whether the policy decides about an object whose row is gone.
  private func canDoWithoutRow(_ object: NSManagedObject) -> Bool {
    switch mergeType {
    case .rollbackMergePolicyType, .mergeByPropertyStoreTrumpMergePolicyType: true
    case .overwriteMergePolicyType: object.snapshot != nil
    default: false
    }
  }

  /// Changes the objects with the same unique values so that only one of them has them. Throws 133021 if the policy
  /// must not.
  ///
  /// With `mergeByPropertyObjectTrump` and `overwrite` a new object takes over the identity of the row that has its
  /// values, and all of its own values are written there. A stored object that was changed to the values keeps them,
  /// and the row that had them is deleted. With `mergeByPropertyStoreTrump` and `rollback` the row stays, the new
  /// object is dropped, and references to it lead to the row's object. A stored object gets its former values back: the
  /// unique ones, or all. Of several objects of one save with the same values the last one wins with the first two
  /// policies and the first one with the others; one with a row wins over a new one.
  ///
  /// - Parameter list: the groups of objects with equal values, each with the row that has them, if there is one.
  /// - Throws: 133021 with the conflicts, or the validation error of an object that has to be deleted and must not be.
  ///
  /// Source: Apple's documentation of `resolve(constraintConflicts:)`.
  open func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
    guard mergeType != .errorMergePolicyType else { throw NSConstraintConflict.error(list) }
    var resolution = ConstraintResolution(mergeType)
    for conflict in list { try resolution.resolve(conflict) }
    resolution.finish()
  }
}

/// `NSMergePolicy.error`, for `NSManagedObjectContext.mergePolicy`: a conflict makes the save throw. It is the default.
///
/// ```swift
/// context.mergePolicy = NSErrorMergePolicy
/// ```
///
/// Source: Apple's documentation of `NSErrorMergePolicy`.
public var NSErrorMergePolicy: Any { NSMergePolicy.error }
/// `NSMergePolicy.mergeByPropertyStoreTrump`, for `NSManagedObjectContext.mergePolicy`: where both sides changed a
/// property, the stored value stays.
///
/// ```swift
/// container.viewContext.mergePolicy = NSMergeByPropertyStoreTrumpMergePolicy
/// ```
///
/// Source: Apple's documentation of `NSMergeByPropertyStoreTrumpMergePolicy`.
public var NSMergeByPropertyStoreTrumpMergePolicy: Any { NSMergePolicy.mergeByPropertyStoreTrump }
/// `NSMergePolicy.mergeByPropertyObjectTrump`, for `NSManagedObjectContext.mergePolicy`: where both sides changed a
/// property, the context's value is saved.
///
/// ```swift
/// let importer = container.newBackgroundContext()
/// importer.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
/// ```
///
/// Source: Apple's documentation of `NSMergeByPropertyObjectTrumpMergePolicy`.
public var NSMergeByPropertyObjectTrumpMergePolicy: Any { NSMergePolicy.mergeByPropertyObjectTrump }
/// `NSMergePolicy.overwrite`, for `NSManagedObjectContext.mergePolicy`: the rows become as this context has the
/// objects.
///
/// Source: Apple's documentation of `NSOverwriteMergePolicy`.
public var NSOverwriteMergePolicy: Any { NSMergePolicy.overwrite }
/// `NSMergePolicy.rollback`, for `NSManagedObjectContext.mergePolicy`: objects in conflict become as the store has
/// them.
///
/// Source: Apple's documentation of `NSRollbackMergePolicy`.
public var NSRollbackMergePolicy: Any { NSMergePolicy.rollback }
