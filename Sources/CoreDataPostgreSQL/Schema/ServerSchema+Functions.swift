/// The functions and triggers in a store's schema, which another version of this framework may have made.
extension ServerTables {
  /// Whether the functions of texts are those that this program would make.
  func hasTextFunctions(_ connection: any ServerConnection) throws -> Bool {
    try textVersion(connection) == ServerTextFunctions.version
  }

  private func textVersion(_ connection: any ServerConnection) throws -> String? {
    let function = "\(texts.name(.fold))(text)"
    return try connection.execute(
      "SELECT obj_description(to_regprocedure(\(bind: .text(function)))::oid, 'pg_proc')"
    ).text(0, 0)
  }

  /// Whether the schema lacks functions, or has older ones. Newer ones stay: a program that does not know them
  /// evaluates texts in memory.
  fileprivate func needsFunctions(_ connection: any ServerConnection) throws -> Bool {
    guard let version = try textVersion(connection),
      version.compare(ServerTextFunctions.version, options: .numeric) != .orderedAscending
    else { return true }
    let derivations = derivations
    if derivations.functions.isEmpty { return false }
    let neededBodies = Dictionary(uniqueKeysWithValues: derivations.functions.map { ($0.name, $0.body) })
    return try derivingFunctions(connection) != neededBodies
  }

  /// The functions that keep derived attributes, with their bodies.
  private func derivingFunctions(_ connection: any ServerConnection) throws -> [String: String] {
    let rows = try connection.execute(
      """
      SELECT proname::text, prosrc FROM pg_proc \
      WHERE pronamespace = to_regnamespace(\(bind: .text(address.schema.quotedName))) \
      AND starts_with(proname, \(bind: .text(ServerDerivations.prefix)))
      """)
    var bodiesByName: [String: String] = [:]
    for row in 0..<rows.rowCount { bodiesByName[address.qualified(rows.text(row, 0) ?? "")] = rows.text(row, 1) }
    return bodiesByName
  }

  /// Makes all functions and triggers anew and computes the derived attributes of all rows, in an open transaction.
  func renewFunctions(_ connection: any ServerConnection) throws {
    let version = try textVersion(connection)
    if version.map({ $0.compare(ServerTextFunctions.version, options: .numeric) == .orderedAscending }) ?? true {
      try connection.run(texts.statements.joined(separator: ";\n"))
    }
    let derivations = derivations
    let presentBodies = try derivingFunctions(connection)
    if presentBodies == Dictionary(uniqueKeysWithValues: derivations.functions.map({ ($0.name, $0.body) })) { return }
    let dropping = presentBodies.keys.sorted().map { "DROP FUNCTION \($0)() CASCADE" }
    try connection.run((dropping + derivations.creation + derivations.fills).joined(separator: ";\n"))
  }
}

extension ServerStore {
  /// Makes the functions that an older version of this framework has not made. A user who may not do so goes without
  /// them.
  ///
  /// - Returns: whether the schema has this program's functions of texts.
  static func renewFunctionsIfNeeded(
    _ database: ServerDatabase, _ tables: ServerTables, _ connection: any ServerConnection
  ) throws -> Bool {
    guard try tables.needsFunctions(connection) else { return try tables.hasTextFunctions(connection) }
    do {
      try database.write { writer in
        // Programs that are started together do so one after the other.
        try writer.run(
          "SELECT pg_advisory_xact_lock(\(ServerOpening.lockOfCreation), hashtext(\(tables.address.schema.quotedText)))"
        )
        try tables.renewFunctions(writer)
      }
    } catch let error as ServerError where ["42501", "25006"].contains(error.state) {
      // No right to do so; or the server is a standby.
    }
    return try tables.hasTextFunctions(connection)
  }
}
