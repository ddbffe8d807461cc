/// The statements that create a store's tables.
///
/// For Author(name, books) and Book(title, pages, isRead, author), in the schema "app":
///
/// ```text
/// CREATE SCHEMA IF NOT EXISTS "app";                    not where it exists: `ServerOpening.create`
/// CREATE SEQUENCE "app"."_keys" INCREMENT 64 START 1;
/// CREATE TABLE "app"."_store" (identifier text NOT NULL, metadata bytea NOT NULL, announces boolean NOT NULL
///     DEFAULT false, keeps_history boolean NOT NULL DEFAULT false, last_transaction bigint NOT NULL DEFAULT 0,
///     model bytea);
/// CREATE TABLE "app"."_entities" (number integer PRIMARY KEY, name text NOT NULL UNIQUE);
/// CREATE TABLE "app"."_transactions" (number bigint PRIMARY KEY, at timestamptz NOT NULL, author text, …);
/// CREATE TABLE "app"."_changes" (transaction bigint NOT NULL REFERENCES "app"."_transactions" ON DELETE CASCADE, …);
/// INSERT INTO "app"."_entities" (number, name) VALUES (1, 'Author');
/// INSERT INTO "app"."_entities" (number, name) VALUES (2, 'Book');
/// CREATE TABLE "app"."Author" (_key bigint PRIMARY KEY DEFAULT nextval('"app"."_keys"'), _entity integer NOT NULL
///     DEFAULT 1, _version bigint NOT NULL DEFAULT 1, "name" text COLLATE "C");
/// CREATE TABLE "app"."Book" (_key bigint PRIMARY KEY DEFAULT nextval('"app"."_keys"'), _entity integer NOT NULL
///     DEFAULT 2, _version bigint NOT NULL DEFAULT 1, "author" bigint, "isRead" boolean, "pages" bigint,
///     "title" text COLLATE "C");
/// ALTER TABLE "app"."Book" ADD FOREIGN KEY ("author") REFERENCES "app"."Author" ON DELETE SET NULL
///     DEFERRABLE INITIALLY DEFERRED;
/// CREATE INDEX ON "app"."Book" ("author");
/// CREATE OR REPLACE FUNCTION "app"."_fold_case" …      and ten more: ServerTextFunctions
/// COMMENT ON FUNCTION "app"."_fold"(text) IS 'Core Data 1, Unicode 17.0';
/// COMMENT ON COLUMN "app"."Book"._entity IS 'The entity: 2 Book';
/// COMMENT ON COLUMN "app"."Book"._version IS 'The number of changes of the row. Add 1 when you update a row.'
/// ```
///
/// No column of an attribute is NOT NULL, and none has a default: the program validates, and a model that makes an
/// attribute optional changes nothing at the server. The defaults of the store's own columns let people insert rows by
/// SQL: `INSERT INTO "app"."Book" ("title") VALUES ('Emma')` makes an object.
struct ServerTables {
  let schema: StoreSchema
  let address: ServerAddress

  /// The number of keys that a connection reserves at once: the step of the sequences.
  static let keysAtOnce: Int64 = 64

  /// The sequence of all keys of the store: no two new rows get one, even in different tables. Rows that were copied
  /// from a file keep theirs. See `ReservedKeys`.
  static func sequence(_ address: ServerAddress) -> String { address.qualified("_keys") }

  var texts: ServerTextFunctions { ServerTextFunctions(address: address) }
  var derivations: ServerDerivations { ServerDerivations(schema, address) }

  /// The functions, which name the schema in their texts. The statements replace those of a schema that got another
  /// name, as after a migration.
  var functions: [String] {
    (announcements.first.map { [$0] } ?? []) + texts.statements + derivations.functions.map(\.creation)
  }

  /// All statements that fill a new schema, in an order in which each finds what it needs. In one text, since no
  /// statement has parameters: one round trip.
  var creation: String {
    let statements: [[String]] = [
      ownTables, entityTables, joinTables, foreignKeys, indexes, announcements, texts.statements, derivations.creation,
      comments,
    ]
    return statements.joined().joined(separator: ";\n")
  }

  private func ownTable(_ table: ServerLayout.OwnTable) -> String { address.qualified(table.rawValue) }

