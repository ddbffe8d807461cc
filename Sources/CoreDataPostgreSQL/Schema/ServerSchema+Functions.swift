/// The functions and triggers in a store's schema, which another version of this framework may have made.
///
/// | the schema has | a program that may write does this at the opening |
/// |---|---|
/// | its functions | nothing |
/// | older functions of texts, or none | replaces them |
/// | newer ones | leaves them, and evaluates texts in memory |
/// | other functions of derived attributes | drops them with their triggers, makes them, computes all rows |
extension ServerTables {
  /// Whether the functions of texts are those that this program would make. If not, predicates with `[c]` and `[d]` are
  /// evaluated in memory: `SQLDialect.postgreSQLWithoutFunctions`.
  func hasTextFunctions(_ connection: any ServerConnection) throws -> Bool {
    try textVersion(connection) == ServerTextFunctions.version
  }

  /// The version in the comment of a function; nil for a schema without the functions.
  ///
  /// ```text
  /// SELECT obj_description(to_regprocedure($1)::oid, 'pg_proc')     $1 = '"app"."_fold"(text)'
  /// ```
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

  /// The functions that keep derived attributes, with their bodies. The body itself is compared, so a change of a
  /// derivation in the model and one of this framework are found in the same way.
  ///
  /// ```text
  /// SELECT proname::text, prosrc FROM pg_proc WHERE pronamespace = to_regnamespace($1) AND starts_with(proname, $2)
  /// $1 = '"app"', $2 = '_derive_'
  /// ```
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
  /// DROP FUNCTION … CASCADE takes the triggers along. CREATE TRIGGER locks its table against writers (SHARE ROW
  /// EXCLUSIVE), so saves of other programs wait for the end of it.
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
  /// Makes the functions that an older version of this framework has not made. A user who may not do so (42501), or
  /// whose server is a standby (25006), goes without them.
  ///
  /// Programs that are started together after an update take the advisory lock of the creation one after the other; the
  /// later ones find the functions made.
  ///
  /// Called without a reader: a batch insertion has the write lock when it waits for one, so no
  /// thread that has a reader may wait for the write lock.
  ///
  /// ```text
  /// batch insertion, its store has one reader      opening of another store of the database
  ///                                                takes the reader
  /// takes the write lock
  ///                                                waits for the write lock
  /// waits for the reader, for its keys             ✗ both wait without end
  /// ```
  ///
  /// - Returns: whether the schema has this program's functions of texts.
  static func renewFunctionsIfNeeded(_ database: ServerDatabase, _ tables: ServerTables) throws -> Bool {
    let needsFunctions = try database.read { connection, _ in try tables.needsFunctions(connection) }
    guard needsFunctions else { return try database.read { connection, _ in try tables.hasTextFunctions(connection) } }
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
    return try database.read { connection, _ in try tables.hasTextFunctions(connection) }
  }
}
