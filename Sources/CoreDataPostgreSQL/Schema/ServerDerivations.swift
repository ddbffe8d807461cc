/// Functions and triggers that keep derived attributes, no matter which program writes.
///
/// What a row computes from itself is set before it is written. What it computes from other rows is set after a
/// statement, once for all rows that the statement changed.
///
/// Two sessions may change the members of one owner at the same time. So each locks the owners first, in the order of
/// their keys, and only then reads the members: each statement of a function sees what was committed before it begins
/// (https://www.postgresql.org/docs/15/xfunc-volatility.html). Likewise the row is locked whose value is copied.
struct ServerDerivations {
  let schema: StoreSchema
  let address: ServerAddress
  let texts: ServerTextFunctions

  /// A function of PL/pgSQL and the triggers that call it.
  struct Function {
    let name: String
    let body: String
    let triggers: [String]

    var creation: String {
      "CREATE OR REPLACE FUNCTION \(name)() RETURNS trigger LANGUAGE plpgsql AS \(body.quotedBody)"
    }
  }

  /// The names of all functions begin so.
  static let prefix = "_derive_"

  let functions: [Function]
  /// The statements that compute the columns of all rows.
  let fills: [String]

  init(_ schema: StoreSchema, _ address: ServerAddress) {
    self.schema = schema
    self.address = address
    let texts = ServerTextFunctions(address: address)
    self.texts = texts
    let columns = schema.derivedColumns.compactMap { ServerDerivation($0, texts) }
    var names = Names([])
    var functions: [Function] = []
    for table in schema.tables {
      let tableDerivations = Self.inOrder(
        columns.filter { $0.column.mapping.table == table.name && $0.ownValue != nil })
      if tableDerivations.isEmpty { continue }
      let entity = schema.entitiesByNumber[table.rootNumber]?.name ?? ""
      let lines = tableDerivations.map { derivation -> String in
        "IF NEW.\(derivation.column.ofEntity)\(derivation.ownCondition) THEN\n"
          + "    NEW.\(derivation.column.column) := \(derivation.ownValue ?? "NULL");\n  END IF;"
      }
      functions.append(
        Function(
          name: address.qualified(names.unique("\(Self.prefix)\(entity)")),
          body: "BEGIN\n  \(lines.joined(separator: "\n  "))\n  RETURN NEW;\nEND",
          triggers: ["CREATE TRIGGER derive BEFORE INSERT OR UPDATE ON \(table.name) FOR EACH ROW"]))
    }
    let aggregated = Set(columns.filter(\.isAggregate).map(\.column.mapping.table))
    for derivation in columns {
      let base = "\(Self.prefix)\(derivation.column.mapping.name)_\(derivation.column.name)"
      for (suffix, function) in derivation.functions(countedTables: aggregated) {
        let name = names.unique(base + suffix)
        functions.append(
          Function(name: address.qualified(name), body: function.body, triggers: function.triggers(named: name)))
      }
    }
    self.functions = functions
    fills = columns.map(\.fill)
  }

  /// Those that are computed from others of the row come after them.
  private static func inOrder(_ columns: [ServerDerivation]) -> [ServerDerivation] {
    var (unsortedColumns, sorted) = (columns, [ServerDerivation]())
    while let next = unsortedColumns.firstIndex(where: { one in
      !unsortedColumns.contains { $0.column.column == one.ownSource }
    }) {
      sorted.append(unsortedColumns.remove(at: next))
    }
    return sorted + unsortedColumns
  }

  /// The statements that create the functions and triggers of a schema that has none of them.
  var creation: [String] {
    functions.map(\.creation)
      + functions.flatMap { function in
        function.triggers.map { "\($0) EXECUTE FUNCTION \(function.name)()" }
      }
  }
}

/// One statement-level function: its body, the table whose changes call it, and which changes these are.
struct ServerStatementFunction {
  let table: String
  let body: String
  let events: [Event]

  enum Event: String {
    case insert = "INSERT"
    case update = "UPDATE"
    case delete = "DELETE"

    /// The rows before and after the statement, as the function sees them.
    fileprivate var rows: String {
      switch self {
      case .insert: "REFERENCING NEW TABLE AS new_rows"
      case .update: "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows"
      case .delete: "REFERENCING OLD TABLE AS old_rows"
      }
    }
  }

  /// Triggers with such rows are for one event each. Their names are as long as a name may be at most.
  func triggers(named function: String) -> [String] {
    events.map { event in
      let name = "\(function.dropFirst(ServerDerivations.prefix.count))_\(event.rawValue.lowercased())"
      return "CREATE TRIGGER \(name.quotedName) AFTER \(event.rawValue) ON \(table) \(event.rows) "
        + "FOR EACH STATEMENT"
    }
  }
}

extension String {
  /// The text as the body of a function. Names and constants in it may have any characters.
  fileprivate var quotedBody: String {
    var tag = "$$"
    while contains(tag) { tag = "$d\(tag.utf8.count)$" }
    return "\(tag)\(self)\(tag)"
  }
}
