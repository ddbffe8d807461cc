/// Rows by key, and the members of to-many relationships. Everything else is a fetch.
extension SQLiteStore {
  func row(_ id: NSManagedObjectID, in generation: QueryGeneration?) throws -> Snapshot? {
    let cache = cache(generation)
    let epoch = cache.epoch
    let snapshot = try CoreDataErrors.translating("Reading \(id.uriString)") {
      try read(generation) { try row(id, $0) }
    }
    if let snapshot { cache.add([(id.key, id.home.table, snapshot)], since: epoch) }
    return snapshot
  }

  /// The row of an ID as the connection sees it.
  func row(_ id: NSManagedObjectID, _ connection: SQLiteConnection) throws -> Snapshot? {
    let number = id.home.number
    let statement = try connection.statement(rowSQL[number] ?? "")
    statement.bind(id.key, at: 1)
    defer { statement.reset() }
    let plan = plan(id.home.layout.name, includesSubentities: false)
    guard try statement.step(), let decoder = plan.decoder(statement) else { return nil }
    return decoder.decode(statement)
  }

  func members(
    of id: NSManagedObjectID, _ relationship: NSRelationshipDescription, in generation: QueryGeneration?,
    _ body: (EntityHome, Int64, Snapshot) -> Void
  ) throws {
    guard let place = mapping(id.home.layout.name).toManys[relationship.name] else { return }
    let destination: String
    let from: String
    switch place {
    case .foreignKey(let name, let table, let inverse):
      destination = name
      let order = inverse.orderColumn.map { " ORDER BY t.\($0)" } ?? ""
      from = "FROM \(table) t WHERE t.\(inverse.column) = ?\(order)"
    case .join(let name, let table, let ownerColumn, let destinationColumn, let orderColumn):
      destination = name
      let order = orderColumn.map { " ORDER BY j.\($0)" } ?? ""
      from =
        "FROM \(table) j JOIN \(mapping(name).table) t ON t.Z_PK = j.\(destinationColumn) WHERE j.\(ownerColumn) = ?\(order)"
    }
    let plan = plan(destination, includesSubentities: true)
    let sql = "SELECT \(plan.columnList(alias: "t")) \(from)"
    let cache = cache(generation)
    let epoch = cache.epoch
    var rows: [(key: Int64, table: Int32, snapshot: Snapshot)] = []
    try CoreDataErrors.translating("Reading the members of \(id.uriString)") {
      try read(generation) { connection in
        let statement = try connection.statement(sql)
        statement.bind(id.key, at: 1)
        defer { statement.reset() }
        while try statement.step() {
          guard let decoder = plan.decoder(statement) else { continue }
          let snapshot = decoder.decode(statement)
          body(decoder.home, statement.integer(0), snapshot)
          rows.append((statement.integer(0), decoder.home.table, snapshot))
        }
      }
    }
    cache.add(rows, since: epoch)
  }

  func members(
    ofEach keys: [Int64], _ home: EntityHome, _ relationship: NSRelationshipDescription,
    in generation: QueryGeneration?,
    _ body: (Int64, EntityHome, Int64, Snapshot) -> Void
  ) throws {
    guard let place = mapping(home.layout.name).toManys[relationship.name] else { return }
    let (destination, from, owner, order) =
      switch place {
      case .foreignKey(let name, let table, let inverse):
        (name, "\(table) t", "t.\(inverse.column)", inverse.orderColumn.map { "t.\($0)" })
      case .join(let name, let table, let ownerColumn, let destinationColumn, let orderColumn):
        (
          name, "\(table) j JOIN \(mapping(name).table) t ON t.Z_PK = j.\(destinationColumn)", "j.\(ownerColumn)",
          orderColumn.map { "j.\($0)" }
        )
      }
    let plan = plan(destination, includesSubentities: true)
    try CoreDataErrors.translating("Reading \(home.layout.name).\(relationship.name) of several objects") {
      try read(generation) { connection in
        for start in stride(from: 0, to: keys.count, by: 256) {
          let chunk = keys[start..<Swift.min(start + 256, keys.count)]
          let places = Array(repeating: "?", count: chunk.count).joined(separator: ",")
          let statement = try connection.statement(
            """
            SELECT \(plan.columnList(alias: "t")), \(owner) FROM \(from) WHERE \(owner) IN (\(places)) \
            ORDER BY \(([owner] + (order.map { [$0] } ?? [])).joined(separator: ", "))
            """)
          statement.bind(chunk.map { .integer($0) })
          defer { statement.reset() }
          let ownerColumn = statement.columnCount - 1
          while try statement.step() {
            guard let decoder = plan.decoder(statement) else { continue }
            body(statement.integer(ownerColumn), decoder.home, statement.integer(0), decoder.decode(statement))
          }
        }
      }
    }
  }

  /// A few hundred to a query.
  func rows(
    _ keys: [Int64], of home: EntityHome, in generation: QueryGeneration?, _ body: (Int64, Snapshot) -> Void
  ) throws {
    let plan = plan(home.layout.name, includesSubentities: false)
    let table = mapping(home.layout.name).table
    try CoreDataErrors.translating("Reading rows of \(home.layout.name)") {
      try read(generation) { connection in
        for start in stride(from: 0, to: keys.count, by: 256) {
          let chunk = keys[start..<Swift.min(start + 256, keys.count)]
          let places = Array(repeating: "?", count: chunk.count).joined(separator: ",")
          let statement = try connection.statement(
            "SELECT \(plan.columnList(alias: "t")) FROM \(table) t WHERE t.Z_PK IN (\(places)) AND t.Z_ENT = \(home.number)"
          )
          statement.bind(chunk.map { .integer($0) })
          defer { statement.reset() }
          while try statement.step() {
            guard let decoder = plan.decoder(statement) else { continue }
            body(statement.integer(0), decoder.decode(statement))
          }
        }
      }
    }
  }
}
