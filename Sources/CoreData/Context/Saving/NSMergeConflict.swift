/// An object that could not be saved because its row was changed or deleted since it was read.
///
/// There are two kinds, as in Apple's documentation. Where another context of the same coordinator saved, the
/// coordinator's cache has the row as it is now: `cachedSnapshot` is that, and `persistedSnapshot` is nil. Where
/// another process or coordinator saved, `cachedSnapshot` is what was read once and `persistedSnapshot` is what the
/// file has now. A deleted row has no values now, and the version 0.
///
/// Snapshots are the attributes by name, and to-one relationships as object IDs; nil is NSNull.
open class NSMergeConflict: NSObject {
  /// The object in the context that was to be saved.
  public let sourceObject: NSManagedObject
  /// The values that the object was last fetched or saved with.
  public let objectSnapshot: [String: Any]?
  /// The row as the coordinator has it.
  public let cachedSnapshot: [String: Any]?
  /// The row as the file has it, if that is not what the coordinator has.
  public let persistedSnapshot: [String: Any]?
  /// The row's version now; 0 when it is deleted.
  public let newVersionNumber: Int
  /// The version that the object was read with.
  public let oldVersionNumber: Int
  /// The row as it was found.
  let stored: Snapshot?

  /// Makes a conflict between an object and its row.
  ///
  /// - Parameters:
  ///   - srcObject: the object that is to be saved.
  ///   - newvers: the version of the row now; 0 for a deleted one.
  ///   - oldvers: the version that the object was read with.
  ///   - cachesnap: the values that the coordinator has; nil if the row is deleted.
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

  /// - Parameters:
  ///   - stored: the row as it is now; nil where there is none.
  ///   - cached: the row as the coordinator's cache has it; nil where it has none.
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

  static func error(_ conflicts: [NSMergeConflict]) -> NSError {
    CoreDataErrors.error(
      .managedObjectMerge,
      "\(conflicts.count == 1 ? "An object" : "\(conflicts.count) objects") changed in the store since being read: "
        + conflicts.prefix(5).map { $0.sourceObject.objectID.uriString }.joined(separator: ", "),
      [NSPersistentStoreSaveConflictsErrorKey: conflicts])
  }

  /// Entity, ID and versions, no values.
  open override var description: String {
    "<NSMergeConflict: \(sourceObject.objectID), version \(oldVersionNumber) when read, "
      + (newVersionNumber == 0 ? "deleted now>" : "\(newVersionNumber) now>")
  }
}

extension Snapshot {
  /// The attributes by name, and to-one relationships as object IDs; nil is NSNull.
  ///
  /// - Parameter names: the properties wanted, elements of composite attributes by key path; nil for all that are
  ///   stored.
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
  /// The value of an element of a composite attribute, by key path.
  func element(at keyPath: String) -> Any? {
    let path = keyPath.components(separatedBy: ".")
    guard let slot = layout.slot(path[0]), let elements = value(slot) as? [String: Any] else { return nil }
    return CompositeValue.value(at: path[1...], in: elements)
  }
}