  private var ownTables: [String] {
    [
      "CREATE SEQUENCE \(Self.sequence(address)) INCREMENT \(Self.keysAtOnce) START 1",
      """
      CREATE TABLE \(ownTable(.store)) (identifier text NOT NULL, metadata bytea NOT NULL, \
      announces boolean NOT NULL DEFAULT false, keeps_history boolean NOT NULL DEFAULT false, \
      last_transaction bigint NOT NULL DEFAULT 0, model bytea)
      """,
      "CREATE TABLE \(ownTable(.entities)) (number integer PRIMARY KEY, name text NOT NULL UNIQUE)",
      """
      CREATE TABLE \(ownTable(.transactions)) (number bigint PRIMARY KEY, at timestamptz NOT NULL, author text, \
      context text, bundle text, process text)
      """,
      """
      CREATE TABLE \(ownTable(.changes)) (transaction bigint NOT NULL \
      REFERENCES \(ownTable(.transactions)) ON DELETE CASCADE, \
      number integer NOT NULL, type integer NOT NULL, entity integer NOT NULL, key bigint NOT NULL, \
      properties text, tombstone bytea, PRIMARY KEY (transaction, number))
      """,
    ] + schema.entities.map(numbering)
  }

  /// The statement that notes the number of an entity.
  func numbering(of entity: TableMapping) -> String {
    "INSERT INTO \(ownTable(.entities)) (number, name) VALUES (\(entity.number), \(entity.name.quotedText))"
  }

  private var entityTables: [String] { schema.tables.map(creation) }

  /// The statement that creates the table of a root entity.
  func creation(of table: EntityTable) -> String {
    let columns = table.columns.map { column in
      column.name == ServerLayout.ownColumns.key
        ? "\(column.name) \(column.declaredType) DEFAULT nextval(\(Self.sequence(address).quotedText))"
        : "\(column.name) \(column.declaredType)"
    }
    return "CREATE TABLE \(table.name) (\(columns.joined(separator: ", ")))"
  }

  /// The tables of many-to-many relationships, here of the ordered Book.tags:
  ///
  /// ```text
  /// CREATE TABLE "app"."Book_tags" ("Book" bigint NOT NULL, "tags" bigint NOT NULL, "tags_position" bigint,
  ///     PRIMARY KEY ("Book", "tags"));
  /// CREATE INDEX ON "app"."Book_tags" ("tags", "Book")
  /// ```
  private var joinTables: [String] {
    schema.joinTables.flatMap { table in
      let columns =
        [table.firstColumn, table.secondColumn].map { "\($0) bigint NOT NULL" }
        + table.orderColumns.map { "\($0) bigint" }
      return [
        """
        CREATE TABLE \(table.name) (\(columns.joined(separator: ", ")), \
        PRIMARY KEY (\(table.firstColumn), \(table.secondColumn)))
        """,
        Self.index(of: table),
      ]
    }
  }

  /// The primary key is an index in the other order.
  static func index(of table: JoinTable) -> String {
    "CREATE INDEX ON \(table.name) (\(table.secondColumn), \(table.firstColumn))"
  }

  /// References are checked when the transaction ends, since rows are written in any order. A reference to a deleted
  /// row becomes NULL, and its row in a join table goes.
  ///
  /// ```text
  /// save                                          another program
  /// INSERT INTO "app"."Book" … "author" = 1
  ///                                               DELETE FROM "app"."Author" WHERE _key = 1
  ///                                               COMMIT
  /// COMMIT
  ///     ✗ 23503, foreign_key_violation: 133000, refresh and save again
  /// ```
  ///
  /// The check at the COMMIT locks the author's row FOR KEY SHARE, so one of the two fails or waits; a book without its
  /// author is never committed. No Action of a delete rule is not kept: the server sets the reference to NULL. Source:
  /// the pages "CREATE TABLE" and "SET CONSTRAINTS".
  private var foreignKeys: [String] {
    var statements: [String] = []
    func add(_ table: String, _ column: String, to destination: String, _ action: String) {
      statements.append(
        """
        ALTER TABLE \(table) ADD FOREIGN KEY (\(column)) REFERENCES \(destination) ON DELETE \(action) \
        DEFERRABLE INITIALLY DEFERRED
        """)
    }
    for (table, toOne) in toOnes {
      guard let destination = schema.entitiesByName[toOne.destinationEntityName] else { continue }
      add(table, toOne.column, to: destination.table, "SET NULL")
    }
    for table in schema.joinTables {
      for mapping in schema.entities {
        for case .join(let name, table.name, let ownerColumn, let destinationColumn, _) in mapping.toManys.values {
          guard ownerColumn == table.firstColumn, let destination = schema.entitiesByName[name] else { continue }
          let first = "\(table.name) ADD FOREIGN KEY (\(ownerColumn))"
          if statements.contains(where: { $0.contains(first) }) { continue }
          add(table.name, ownerColumn, to: mapping.table, "CASCADE")
          add(table.name, destinationColumn, to: destination.table, "CASCADE")
        }
      }
    }
    return statements
  }

