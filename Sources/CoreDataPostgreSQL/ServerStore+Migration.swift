/// Lightweight migration.
///
/// ```text
/// BEGIN
/// LOCK TABLE "app"."_store" IN ACCESS EXCLUSIVE MODE        no other migration, and no save: each reads _store
/// SELECT identifier, metadata FROM "app"."_store"           another process may have migrated it already
/// SELECT model FROM "app"."_store"                          the old model
///
/// additions only                                            anything else
/// ALTER TABLE "app"."Book" ADD COLUMN "isbn" …              LOCK TABLE "app"."Author", "app"."Book" IN ACCESS …
/// CREATE INDEX …, triggers, functions                       CREATE SCHEMA "app_new", tables, indexes, functions
///                                                           COPY (SELECT …) TO STDOUT, INSERT …, table by table
///                                                           DROP SCHEMA "app" CASCADE
///                                                           ALTER SCHEMA "app_new" RENAME TO "app"
/// UPDATE "app"."_store" SET metadata = $1
/// UPDATE "app"."_store" SET model = $1
/// COMMIT
/// ```
///
/// ADD COLUMN without a default changes the catalogue and no row, so additions take a moment, whatever the table's
/// size; a new index reads the table. Anything else copies all rows through this program, and needs twice the space at
/// the server until the COMMIT.
///
/// Programs that have the store open wait for the locks in the middle of a read or save. After additions they go on.
/// After a rebuild their statements fail, and `onTables` says 134100.
extension ServerOpening {
  /// Migrates the store in one transaction. Rows keep their keys and the store its identifier.
  ///
  /// Additions are made in place, and programs of the old model go on. Anything else locks other programs out
  /// meanwhile: the tables of the new model are made in a schema beside the old one and take its place, so that names
  /// and types are those of a new store. The history is deleted then.
  ///
  /// What others may do with the tables stays, and so do their indexes. What else they have made in the schema, or what
  /// needs its tables, would go with the old tables: then nothing is migrated.
  ///
  /// If the connection dies at any point before the COMMIT, the server takes everything back, and the store is as it
  /// was.
  ///
  /// - Throws: 134130 if the old model is unknown, 134140 if a mapping model would be needed, 134190 if no mapping can
  ///   be inferred, 134111 if a new constraint does not hold, 134100 if more than the allowed additions would be
  ///   needed, 134110 if views, tables, columns or triggers of others would go.
  func migrate() throws {
    // Programs that save meanwhile lock the tables in another order, so the server may end either.
    try database.repeating {
      try CoreDataErrors.fromServer("Migrating \(address.description)") {
        try database.rebuild { try migrate($0) }
      }
    }
  }

  private func migrate(_ connection: any ServerConnection) throws {
    try connection.run("LOCK TABLE \(address.qualified("_store")) IN ACCESS EXCLUSIVE MODE")
    // Another process may have migrated it first.
    var metadata = try ServerStore.readMetadata(address, connection).metadata
    guard try needsMigration(metadata) else { return }
    try opening.migrate(
      metadata, at: place, kept: { try ServerStore.keptModel(address, connection) },
      adding: { try additions(from: $0, connection) }, remaking: { try rebuild(connection, from: $0) })
    StoreMetadata.setModel(entities: opening.entities, identifiers: opening.model.versionIdentifiers, in: &metadata)
    try ServerStore.writeMetadata(metadata, address, connection)
    try ServerStore.keepModel(opening, address, connection)
  }

  /// Finds out what the tables lack for the opening's model.
  ///
  /// - Parameter old: the entities of the old model; nil if that is unknown.
  /// - Returns: a closure that adds it.
  /// - Throws: `StoreSchemaError` if more than additions are needed.
  private func additions(
    from old: [NSEntityDescription]?, _ connection: any ServerConnection
  ) throws -> () throws -> Void {
    let file = try SchemaFile(address, connection)
    func tables(_ entities: [NSEntityDescription], _ file: SchemaFile) throws -> ServerTables {
      let numbering = try EntityNumbering(entities, rows: file.entities)
      return ServerTables(schema: try StoreSchema(entities, at: address, numbering), address: address)
    }
    let before = try old.map { try tables($0, file) }
    let after = try tables(opening.entities, file.adding(opening.entities))
    let additions = try SchemaAdditions(to: file, for: after.schema, from: before?.schema)
    return { try after.add(additions, from: before, connection) }
  }

  /// Makes the tables of the new model in the schema "app_new", copies the rows, and lets that schema take the old
  /// one's place.
  ///
  /// ```text
  /// SET CONSTRAINTS ALL IMMEDIATE;                       checks the copies' foreign keys: 23503 here and not at COMMIT
  /// UPDATE "app_new"."_store" n SET identifier = o.identifier, announces = o.announces, …
  ///     FROM "app"."_store" o;
  /// GRANT SELECT ON TABLE app_new."Book" TO reporting;   the rights of others, where there are any
  /// DROP SCHEMA "app" CASCADE;
  /// ALTER SCHEMA "app_new" RENAME TO "app"
  /// CREATE OR REPLACE FUNCTION "app"."_fold_case" …      functions have the schema's name in their bodies
  /// ```
  ///
  /// All of it runs on the writer's connection, also the reads: `ServerDatabase.rebuild`.
  private func rebuild(
    _ connection: any ServerConnection, from source: SourceModels.Source
  ) throws {
    let old = try ServerStore(
      database, address,
      StoreOpening(
        type: opening.type, url: opening.url, options: [NSReadOnlyPersistentStoreOption: true], configurationName: nil,
        model: source.model, entities: source.entities, others: []))
    let tables = (old.schema.tables.map(\.name) + old.schema.joinTables.map(\.name)).joined(separator: ", ")
    if !tables.isEmpty { try connection.run("LOCK TABLE \(tables) IN ACCESS EXCLUSIVE MODE") }
    let serverGuests = ServerGuests(old.schema, address, connection)
    let guests = try StoreGuests(serverGuests.all(), at: address.description)
    let place = address.with(schema: "\(address.schema)_new")
    let new = try ServerStore(
      database, place,
      StoreOpening(
        type: opening.type, url: opening.url, options: nil, configurationName: nil, model: opening.model,
        entities: opening.entities, others: []))
    let rights = try serverGuests.rights(in: place)
    let mapping = try RowMapping(from: source.entities, to: opening.entities)
    var copy = StoreCopy(old, to: new, mapping: mapping, keepsKeys: true)
    try CoreDataErrors.reportingNewConstraints { try copy.run() }
    try connection.run(
      """
      SET CONSTRAINTS ALL IMMEDIATE;
      UPDATE \(place.qualified("_store")) n SET identifier = o.identifier, announces = o.announces, \
      keeps_history = o.keeps_history, last_transaction = o.last_transaction FROM \(address.qualified("_store")) o;
      \(rights)
      DROP SCHEMA \(address.schema.quotedName) CASCADE;
      ALTER SCHEMA \(place.schema.quotedName) RENAME TO \(address.schema.quotedName)
      """)
    let schema = try StoreSchema(
      opening.entities, at: address,
      EntityNumbering(opening.entities, rows: ServerStore.entityNumbers(address, connection)))
    try connection.run(ServerTables(schema: schema, address: address).functions.joined(separator: ";\n"))
    try guests.restore()
  }
}
