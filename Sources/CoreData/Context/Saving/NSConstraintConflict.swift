/// Several objects with the same values of a uniqueness constraint.
open class NSConstraintConflict: NSObject {
  /// The names of the properties that must be unique together.
  public let constraint: [String]
  /// The values that are there more than once, by property.
  public let constraintValues: [String: Any]
  /// The object whose row has the values already; nil where the objects of one save are in conflict among themselves.
  public let databaseObject: NSManagedObject?
  /// The row's values as they are in the file.
  public let databaseSnapshot: [String: Any]?
  /// The objects of the save that have the values, without `databaseObject`: changed ones first, then new ones.
  public let conflictingObjects: [NSManagedObject]
  /// What the conflicting objects were last fetched or saved with; empty for new ones.
  public let conflictingSnapshots: [[AnyHashable: Any]]
  /// The row of `databaseObject` as it was found.
  private(set) var stored: Snapshot?

  /// Makes a conflict of objects with the same values of a constraint.
  ///
  /// - Parameters:
  ///   - constraint: the names of the properties that must be unique together.
  ///   - databaseObject: the object whose row has the values already; nil for none.
  ///   - databaseSnapshot: that row's values by property name; nil for none.
  ///   - conflictingObjects: the other objects with the values.
  ///   - conflictingSnapshots: dictionaries of what these were last fetched or saved with, in their order.
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

  /// A conflict about nothing.
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

  /// Entities, IDs and the names of the properties, no values.
  open override var description: String {
    let objects = conflictingObjects.map { "\($0.objectID)" }.joined(separator: ", ")
    return "<NSConstraintConflict: \(constraint.joined(separator: ", ")) of \(objects)"
      + (databaseObject.map { " and the stored \($0.objectID)>" } ?? ">")
  }

  static func error(_ conflicts: [NSConstraintConflict]) -> NSError {
    let objects = conflicts.flatMap(\.conflictingObjects)
    let sentences = conflicts.prefix(5).map { conflict in
      "An object of \(conflict.conflictingObjects.first?.layout.name ?? "") with the same "
        + "\(conflict.constraint.joined(separator: ", ")) exists already."
    }
    return CoreDataErrors.error(
      .managedObjectConstraintMerge, sentences.joined(separator: " "),
      [NSPersistentStoreSaveConflictsErrorKey: conflicts, NSAffectedObjectsErrorKey: objects])
  }
}
