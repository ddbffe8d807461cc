/// Functions and triggers that keep derived attributes, no matter which program writes.
///
/// What a row computes from itself is set before it is written. What it computes from other rows is set after a
/// statement, once for all rows that the statement changed.
///
/// ```text
/// Author.sortName     lowercase:(name)    BEFORE INSERT OR UPDATE ON "app"."Author"       _derive_Author
/// Author.bookCount    books.@count        AFTER INSERT, UPDATE, DELETE ON "app"."Book"    …_bookCount_members
/// Author.totalPages   books.pages.@sum    the same                                        …_totalPages_members
/// Author.longest      books.pages.@max    the same                                        …_longest_members
/// Book.authorName     author.name         AFTER INSERT, UPDATE ON "app"."Book"            …_authorName_from
///                                         AFTER INSERT, UPDATE ON "app"."Author"          …_authorName_to
/// ```
///
/// Two sessions may change the members of one owner at the same time. So each locks the owners first, in the order of
/// their keys, and only then reads the members: each statement of a function sees what was committed before it begins
/// (https://www.postgresql.org/docs/15/xfunc-volatility.html). Likewise the row is locked whose value is copied.
///
/// ```text
/// session 1                                          session 2
/// INSERT INTO "app"."Book": 500 pages, author 1
///   trigger: author 1, FOR NO KEY UPDATE
///   UPDATE "app"."Author" … "longest" = 500
///                                                    INSERT INTO "app"."Book": 400 pages, author 1
///                                                      trigger: author 1, FOR NO KEY UPDATE
///                                                      waits
/// COMMIT
///                                                      reads the members: 500 and 400, nothing to change
///                                                    COMMIT
/// ```
///
/// Without the lock session 2 would have read the members before session 1 had committed: 400, which would then replace
/// 500. The price: sessions that change books of one author take turns until the COMMIT.
///
/// The triggers raise no `_version`: a changed derived value is no conflict for a program that has read the author.
///
/// Source: the pages "CREATE TRIGGER", "Trigger Functions" of PL/pgSQL, and "Explicit Locking".
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

  /// The beginning of the names of all functions. A migration and an update find them by it, and tell them from those
  /// of others.
  static let prefix = "_derive_"

  let functions: [Function]
  /// The statements that compute the columns of all rows: after an update of the functions, where rows are there
  /// already.
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

  /// Those that are computed from others of the row come after them: `lowercase:(authorName)` after `authorName`. A
  /// circle of derivations keeps the order of the model.
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
///
/// ```text
/// CREATE TRIGGER "Author_bookCount_members_update" AFTER UPDATE ON "app"."Book"
/// REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
/// FOR EACH STATEMENT EXECUTE FUNCTION "app"."_derive_Author_bookCount_members"()
/// ```
///
/// An INSERT of 4,096 books calls it once, and the aggregate of each author is changed once. A trigger for each row
/// would do both 4,096 times.
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

  /// Triggers with such rows are for one event each: the server allows no transition table for a trigger of several
  /// (page "CREATE TRIGGER"). Their names fit if the function's does: "_insert" is shorter than the prefix that they
  /// lack.
  func triggers(named function: String) -> [String] {
    events.map { event in
      let name = "\(function.dropFirst(ServerDerivations.prefix.count))_\(event.rawValue.lowercased())"
      return "CREATE TRIGGER \(name.quotedName) AFTER \(event.rawValue) ON \(table) \(event.rows) "
        + "FOR EACH STATEMENT"
    }
  }
}

extension String {
  /// The text as the body of a function. Names and constants in it may have any characters, also `$$`; the tag is one
  /// that the text does not have.
  fileprivate var quotedBody: String {
    var tag = "$$"
    while contains(tag) { tag = "$d\(tag.utf8.count)$" }
    return "\(tag)\(self)\(tag)"
  }
}
