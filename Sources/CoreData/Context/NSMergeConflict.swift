/// An object that could not be saved because its row was changed or deleted since it was read.
///
/// Snapshots are the attributes by name, and to-one relationships as object IDs; nil is NSNull.
public final class NSMergeConflict: NSObject {
  /// The object in the context that was to be saved.
  public let sourceObject: NSManagedObject
  /// The row's version now; 0 when it is deleted.
  public let newVersionNumber: Int
  /// The version that the object was read with.
  public let oldVersionNumber: Int
  let old: Snapshot?
  let persisted: Snapshot?

  init(source: NSManagedObject, newVersion: Int64, old: Snapshot?, persisted: Snapshot?) {
    sourceObject = source
    newVersionNumber = Int(newVersion)
    oldVersionNumber = Int(old?.version ?? 0)
    self.old = old
    self.persisted = persisted
  }

  /// The values that the object was last fetched or saved with.
  public var objectSnapshot: [String: Any]? { old.map(values) }

  /// The coordinator keeps no row that could differ from the file: always nil.
  public var cachedSnapshot: [String: Any]? { nil }

  /// The values that the file has now; nil when the row is deleted.
  public var persistedSnapshot: [String: Any]? { persisted.map(values) }

  private func values(_ snapshot: Snapshot) -> [String: Any] {
    var values: [String: Any] = [:]
    for (slot, description) in snapshot.layout.slots.enumerated() where !description.isTransient {
      if description.kind == .toOne {
        values[description.name] =
          snapshot.related(slot).flatMap { sourceObject.reference?.context?.objectID(for: $0, from: sourceObject) }
          ?? NSNull()
      } else {
        values[description.name] = snapshot.value(slot) ?? NSNull()
      }
    }
    return values
  }

  /// Entity, ID and versions, no values.
  public override var description: String {
    "<NSMergeConflict: \(sourceObject.objectID), version \(oldVersionNumber) when read, "
      + (newVersionNumber == 0 ? "deleted now>" : "\(newVersionNumber) now>")
  }
}

/// Several objects with the same values of a uniqueness constraint.
public final class NSConstraintConflict: NSObject {
  public let constraint: [String]
  public let conflictingObjects: [NSManagedObject]
  public let databaseObject: NSManagedObject?

  init(constraint: [String], conflictingObjects: [NSManagedObject], databaseObject: NSManagedObject?) {
    self.constraint = constraint
    self.conflictingObjects = conflictingObjects
    self.databaseObject = databaseObject
  }

  /// The error for a statement that SQLite refused. Its sentence names the columns: "UNIQUE constraint failed: T.A, T.B".
  static func error(_ error: SQLiteError, object: NSManagedObject, mapping: EntityMapping) -> NSError {
    let columns = error.message.split(separator: ":").last?.split(separator: ",").map {
      $0.trimmingCharacters(in: .whitespaces).split(separator: ".").last.map(String.init) ?? ""
    }
    let names = (columns ?? []).map { column in
      mapping.attributes.values.first { $0.column == column }?.name
        ?? mapping.toOnes.values.first { $0.column == column }?.name ?? column
    }
    let conflict = NSConstraintConflict(constraint: names, conflictingObjects: [object], databaseObject: nil)
    return CoreDataErrors.error(
      .managedObjectConstraintMerge,
      "An object of \(mapping.name) with the same \(names.joined(separator: ", ")) exists already.",
      [NSPersistentStoreSaveConflictsErrorKey: [conflict], NSAffectedObjectsErrorKey: [object]])
  }
}

/// The conflicts of one transaction, on their way to the merge policy.
///
/// `@unchecked Sendable`: thrown and caught on the context's queue.
struct MergeConflicts: Error, @unchecked Sendable {
  let conflicts: [NSMergeConflict]

  var nsError: NSError {
    CoreDataErrors.error(
      .managedObjectMerge,
      "\(conflicts.count == 1 ? "An object" : "\(conflicts.count) objects") changed in the store since being read: "
        + conflicts.prefix(5).map { $0.sourceObject.objectID.uriString }.joined(separator: ", "),
      [NSPersistentStoreSaveConflictsErrorKey: conflicts])
  }
}
