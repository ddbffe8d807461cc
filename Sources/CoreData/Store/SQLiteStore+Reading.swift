/// Rows by key, and the members of to-many relationships. Everything else is a fetch.
extension SQLiteStore {
  /// The row of an ID, read from the file; nil where there is none.
  func row(_ id: NSManagedObjectID) throws -> Snapshot? {
    let epoch = rowCache.epoch
    let snapshot = try CoreDataErrors.translating("Reading \(id.uriString)") {
      try database.read { try row(id, $0) }
    }
    if let snapshot { rowCache.add([(id.key, id.home.table, snapshot)], since: epoch) }
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

  /// Gives the body each member of a to-many, in order where it has one.
  func members(
    of id: NSManagedObjectID, _ relationship: NSRelationshipDescription,
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
    let epoch = rowCache.epoch
    var rows: [(key: Int64, table: Int32, snapshot: Snapshot)] = []
    try CoreDataErrors.translating("Reading the members of \(id.uriString)") {
      try database.read { connection in
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
    rowCache.add(rows, since: epoch)
  }

  /// Gives the body the rows of the keys that are there, a few hundred to a query, in no order.
  func rows(_ keys: [Int64], of home: EntityHome, _ body: (Int64, Snapshot) -> Void) throws {
    let plan = plan(home.layout.name, includesSubentities: false)
    let table = mapping(home.layout.name).table
    try CoreDataErrors.translating("Reading rows of \(home.layout.name)") {
      try database.read { connection in
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
