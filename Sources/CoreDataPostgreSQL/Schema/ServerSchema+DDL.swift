/// The statements that create a store's tables.
struct ServerTables {
  let schema: StoreSchema
  let address: ServerAddress

  /// The number of keys that a connection reserves at once: the step of the sequences.
  static let keysAtOnce: Int64 = 64

  /// The sequence of all keys of the store: no two new rows get one, even in different tables. Rows that were copied
  /// from a file keep theirs.
  static func sequence(_ address: ServerAddress) -> String { address.qualified("_keys") }

  var texts: ServerTextFunctions { ServerTextFunctions(address: address) }
  var derivations: ServerDerivations { ServerDerivations(schema, address) }

  /// The functions, which name the schema in their texts. The statements replace those of a schema that got another
  /// name.
  var functions: [String] {
    (announcements.first.map { [$0] } ?? []) + texts.statements + derivations.functions.map(\.creation)
  }

  /// In one text, since no statement has parameters.
  var creation: String {
    (["CREATE SCHEMA IF NOT EXISTS \(address.schema.quotedName)"] + ownTables + entityTables + joinTables + foreignKeys
      + indexes + announcements + texts.statements + derivations.creation + comments).joined(separator: ";\n")
  }

  private func own(_ table: ServerLayout.OwnTable) -> String { address.qualified(table.rawValue) }

  private var ownTables: [String] {
    [
      "CREATE SEQUENCE \(Self.sequence(address)) INCREMENT \(Self.keysAtOnce) START 1",
      """
      CREATE TABLE \(own(.store)) (identifier text NOT NULL, metadata bytea NOT NULL, \
      announces boolean NOT NULL DEFAULT false, keeps_history boolean NOT NULL DEFAULT false, \
      last_transaction bigint NOT NULL DEFAULT 0, model bytea)
      """,
      "CREATE TABLE \(own(.entities)) (number integer PRIMARY KEY, name text NOT NULL UNIQUE)",
      """
      CREATE TABLE \(own(.transactions)) (number bigint PRIMARY KEY, at timestamptz NOT NULL, author text, \
      context text, bundle text, process text)
      """,
      """
      CREATE TABLE \(own(.changes)) (transaction bigint NOT NULL REFERENCES \(own(.transactions)) ON DELETE CASCADE, \
      number integer NOT NULL, type integer NOT NULL, entity integer NOT NULL, key bigint NOT NULL, \
      properties text, tombstone bytea, PRIMARY KEY (transaction, number))
      """,
    ] + schema.entities.map(numbering)
  }

  /// The statement that notes the number of an entity.
  func numbering(of entity: TableMapping) -> String {
    "INSERT INTO \(own(.entities)) (number, name) VALUES (\(entity.number), \(entity.name.quotedText))"
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

  /// The to-one columns of each table, each once.
  private var toOnes: [(table: String, toOne: ToOneColumn)] {
    var found: [(table: String, toOne: ToOneColumn)] = []
    for mapping in schema.entities {
      for toOne in mapping.toOnes.values.sorted(by: { $0.name < $1.name })
      where !found.contains(where: { $0.table == mapping.table && $0.toOne.column == toOne.column }) {
        found.append((mapping.table, toOne))
      }
    }
    return found
  }

  // MARK: Indexes

  var indexes: [String] {
    var statements = toOnes.map { "CREATE INDEX ON \($0.table) (\($0.toOne.column))" }
    for mapping in schema.entities { statements += fetchIndexes(of: mapping) + uniqueIndexes(of: mapping) }
    return statements
  }

  private func fetchIndexes(of mapping: TableMapping) -> [String] {
    let declared = Set(mapping.entity.declaredProperties.map(\.name))
    var lists: [[(column: String, isAscending: Bool)]] = []
    for attribute in mapping.entity.attributesByName.values.sorted(by: { $0.name < $1.name })
    where attribute.isIndexed && declared.contains(attribute.name) {
      lists.append(mapping.columns(of: [attribute.name]).map { ($0, true) })
    }
    lists += mapping.entity.compoundIndexes.map { mapping.columns(of: mapping.entity.names(of: $0)).map { ($0, true) } }
    var conditions: [Int: String] = [:]
    for index in mapping.entity.indexes {
      let elements = index.elements.filter { $0.collationType == .binary }
      guard elements.contains(where: { mapping.attributes[$0.propertyName ?? ""] != nil }) else { continue }
      conditions[lists.count] = index.partialIndexPredicate.flatMap { condition(of: $0, mapping) }
      // Rows that are equal in all else are read in the order of their keys, as from an index of SQLite, which ends
      // with the key.
      lists.append(
        elements.flatMap { element in
          mapping.columns(of: [element.propertyName ?? ""]).map { ($0, element.isAscending) }
        } + [(mapping.names.key, true)])
    }
    var seen: Set<String> = []
    return lists.enumerated().filter { !$1.isEmpty }.compactMap { number, list in
      // The order of a fetch's ORDER BY.
      let columns = list.map { "\($0.column) \($0.isAscending ? "ASC NULLS FIRST" : "DESC NULLS LAST")" }
      let text = "(\(columns.joined(separator: ", ")))\(conditions[number].map { " WHERE \($0)" } ?? "")"
      return seen.insert(text).inserted ? "CREATE INDEX ON \(mapping.table) \(text)" : nil
    }
  }

  /// The condition of a partial index, in the words in which the server tells it: comparisons of attributes with nil,
  /// and several of them joined by AND. Nil for other predicates: then the index holds all rows, which serves any
  /// query.
  ///
  /// A comparison with a value would have to be in the text of a query, which has a parameter there. Such a part of an
  /// AND is left out: the index holds more rows then.
  private func condition(of predicate: NSPredicate, _ mapping: TableMapping) -> String? {
    switch predicate.kind {
    case .compound(.and, let parts):
      let conditions = parts.compactMap { condition(of: $0, mapping) }
      return conditions.count > 1 ? "(\(conditions.joined(separator: " AND ")))" : conditions.first
    case .comparison(let comparison): return comparison.nullCondition(mapping).map { "(\($0))" }
    default: return nil
    }
  }

  private func uniqueIndexes(of mapping: TableMapping) -> [String] {
    mapping.entity.uniquenessConstraints.map(mapping.entity.names(of:)).compactMap { names in
      let columns = mapping.columns(of: names)
      guard columns.count == names.count, !columns.isEmpty else { return nil }
      return "CREATE UNIQUE INDEX ON \(mapping.table) (\(columns.joined(separator: ", ")))"
    }
  }

  // MARK: Comments

  var comments: [String] {
    schema.tables.map { table in
      let names = (schema.entitiesByNumber[table.rootNumber]?.numbersIncludingSubentities ?? [])
        .compactMap { schema.entitiesByNumber[$0] }.map { "\($0.number) \($0.name)" }.joined(separator: ", ")
      return "COMMENT ON COLUMN \(table.name).\(ServerLayout.ownColumns.entity) IS \("The entity: \(names)".quotedText)"
    }
      + schema.tables.map { table in
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
