/// New rows of one entity, from dictionaries or from one object that a handler fills again and again.
final class BatchInsertion {
  /// What becomes of a row with unique values that are there already.
  enum OnDuplicate {
    case fail, skip, update

    init(_ policy: NSMergePolicyType) {
      self =
        switch policy {
        case .errorMergePolicyType: .fail
        case .mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType: .skip
        case .mergeByPropertyObjectTrumpMergePolicyType, .overwriteMergePolicyType: .update
        }
    }
  }

  private let store: SQLiteStore
  private let connection: SQLiteConnection
  private let recorder: HistoryRecorder?
  private let mapping: EntityMapping
  private let home: EntityHome
  private let writer: RowWriter
  private let layout: EntityLayout
  private let keepsIDs: Bool
  private let onDuplicate: OnDuplicate
  /// The columns of each constraint that the file's indexes keep.
  private let constraints: [[String]]
  /// Attributes that must have a value.
  private let mandatorySlots: [Int]
  /// The row being made.
  private let row: Snapshot
  /// Which steps the row names, where that matters.
  private var named: [Bool]
  private var lastNamed: [Bool] = []
  private var statement: SQLiteStatement?
  private var nextKey: Int64 = 0
  private var result = BatchResult()

  init(
    _ store: SQLiteStore, _ entityName: String, onDuplicate: OnDuplicate, keepsIDs: Bool,
    _ connection: SQLiteConnection,
    _ recorder: HistoryRecorder?
  ) throws {
    self.store = store
    self.recorder = recorder
    self.connection = connection
    self.keepsIDs = keepsIDs
    mapping = store.mapping(entityName)
    guard let home = store.family.homes[mapping.number] else {
      throw CoreDataErrors.error(.persistentStoreOperation, "The store holds no entity \(entityName).")
    }
    self.home = home
    layout = home.layout
    writer = store.writer(mapping.number)
    constraints = onDuplicate == .fail ? [] : try store.uniqueColumns(of: mapping, connection)
    self.onDuplicate = constraints.isEmpty ? .fail : onDuplicate
    mandatorySlots = writer.steps.map(\.slot).filter { [layout] in
      layout.slots[$0].kind != .toOne && !layout.slots[$0].isOptional
    }
    row = layout.defaults.copy()
    named = Array(repeating: false, count: layout.slotCount)
  }

  func run(_ request: NSBatchInsertRequest) throws -> BatchResult {
    let table = store.schema.primaryKeyTable
    let root: [SQLiteValue] = [.integer(Int64(mapping.rootNumber))]
    let last = try connection.integer("SELECT Z_MAX FROM \(table) WHERE Z_ENT = ?", root)
    guard let last else {
      throw CoreDataErrors.error(
        .persistentStoreIncompatibleSchema, "\(table) has no row for the entity number \(mapping.rootNumber).")
    }
    nextKey = last + 1
    defer { statement = nil }
    try insertAll(request)
    try connection.execute(
      "UPDATE \(table) SET Z_MAX = ? WHERE Z_ENT = ?", [.integer(nextKey - 1)] + root)
    return result
  }

  private func insertAll(_ request: NSBatchInsertRequest) throws {
    if let handler = request.managedObjectHandler { return try insert(from: handler) }
    if let handler = request.dictionaryHandler {
      let dictionary = NSMutableDictionary()
      while !handler(dictionary) {
        reset()
        for (key, value) in dictionary { try set(value, forKey: key as? String ?? "\(key)") }
        try insert()
        dictionary.removeAllObjects()
      }
      return
    }
    for dictionary in request.objectsToInsert ?? [] {
      reset()
      for (key, value) in dictionary { try set(value, forKey: key) }
      try insert()
    }
  }

  private func insert(from handler: (NSManagedObject) -> Bool) throws {
    let object = layout.objectClass.init(unborn: layout.entity)
    while true {
      object.snapshot = nil
      object.committed = nil
      object.toManys = []
      object.state = [.fault, .unborn]
      if handler(object) { return }
      guard object.toManys.allSatisfy({ !($0?.hasChanges ?? false) }) else {
        throw failure("A batch insertion cannot set relationships.")
      }
      reset()
      let values = object.access()
      for slot in layout.slots.indices {
        guard layout.slots[slot].kind != .toOne else {
          if values.isNil(slot) { continue }
          throw failure("A batch insertion cannot set relationships, such as \(layout.slots[slot].name).")
        }
        row.assign(slot: slot, from: values)
        named[slot] = true
      }
      try insert()
    }
  }

  // MARK: One row

  private func reset() {
    for slot in 0..<layout.slotCount {
      row.assign(slot: slot, from: layout.defaults)
      named[slot] = false
    }
  }

  private func set(_ value: Any, forKey key: String) throws {
    guard case .slot(let slot)? = layout.places[key], layout.slots[slot].kind != .toOne else {
      throw failure(
        layout.places[key] == nil
          ? "The entity \(layout.name) has no attribute \"\(key)\"."
          : "A batch insertion cannot set relationships, such as \(layout.name).\(key).")
    }
    named[slot] = true
    if value is NSNull { return row.setNil(slot) }
    guard row.assignConverted(value, slot: slot) else {
      throw failure(
        "\(layout.name).\(key) holds \(layout.slots[slot].attributeType.valueDescription), and was given a "
          + "\(type(of: value)).")
    }
  }

