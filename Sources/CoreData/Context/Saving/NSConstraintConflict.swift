/// A conflict between objects with the same values of a uniqueness constraint.
///
/// ```swift
/// do { try context.save() } catch let error as NSError where error.code == NSManagedObjectConstraintMergeError {
///   for conflict in error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSConstraintConflict] ?? [] {
///     print(conflict.constraint, "of", conflict.conflictingObjects.map(\.objectID.uriString))
///     if let row = conflict.databaseObject { print("which is stored as", row.objectID.uriString) }
///   }
/// }
/// ```
///
/// The save finds it when the store refuses a row, after validation and after version conflicts. A constraint holds for
/// all rows of its entity's table, those of ancestors and siblings included, and for rows of other programs. Rows in
/// which one of the values is nil do not conflict, as in SQL (https://www.sqlite.org/lang_createindex.html).
///
/// A merge policy gets it in `NSMergePolicy.resolve(constraintConflicts:)`, on the context's queue, during the save.
/// `description` has no values, so that it may be logged; `constraintValues` has them.
///
/// Source: Apple's documentation of `NSConstraintConflict`.
open class NSConstraintConflict: NSObject {
  /// The names of the properties that must be unique together, as the entity's `uniquenessConstraints` list them.
  public let constraint: [String]
  /// The values that occur more than once, by property name; NSNull stands for nil, and an object ID for a related
  /// object.
  public let constraintValues: [String: Any]
  /// The object whose stored row has the values; nil if only objects of one save conflict. It is this context's
  /// instance, and has the row's values.
  public let databaseObject: NSManagedObject?
  /// The row's values in the file, by property name; nil without a row. They are those of the moment when the conflict
  /// was found.
  public let databaseSnapshot: [String: Any]?
  /// The objects of the save that have the values, changed ones before new ones, without `databaseObject`.
  public let conflictingObjects: [NSManagedObject]
  /// The last fetched or saved values of the conflicting objects, in the order of `conflictingObjects`; empty for new
  /// ones.
  public let conflictingSnapshots: [[AnyHashable: Any]]
  /// The row of `databaseObject` when the conflict was found.
  private(set) var stored: Snapshot?

  /// Makes a conflict of objects with the same values of a constraint.
  ///
  /// Programs use it to test a merge policy of their own.
  ///
  /// - Parameters:
  ///   - constraint: the names of the properties that must be unique together.
  ///   - databaseObject: the object whose row has the values already; nil for none.
  ///   - databaseSnapshot: that row's values by property name; nil for none.
  ///   - conflictingObjects: the other objects with the values.
  ///   - conflictingSnapshots: the values with which these were last fetched or saved, as dictionaries in the same
  ///     order.
  public init(
    constraint: [String], databaseObject: NSManagedObject?, databaseSnapshot: [AnyHashable: Any]?,
    conflictingObjects: [NSManagedObject], conflictingSnapshots: [Any]
  ) {
    self.constraint = constraint
    self.databaseObject = databaseObject
    self.databaseSnapshot = databaseSnapshot.map { snapshot in
      Dictionary(
        snapshot.compactMap { key, value in (key.base as? String).map { ($0, value) } },
        uniquingKeysWith: { first, _ in first })
    }
    self.conflictingObjects = conflictingObjects
    self.conflictingSnapshots = conflictingSnapshots.map { $0 as? [AnyHashable: Any] ?? [:] }
    let example = conflictingObjects.first ?? databaseObject
    constraintValues = example.map { $0.access().values(of: $0, constraint) } ?? [:]
  }

  /// A conflict without a constraint and objects.
  public override convenience init() {
    self.init(
      constraint: [], databaseObject: nil, databaseSnapshot: nil, conflictingObjects: [], conflictingSnapshots: [])
  }

  /// - Parameter stored: the row of `databaseObject`.
  convenience init(
    constraint: [String], databaseObject: NSManagedObject?, stored: Snapshot?, conflictingObjects: [NSManagedObject]
  ) {
    self.init(
      constraint: constraint, databaseObject: databaseObject,
      databaseSnapshot: databaseObject.flatMap { stored?.values(of: $0) }, conflictingObjects: conflictingObjects,
      conflictingSnapshots: conflictingObjects.map { object in
        object.isInserted ? [:] : (object.committed ?? object.snapshot)?.values(of: object) ?? [:]
      })
    self.stored = stored
  }

  /// The entities, IDs and names of the properties, without values.
  open override var description: String {
    let objects = conflictingObjects.map { "\($0.objectID)" }.joined(separator: ", ")
    return "<NSConstraintConflict: \(constraint.joined(separator: ", ")) of \(objects)"
      + (databaseObject.map { " and the stored \($0.objectID)>" } ?? ">")
  }

  /// The text for the error's description: the entity and the properties, and no values.
  private var sentence: String {
    let names = constraint.joined(separator: ", ")
    let entity = conflictingObjects.first?.layout.name ?? ""
    guard let stored = databaseObject?.objectID.objectURI?.name else {
      return "\(conflictingObjects.count) objects of \(entity) have the same \(names)."
    }
    return "An object of \(entity) with the same \(names) exists already: \(stored)."
  }

  /// The 133021 for unresolved conflicts. It names three of them at most; the list under the key has all.
  static func error(_ conflicts: [NSConstraintConflict]) -> NSError {
    let objects = conflicts.flatMap(\.conflictingObjects)
    var sentences = conflicts.prefix(3).map(\.sentence)
    if conflicts.count > 3 { sentences.append("So do \(conflicts.count - 3) more.") }
    return CoreDataErrors.error(
      .managedObjectConstraintMerge, sentences.joined(separator: " "),
      [NSPersistentStoreSaveConflictsErrorKey: conflicts, NSAffectedObjectsErrorKey: objects])
  }
}
