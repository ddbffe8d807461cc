/// A key of an entity's `userInfo`: stores at a server announce new and changed rows of the entity to
/// `ServerSession`s. With the value "attribute = 1 2 3" they announce, of the changed rows, those whose attribute gets
/// one of these numbers; with "attribute = 1 2 3; other" also those that have one and whose other attribute becomes
/// NULL. An addition to Apple's keys.
package let NSPersistentStoreAnnouncedKey = "NSPersistentStoreAnnounced"

/// Triggers that announce new rows to sessions that wait for them: see `NSPersistentStoreAnnouncedKey`.
///
/// Triggers see the changes of all programs: of workers, apps and people at `psql`. The server sends equal
/// announcements of a transaction once (https://www.postgresql.org/docs/15/sql-notify.html).
///
/// For Book with the value "pages = 1 2; title":
///
/// ```text
/// CREATE OR REPLACE FUNCTION "app"."_announce"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
/// PERFORM pg_notify('coredata_rows_' || identifier, TG_ARGV[0]) FROM "app"."_store"; RETURN NULL; END $$;
/// CREATE TRIGGER announce_insert AFTER INSERT ON "app"."Book" FOR EACH STATEMENT
/// EXECUTE FUNCTION "app"."_announce"('Book');
/// CREATE TRIGGER announce_update AFTER UPDATE OF "pages", "title" ON "app"."Book" FOR EACH ROW
/// WHEN (NEW."pages" IN (1, 2) AND (OLD."pages" IS DISTINCT FROM NEW."pages"
/// OR OLD."title" IS NOT NULL AND NEW."title" IS NULL)) EXECUTE FUNCTION "app"."_announce"('Book')
/// ```
///
/// A message goes out with the COMMIT, and not at all after a ROLLBACK, so a session that hears it finds the rows. The
/// WHEN of a trigger is checked without a call of the function, so rows without news cost next to nothing.
extension ServerTables {
  /// The channel of a store's announcements. What is announced is the entity's name.
  static func channel(of identifier: String) -> String { "coredata_rows_\(identifier)" }

  /// The function that triggers call. Its only argument is the name of the entity.
  var announcer: String { address.qualified("_announce") }

  var announcements: [String] {
    let announced = schema.entities.compactMap { mapping in
      (mapping.entity.userInfo?[NSPersistentStoreAnnouncedKey] as? String).map { (mapping, $0) }
    }
    guard !announced.isEmpty else { return [] }
    let store = address.qualified(ServerLayout.OwnTable.store.rawValue)
    return [
      """
      CREATE OR REPLACE FUNCTION \(announcer)() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
      PERFORM pg_notify('coredata_rows_' || identifier, TG_ARGV[0]) FROM \(store); RETURN NULL; END $$
      """
    ] + announced.flatMap { triggers(on: $0, where: $1, calling: announcer) }
  }

  /// The triggers of one entity. A value without "=" announces every INSERT and UPDATE statement, also one that changed
  /// no row.
  private func triggers(on mapping: TableMapping, where condition: String, calling function: String) -> [String] {
    let call = "EXECUTE FUNCTION \(function)(\(mapping.name.quotedText))"
    var update = "CREATE TRIGGER announce_update AFTER UPDATE ON \(mapping.table) FOR EACH STATEMENT \(call)"
    let conditions = condition.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
    let parts = conditions.first?.split(separator: "=").map { $0.trimmingCharacters(in: .whitespaces) } ?? []
    if parts.count == 2, let column = mapping.attributes[parts[0]]?.column {
      let values = parts[1].split(separator: " ").compactMap { Int($0) }.map(String.init).joined(separator: ", ")
      let emptied = conditions.dropFirst().compactMap { mapping.attributes[$0]?.column }
      let changes =
        ["OLD.\(column) IS DISTINCT FROM NEW.\(column)"]
        + emptied.map { "OLD.\($0) IS NOT NULL AND NEW.\($0) IS NULL" }
      update = """
        CREATE TRIGGER announce_update AFTER UPDATE OF \(([column] + emptied).joined(separator: ", ")) \
        ON \(mapping.table) FOR EACH ROW \
        WHEN (NEW.\(column) IN (\(values)) AND (\(changes.joined(separator: " OR ")))) \(call)
        """
    }
    return [
      "CREATE TRIGGER announce_insert AFTER INSERT ON \(mapping.table) FOR EACH STATEMENT \(call)", update,
    ]
  }
}
