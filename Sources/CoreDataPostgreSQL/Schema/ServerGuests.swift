/// What people and other programs have made in a store's schema, or of its tables, and what they may do there.
///
/// ``StoreGuests`` says what becomes of what they made. A migration gives others the rights again that they had.
///
/// ```text
/// a migration that makes the tables anew
///     index of others            made again on the new table; its failure ends the migration
///     table, view, sequence      ends the migration before it begins: DROP SCHEMA … CASCADE would take it along
///     view elsewhere             the same, since it needs the old table
///     trigger, policy            the same
///     foreign key of others      the same
///     additional column          the same
///     GRANT                      given again, for tables and columns of the same name
/// ```
///
/// The error is 134110, with the names of what is in the way.
struct ServerGuests {
  private let schema: StoreSchema
  private let address: ServerAddress
  private let connection: any ServerConnection

  init(_ schema: StoreSchema, _ address: ServerAddress, _ connection: any ServerConnection) {
    self.schema = schema
    self.address = address
    self.connection = connection
  }

  /// The numbers of the tables and the sequence of the store.
  private var ownRelations: String {
    let ownNames =
      ServerLayout.OwnTable.allCases.map { address.qualified($0.rawValue) } + [ServerTables.sequence(address)]
    let names = schema.tables.map(\.name) + schema.joinTables.map(\.name) + ownNames
    return "ARRAY[\(names.map { "to_regclass(\($0.quotedText))::oid" }.joined(separator: ", "))]"
  }

  /// The schema's number, as an expression.
  private static func number(of address: ServerAddress) -> String {
    "\(address.schema.quotedName.quotedText)::regnamespace"
  }

  /// What the schema has now, before the store's tables are made anew.
  func all() throws -> [StoreGuest] {
    let indexes = try foreignIndexes().map { statement in
      StoreGuest("the index of \(statement)") { try failure(ofIndex: statement) }
    }
    return try foreignColumns() + things() + indexes
  }

  /// Views, triggers and the like, which go with the old tables or with the schema. The server's catalogues tell:
  /// relations of the schema that are not the store's, rewrite rules that depend on its tables, triggers that call
  /// functions of others, foreign keys from other tables, and policies.
  ///
  /// Source: https://www.postgresql.org/docs/15/catalogs.html
  private func things() throws -> [StoreGuest] {
    let space = Self.number(of: address)
    let rows = try connection.execute(
      """
      WITH own AS (SELECT unnest(\(ownRelations)) AS oid) \
      SELECT 'the relation ' || c.oid::regclass FROM pg_class c WHERE c.relnamespace = \(space) \
      AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND c.oid NOT IN (SELECT oid FROM own WHERE oid IS NOT NULL) \
      UNION SELECT 'the view ' || r.ev_class::regclass FROM pg_depend d \
      JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid \
      WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid IN (SELECT oid FROM own) AND d.deptype = 'n' \
      UNION SELECT 'the trigger ' || t.tgname || ' of ' || t.tgrelid::regclass FROM pg_trigger t \
      JOIN pg_proc p ON p.oid = t.tgfoid WHERE NOT t.tgisinternal AND t.tgrelid IN (SELECT oid FROM own) \
      AND NOT (p.pronamespace = \(space) AND (p.proname = '_announce' OR starts_with(p.proname, $1))) \
      UNION SELECT 'the constraint ' || c.conname || ' of ' || c.conrelid::regclass FROM pg_constraint c \
      WHERE c.contype = 'f' AND c.confrelid IN (SELECT oid FROM own) AND c.conrelid NOT IN (SELECT oid FROM own) \
      UNION SELECT 'the policy ' || p.polname || ' of ' || p.polrelid::regclass FROM pg_policy p \
      WHERE p.polrelid IN (SELECT oid FROM own) ORDER BY 1
      """, prefix)
    return (0..<rows.rowCount).compactMap { rows.text($0, 0) }.map { StoreGuest($0) }
  }

