/// A conflict: an object cannot be saved because its row was changed or deleted since it was read.
///
/// There are two kinds, as in Apple's documentation. If another context of the same coordinator saved, `cachedSnapshot`
/// is the coordinator's current row and `persistedSnapshot` is nil. If another process or coordinator saved,
/// `cachedSnapshot` is the row as it was once read and `persistedSnapshot` the file's current one. For a deleted row
/// `newVersionNumber` is 0, `persistedSnapshot` is nil, and `cachedSnapshot` is the row as it was, if the coordinator's
/// cache still has it.
///
/// Snapshots hold attributes by name, and to-one relationships as object IDs; NSNull stands for nil. The cache is
/// bounded: for a row that left it, `cachedSnapshot` has the values with which the object was read.
///
/// ```swift
/// do { try context.save() } catch let error as NSError where error.code == NSManagedObjectMergeError {
///   for case let conflict as NSMergeConflict in error.userInfo["conflictList"] as? [Any] ?? [] {
///     let mine = conflict.sourceObject.changedValues()
///     let theirs = conflict.persistedSnapshot ?? conflict.cachedSnapshot
///     print(conflict.newVersionNumber == 0 ? "deleted" : "changed", mine.keys, theirs ?? [:])
///   }
/// }
/// ```
///
/// A merge policy gets it in `NSMergePolicy.resolve(optimisticLockingConflicts:)`, on the context's queue, during the
/// save. To-many relationships are in no snapshot: they belong to the rows at the other end.
///
/// Source: Apple's documentation of `NSMergeConflict`.
open class NSMergeConflict: NSObject {
  /// The object that was to be saved. Its changed values are what the context wants to write.
  public let sourceObject: NSManagedObject
  /// The values with which the object was last fetched or saved: what both sides started from. Nil if the object was
  /// never read.
  public let objectSnapshot: [String: Any]?
  /// The row in the coordinator's cache. If another context of the coordinator saved, these are its values. For a
  /// deleted row that the cache does not have it is nil.
  public let cachedSnapshot: [String: Any]?
  /// The row in the file, if it differs from the coordinator's; else nil. If another process saved, these are its
  /// values.
  public let persistedSnapshot: [String: Any]?
  /// The row's current version; 0 if it was deleted. Each save of a row adds one.
  public let newVersionNumber: Int
  /// The version with which the object was read.
  public let oldVersionNumber: Int
  /// The row when the conflict was found; nil if it was gone, and for conflicts that a program made.
  let stored: Snapshot?

  /// Makes a conflict between an object and its row.
  ///
  /// Programs use it to test a merge policy of their own.
  ///
  /// - Parameters:
  ///   - srcObject: the object that the context saves.
  ///   - newvers: the version of the row now; 0 for a deleted one.
  ///   - oldvers: the version that the object was read with.
  ///   - cachesnap: the values that the coordinator's cache has; nil for none.
  ///   - persnap: the values that the file has; nil if the coordinator has the same.
  public init(
    source srcObject: NSManagedObject, newVersion newvers: Int, oldVersion oldvers: Int,
    cachedSnapshot cachesnap: [String: Any]?, persistedSnapshot persnap: [String: Any]?
  ) {
    sourceObject = srcObject
    newVersionNumber = newvers
    oldVersionNumber = oldvers
    objectSnapshot = (srcObject.committed ?? srcObject.snapshot)?.values(of: srcObject)
    cachedSnapshot = cachesnap
    persistedSnapshot = persnap
    stored = nil
  }

  /// A conflict that a store has found.
  ///
  /// Apple's two kinds are told apart by the cache: if its row is the current one, this coordinator made the change (or
  /// has read it), and there is nothing else in the file.
  ///
  /// - Parameters:
  ///   - stored: the current row; nil for none.
  ///   - cached: the row in the coordinator's cache; nil for none.
  init(source: NSManagedObject, stored: Snapshot?, cached: Snapshot?) {
    let old = source.committed ?? source.snapshot
    sourceObject = source
    newVersionNumber = Int(stored?.version ?? 0)
    oldVersionNumber = Int(old?.version ?? 0)
    objectSnapshot = old?.values(of: source)
    self.stored = stored
    if let stored {
      let isKnown = cached?.version == stored.version
      cachedSnapshot = (isKnown ? stored : cached ?? old)?.values(of: source)
      persistedSnapshot = isKnown ? nil : stored.values(of: source)
    } else {
      cachedSnapshot = cached?.values(of: source)
      persistedSnapshot = nil
    }
  }

  /// The 133020 for unresolved conflicts. It names five objects at most; the list under the key has all.
  static func error(_ conflicts: [NSMergeConflict]) -> NSError {
    CoreDataErrors.error(
      .managedObjectMerge,
      "\(conflicts.count == 1 ? "An object" : "\(conflicts.count) objects") changed in the store since being read: "
        + conflicts.prefix(5).map { $0.sourceObject.objectID.uriString }.joined(separator: ", "),
      [NSPersistentStoreSaveConflictsErrorKey: conflicts])
  }

  /// The entity, ID and versions, without values.
  open override var description: String {
    "<NSMergeConflict: \(sourceObject.objectID), version \(oldVersionNumber) when read, "
      + (newVersionNumber == 0 ? "deleted now>" : "\(newVersionNumber) now>")
  }
}

extension Snapshot {
  /// Attributes by name, and to-one relationships as object IDs; NSNull stands for nil.
  ///
  /// - Parameter names: the names of the properties, or key paths of a composite's elements; nil for all stored ones.
  func values(of object: NSManagedObject, _ names: [String]? = nil) -> [String: Any] {
    var values: [String: Any] = [:]
    for (slot, description) in layout.slots.enumerated()
    where names?.contains(description.name) ?? !description.isTransient {
      if description.kind == .toOne {
        let id = related(slot).flatMap { object.reference?.context?.objectID(for: $0, from: object) }
        values[description.name] = id ?? NSNull()
      } else {
        values[description.name] = value(slot) ?? NSNull()
      }
    }
    for name in names ?? [] where name.contains(".") { values[name] = element(at: name) ?? NSNull() }
    return values
  }
}

extension Snapshot {
  /// The value of a composite attribute's element, by key path.
  func element(at keyPath: String) -> Any? {
    let path = keyPath.components(separatedBy: ".")
    guard let slot = layout.slot(path[0]), let elements = value(slot) as? [String: Any] else { return nil }
    return CompositeValue.value(at: path[1...], in: elements)
  }
}
