/// Columns of one table whose values together no two rows may share. NULL is unlike any other value, NULL included.
struct UniqueConstraint: Hashable {
  let names: [String]
  let columns: [String]
}

extension SQLiteStore {
  /// The constraints that rows of the entity are subject to. An index covers the whole table, so those that are declared by
  /// entities above, beside and below count, where they are about columns that the entity has.
  func uniqueConstraints(of mapping: EntityMapping) -> [UniqueConstraint] {
    var found: [UniqueConstraint] = []
    for other in schema.entities where other.rootNumber == mapping.rootNumber {
      for names in other.entity.uniquenessConstraints.map(other.entity.names(of:)) {
        let constraint = UniqueConstraint(names: names, columns: other.columns(of: names))
        guard constraint.columns.count == names.count, mapping.columns(of: names) == constraint.columns,
          !found.contains(constraint)
        else { continue }
        found.append(constraint)
      }
    }
    return found
  }
}

/// Objects whose unique values other rows or objects have: what SQLite refused, to be made into conflicts.
///
/// `@unchecked Sendable`: thrown and caught on the context's queue.
struct ConstraintViolations: Error, @unchecked Sendable {
  let operation: SaveOperation
  let objects: [NSManagedObject]
  let error: SQLiteError

  /// Who has the same values: objects of the save among themselves, and rows of the file as it is now. On the context's queue.
  func conflicts(in context: NSManagedObjectContext) throws -> [NSConstraintConflict] {
    try CoreDataErrors.translating("Looking for objects with the same unique values") {
      // On the writer, since what this coordinator has just committed must be seen.
      try operation.store.database.withWriter { connection in
        var finder = ConstraintConflictFinder(operation: operation, context: context, connection: connection)
        return try finder.conflicts(of: objects)
      }
    }
  }

  /// - Parameter conflicts: those found; without any, SQLite's sentence has to do.
  func nsError(_ conflicts: [NSConstraintConflict]) -> NSError {
    if !conflicts.isEmpty { return NSConstraintConflict.error(conflicts) }
    return CoreDataErrors.error(
      .managedObjectConstraintMerge, "\(objects[0].objectID.uriString) cannot be saved: \(error.message)",
      [NSAffectedObjectsErrorKey: objects])
  }
}

/// Finds the objects and rows behind violated constraints.
private struct ConstraintConflictFinder {
  let operation: SaveOperation
  let context: NSManagedObjectContext
  let connection: SQLiteConnection
  /// The save's objects that have rows, by key, table by table.
  private var saved: [Int32: [Int64: NSManagedObject]] = [:]

  init(operation: SaveOperation, context: NSManagedObjectContext, connection: SQLiteConnection) {
    self.operation = operation
    self.context = context
    self.connection = connection
    for object in operation.updated + operation.deleted {
      saved[object.objectID.home.table, default: [:]][object.objectID.key] = object
    }
  }

  mutating func conflicts(of objects: [NSManagedObject]) throws -> [NSConstraintConflict] {
    var constraints: [(root: Int, constraint: UniqueConstraint)] = []
    for object in objects {
      let mapping = operation.store.mapping(object.layout.name)
      for constraint in operation.store.uniqueConstraints(of: mapping)
      where !constraints.contains(where: { $0.root == mapping.rootNumber && $0.constraint == constraint }) {
        constraints.append((mapping.rootNumber, constraint))
      }
    }
    return try constraints.flatMap { try conflicts(of: objects, $0.constraint, root: $0.root) }
  }

  private func conflicts(of objects: [NSManagedObject], _ constraint: UniqueConstraint, root: Int) throws
    -> [NSConstraintConflict]
  {
    var wanted: [[SQLiteValue]] = []
    var rivals: [[SQLiteValue]: [NSManagedObject]] = [:]
    for object in objects {
      guard let values = try values(of: object, constraint, root), rivals[values] == nil else { continue }
      wanted.append(values)
      rivals[values] = []
    }
    for object in operation.updated + operation.inserted {
      guard let values = try values(of: object, constraint, root), rivals[values] != nil else { continue }
      rivals[values]?.append(object)
    }
    return try wanted.compactMap { values in
      let (row, stored) = try row(with: values, constraint, root)
      let others = (rivals[values] ?? []).filter { $0 !== row }
      guard others.count > (row == nil ? 1 : 0) else { return nil }
      return NSConstraintConflict(
        constraint: constraint.names, databaseObject: row, stored: stored, conflictingObjects: others)
    }
  }

  /// The object whose row has the values, unless this save deletes it or gives it others.
  private func row(with values: [SQLiteValue], _ constraint: UniqueConstraint, _ root: Int) throws
    -> (NSManagedObject?, Snapshot?)
  {
    let store = operation.store
    guard let table = store.schema.entitiesByNumber[root]?.table else { return (nil, nil) }
    let condition = constraint.columns.map { "\($0) = ?" }.joined(separator: " AND ")
    let found = try connection.rows("SELECT Z_PK, Z_ENT FROM \(table) WHERE \(condition)", values).first
    guard let found, case .integer(let key) = found[0], case .integer(let number) = found[1],
      store.family.homes.indices.contains(Int(number)), let home = store.family.homes[Int(number)]
    else { return (nil, nil) }
    if let object = saved[home.table]?[key] {
      if object.isDeleted { return (nil, nil) }
      if let own = try self.values(of: object, constraint, root), own != values { return (nil, nil) }
    }
    let id = NSManagedObjectID(home: home, key: key)
    let stored = try store.row(id, connection)
    let object = context.object(with: id)
    if let stored { object.supply(stored) }
    return (object, stored)
  }

  /// The values as they are written; nil where one is NULL, or the constraint is not about the object.
  private func values(of object: NSManagedObject, _ constraint: UniqueConstraint, _ root: Int) throws -> [SQLiteValue]?
  {
    let mapping = operation.store.mapping(object.layout.name)
    guard mapping.rootNumber == root, mapping.columns(of: constraint.names) == constraint.columns,
      let snapshot = object.snapshot
    else { return nil }
    let writer = operation.store.writer(mapping.number)
    let permanentIDs = context.permanentIDs
    var values: [SQLiteValue] = []
    for name in constraint.names {
      let path = name.components(separatedBy: ".")
      guard let slot = object.layout.slot(path[0]), let step = writer.steps.first(where: { $0.slot == slot }) else {
        return nil
      }
      // SQLite says what it would store. A to-one may bind its entity, too.
      let statement = try connection.statement("SELECT ?1, ?2")
      defer { statement.reset() }
      // New objects keep their temporary keys here: no row has those.
      if let leaf = mapping.composites[path[0]]?.leaves.first(where: { $0.column.name == name }) {
        StoredValue.bind(snapshot.element(at: name), leaf.attribute, statement, 1)
      } else {
        _ = writer.bind(step, of: snapshot, to: statement, at: 1) { permanentIDs[$0.key]?.relatedKey ?? $0 }
      }
      guard try statement.step() else { return nil }
      switch statement.value(0) {
      case .null: return nil
      case .real(let real) where Int64(exactly: real) != nil: values.append(.integer(Int64(real)))
      case let value: values.append(value)
      }
    }
    return values
  }
}