  /// Columns of the store's tables that its model does not know.
  private func foreignColumns() throws -> [StoreGuest] {
    let file = try SchemaFile(address, connection)
    return schema.tables.flatMap { table -> [StoreGuest] in
      let ownNames = Set(table.columns.map(\.name))
      let foreignNames = (file.columns[table.name] ?? []).filter { !ownNames.contains($0) }
      return foreignNames.map { .column($0.replacingOccurrences(of: "\"", with: ""), of: table.name) }
    }
  }

  /// The statements that make the indexes of others.
  private func foreignIndexes() throws -> [String] {
    let ownIndexes = ServerTables(schema: schema, address: address).indexes + schema.joinTables.map(ServerTables.index)
    let contents = Set(ownIndexes.map(ServerIndexes.content))
    let indexes = ServerIndexes(connection)
    return try (schema.tables.map(\.name) + schema.joinTables.map(\.name)).flatMap { table in
      try indexes.all(of: table).map(\.statement).filter { !contents.contains(ServerIndexes.content(of: $0)) }
    }
  }

  /// Makes an index again; the reason if it does not fit. One whose name the new tables use themselves is theirs.
  ///
  /// ```text
  /// SAVEPOINT guest
  /// CREATE INDEX IF NOT EXISTS mine ON app."Book" USING btree (title)
  /// RELEASE guest, or ROLLBACK TO guest
  /// ```
  private func failure(ofIndex statement: String) throws -> String? {
    try connection.run("SAVEPOINT guest")
    do {
      try connection.run(statement.replacing("INDEX ", with: "INDEX IF NOT EXISTS ", maxReplacements: 1))
      try connection.run("RELEASE guest")
      return nil
    } catch let error as ServerError where !error.isConnectionLost {
      try connection.run("ROLLBACK TO guest")
      return error.message
    }
  }

  private var prefix: ServerParameters {
    var parameters = ServerParameters()
    parameters.add(ServerDerivations.prefix)
    return parameters
  }

  /// The statements that give others the rights in another schema which they have in this one, where it has tables and
  /// columns of the same names. They end with semicolons.
  ///
  /// ```text
  /// GRANT USAGE ON SCHEMA app_new TO reporting;
  /// GRANT SELECT ON TABLE app_new."Book" TO reporting WITH GRANT OPTION;
  /// GRANT UPDATE (title) ON TABLE app_new."Book" TO PUBLIC;
  /// ```
  ///
  /// `aclexplode` makes a row of each right in an access list; the owner's own are left out. Source: the pages
  /// "Privileges" and "System Information Functions and Operators".
  func rights(in place: ServerAddress) throws -> String {
    let (old, new) = (Self.number(of: address), Self.number(of: place))
    let grantee =
      "CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END "
      + "|| CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END || ';'"
    let rows = try connection.execute(
      """
      SELECT format('GRANT %s ON SCHEMA %s TO ', a.privilege_type, \(raw: new)) || \(raw: grantee) \
      FROM pg_namespace n, aclexplode(n.nspacl) a WHERE n.oid = \(raw: old) AND a.grantee <> n.nspowner \
      UNION ALL SELECT format('GRANT %s ON %s %s TO ', a.privilege_type, \
      CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, m.oid::regclass) || \(raw: grantee) \
      FROM pg_class c JOIN pg_class m ON m.relnamespace = \(raw: new) AND m.relname = c.relname, \
      aclexplode(c.relacl) a \
      WHERE c.relnamespace = \(raw: old) AND a.grantee <> c.relowner \
      UNION ALL SELECT format('GRANT %s (%I) ON TABLE %s TO ', a.privilege_type, t.attname, m.oid::regclass) \
      || \(raw: grantee) \
      FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid AND NOT t.attisdropped \
      JOIN pg_class m ON m.relnamespace = \(raw: new) AND m.relname = c.relname \
      JOIN pg_attribute o ON o.attrelid = m.oid AND o.attname = t.attname, aclexplode(t.attacl) a \
      WHERE c.relnamespace = \(raw: old) AND a.grantee <> c.relowner
      """)
    return (0..<rows.rowCount).compactMap { rows.text($0, 0) }.joined(separator: "\n")
  }
}