  /// The to-one columns of each table, each once: subentities inherit them.
  private var toOnes: [(table: String, toOne: ToOneColumn)] {
    var toOnes: [(table: String, toOne: ToOneColumn)] = []
    for mapping in schema.entities {
      for toOne in mapping.toOnes.values.sorted(by: { $0.name < $1.name })
      where !toOnes.contains(where: { $0.table == mapping.table && $0.toOne.column == toOne.column }) {
        toOnes.append((mapping.table, toOne))
      }
    }
    return toOnes
  }

  // MARK: Indexes

  /// The indexes of a store: of each to-one column, of the model's fetch indexes, and of its uniqueness constraints.
  /// The server chooses their names.
  ///
  /// ```text
  /// CREATE INDEX ON "app"."Book" ("author")                                     author.books, and ON DELETE SET NULL
  /// CREATE INDEX ON "app"."Book" ("title" ASC NULLS FIRST, _key ASC NULLS FIRST)     a fetch index
  /// CREATE UNIQUE INDEX ON "app"."Book" ("isbn")                                a uniqueness constraint
  /// ```
  ///
  /// A foreign key has no index of its own in PostgreSQL: without the first one each deleted author would read all
  /// books.
  var indexes: [String] {
    var statements = toOnes.map { "CREATE INDEX ON \($0.table) (\($0.toOne.column))" }
    for mapping in schema.entities { statements += fetchIndexes(of: mapping) + uniqueIndexes(of: mapping) }
    return statements
  }

  /// The indexes that the model describes. NULLS FIRST for ascending order, as in the ORDER BY of a fetch: an index
  /// with its NULLs at the other end would not give the rows in the fetch's order (page "Indexes and ORDER BY").
  private func fetchIndexes(of mapping: TableMapping) -> [String] {
    var seen: Set<String> = []
    return mapping.fetchIndexes.compactMap { index in
      // Rows that are equal in all else are read in the order of their keys, as from an index of SQLite, which ends
      // with the key.
      let columns = index.columns + (index.isDescribed ? [(mapping.names.key, true)] : [])
      // The order of a fetch's ORDER BY.
      let list = columns.map { "\($0.column) \($0.isAscending ? "ASC NULLS FIRST" : "DESC NULLS LAST")" }
      let text = "(\(list.joined(separator: ", ")))\(condition(of: index))"
      return seen.insert(text).inserted ? "CREATE INDEX ON \(mapping.table) \(text)" : nil
    }
  }

  /// The condition of a partial index, in the words in which the server tells it: an index is recognised by its text
  /// later (`ServerIndexes`).
  private func condition(of index: FetchIndex) -> String {
    let conditions = index.conditions.map { "(\($0))" }
    switch conditions.count {
    case 0: return ""
    case 1: return " WHERE \(conditions[0])"
    default: return " WHERE (\(conditions.joined(separator: " AND ")))"
    }
  }

  /// The indexes of uniqueness constraints. Several NULLs are no duplicates, as in Core Data. A row with two
  /// constraints is refused by the first one that the server checks.
  private func uniqueIndexes(of mapping: TableMapping) -> [String] {
    mapping.entity.uniquenessConstraints.map(mapping.entity.names(of:)).compactMap { names in
      let columns = mapping.columns(of: names)
      guard columns.count == names.count, !columns.isEmpty else { return nil }
      return "CREATE UNIQUE INDEX ON \(mapping.table) (\(columns.joined(separator: ", ")))"
    }
  }

  // MARK: Comments

  /// Comments on columns, which people see in `psql` (\d+) and other tools: what the numbers of `_entity` mean, and
  /// what an UPDATE by hand must do.
  var comments: [String] {
    let ofEntities = schema.tables.map { table -> String in
      let numbers = schema.entitiesByNumber[table.rootNumber]?.numbersIncludingSubentities ?? []
      let names = numbers.compactMap { schema.entitiesByNumber[$0] }.map { "\($0.number) \($0.name)" }
      let comment = "The entity: \(names.joined(separator: ", "))".quotedText
      return "COMMENT ON COLUMN \(table.name).\(ServerLayout.ownColumns.entity) IS \(comment)"
    }
    return ofEntities
      + schema.tables.map { table -> String in
        """
        COMMENT ON COLUMN \(table.name).\(ServerLayout.ownColumns.version) IS \
        'The number of changes of the row. Add 1 when you update a row.'
        """
      }
  }
}

extension StoreSchema {
  /// The schema of a store of these entities.
  convenience init(_ entities: [NSEntityDescription], at address: ServerAddress, _ numbering: EntityNumbering) throws {
    let layout = try ServerLayout(numbering, address)
    self.init(numbering, layout, layout.joins, names: ServerLayout.ownColumns)
  }
}