  private func failure(_ message: String) -> NSError { CoreDataErrors.error(.persistentStoreOperation, message) }

  private func insert() throws {
    for slot in mandatorySlots where row.isNil(slot) {
      throw CoreDataErrors.error(
        .validationMissingMandatoryProperty, "\(layout.name).\(layout.slots[slot].name) needs a value.",
        [NSValidationKeyErrorKey: layout.slots[slot].name])
    }
    let statement = try currentStatement()
    statement.bind(nextKey, at: 1)
    statement.bind(Int64(mapping.number), at: 2)
    statement.bind(1 as Int64, at: 3)
    var index: Int32 = 4
    for step in writer.steps { index = writer.bind(step, of: row, to: statement, at: index) { $0 } }
    do {
      try run(statement)
    } catch let error as SQLiteError where error.isViolatedUniqueIndex {
      throw CoreDataErrors.constraintError(error, mapping)
    }
  }

  private func run(_ statement: SQLiteStatement) throws {
    guard onDuplicate != .fail else {
      try statement.run()
      return try note(nextKey)
    }
    // Without a row nothing was written: the key is free for the next.
    guard try statement.step() else { return statement.reset() }
    let written = statement.integer(0)
    try statement.run()
    try note(written)
  }

  private func note(_ key: Int64) throws {
    if key == nextKey {
      nextKey += 1
      try recorder?.noteInsert(number: mapping.number, key: key)
    } else if let recorder {
      let names = layout.slots.indices.lazy.filter { [named] in named[$0] }.map { [layout] in layout.slots[$0].name }
      try recorder.noteUpdate(number: mapping.number, key: key, changed: names)
    }
    result.count += 1
    if keepsIDs { result.ids.append(NSManagedObjectID(home: home, key: key)) }
  }

  // MARK: SQL

  private func currentStatement() throws -> SQLiteStatement {
    if let statement, onDuplicate != .update || named == lastNamed { return statement }
    lastNamed = named
    let made = try connection.statement(writer.insertSQL + conflictClause)
    statement = made
    return made
  }

  /// Each constraint is named: any other conflict is an error, of keys above all.
  ///
  /// Source: https://www.sqlite.org/lang_upsert.html, several ON CONFLICT clauses; https://www.sqlite.org/lang_returning.html.
  private var conflictClause: String {
    let action: String
    switch onDuplicate {
    case .fail: return ""
    case .skip: action = "DO NOTHING"
    case .update:
      let columns = writer.steps.indices.filter { named[writer.steps[$0].slot] }.flatMap { writer.columns[$0] }
      let assignments = columns.map { ", \($0) = excluded.\($0)" }.joined()
      action = "DO UPDATE SET Z_OPT = Z_OPT + 1\(assignments)"
    }
    return constraints.map { " ON CONFLICT (\($0.joined(separator: ", "))) \(action)" }.joined() + " RETURNING Z_PK"
  }
}

extension SQLiteStore {
  /// The columns of the uniqueness constraints that the file has a unique index for. Not every file of Apple's has it.
  fileprivate func uniqueColumns(of mapping: EntityMapping, _ connection: SQLiteConnection) throws -> [[String]] {
    let constraints = uniqueConstraints(of: mapping)
    if constraints.isEmpty { return [] }
    let rows = try connection.rows(
      """
      SELECT list.name, info.name FROM pragma_index_list(?) AS list, pragma_index_info(list.name) AS info \
      WHERE list."unique" ORDER BY list.name, info.seqno
      """, [.text(mapping.table)])
    var indexes: [String: Set<String>] = [:]
    for row in rows {
      if case .text(let index) = row[0], case .text(let column) = row[1] { indexes[index, default: []].insert(column) }
    }
    return constraints.map(\.columns).filter { columns in indexes.values.contains(Set(columns)) }
  }
}

extension CoreDataErrors {
  /// The error for a row that SQLite refused. Its sentence names the columns: "UNIQUE constraint failed: T.A, T.B".
  static func constraintError(_ error: SQLiteError, _ mapping: EntityMapping) -> NSError {
    let columns = (error.message.split(separator: ":").last ?? "").split(separator: ",").map {
      $0.trimmingCharacters(in: .whitespaces).split(separator: ".").last.map(String.init) ?? ""
    }
    let names = columns.map { column in
      mapping.attributes.values.first { $0.column == column }?.name
        ?? mapping.toOnes.values.first { $0.column == column }?.name ?? column
    }
    return CoreDataErrors.error(
      .managedObjectConstraintMerge,
      "An object of \(mapping.name) with the same \(names.joined(separator: ", ")) exists already.",
      [NSUnderlyingErrorKey: NSError(domain: NSSQLiteErrorDomain, code: Int(error.code))])
  }
}
