/// The differences between databases that predicates meet: one value for each database.
///
/// ```text
///                         SQLite                             PostgreSQL
/// ----------------------  ---------------------------------  ------------------------------------------------
/// nil equals nil          a IS b                             a IS NOT DISTINCT FROM b
/// a date                  a REAL: seconds since 2001         timestamptz: computed from the seconds by the server
/// a Boolean               0 or 1                             boolean, compared as (column)::int
/// a UUID                  16 bytes                           uuid
/// texts without case      cd_fold(…), in Swift               "schema"._fold_case(…), in the schema
/// 600 numbers in IN       json_each(?)                       json_array_elements_text(?::json)
/// text in text            instr(text, part)                  strpos(text, part)
/// NULL in an order        first                              NULLS FIRST has to be said
/// rows to be updated      one writer has the file            SELECT … FOR NO KEY UPDATE OF t0
/// ```
///
/// It has only what predicates meet. How values are bound and read is `CellWriter` and `RowCells`.
package struct SQLDialect: Sendable {
  /// Equality for which NULL equals NULL.
  let nullSafeEqual: String
  /// The opposite.
  let nullSafeDifferent: String
  /// The number of parameters in one list from which `list` is used instead.
  let maximumListLength: Int
  /// Subqueries with the members of a JSON array of integers or texts, which is bound as one parameter.
  let integersOfArray: String
  let textsOfArray: String
  /// What stands after a term of ORDER BY, so that NULL is less than any value.
  let ascending: String
  let descending: String
  /// The position of a text in another one, from 1; 0 if it is not there.
  let positionFunction: String
  /// LIMIT for no limit before an OFFSET.
  let noLimit: String
  /// What stands after a SELECT whose rows of `t0` are updated afterwards; nil where one writer has all of the
  /// database.
  let rowLock: String?
  /// Whether connections have this framework's own functions and collations (`SQLFunctions`).
  let hasFunctions: Bool
  /// Whether the store's schema has functions of texts (`StoredTextFunction`).
  var hasTextFunctions = false
  /// Whether columns have types that values are converted to: dates, UUIDs, decimals, booleans. If not, a value is
  /// compared in the form in which it is stored.
  let hasTypes: Bool

  /// Source: https://www.sqlite.org/lang_expr.html (IS), https://www.sqlite.org/json1.html (json_each),
  /// https://www.sqlite.org/limits.html (32,766 parameters).
  static let sqlite = SQLDialect(
    nullSafeEqual: "IS", nullSafeDifferent: "IS NOT", maximumListLength: 500,
    integersOfArray: "SELECT value FROM json_each(?)", textsOfArray: "SELECT value FROM json_each(?)",
    ascending: "ASC", descending: "DESC", positionFunction: "instr", noLimit: "-1", rowLock: nil,
    hasFunctions: true, hasTypes: false)

  /// Source: https://www.postgresql.org/docs/15/functions-comparison.html (IS DISTINCT FROM),
  /// https://www.postgresql.org/docs/15/queries-order.html (NULLs are greater than any value by default),
  /// https://www.postgresql.org/docs/15/limits.html (65,535 parameters).
  package static let postgreSQL = SQLDialect(
    nullSafeEqual: "IS NOT DISTINCT FROM", nullSafeDifferent: "IS DISTINCT FROM", maximumListLength: 100,
    integersOfArray: "SELECT value::bigint FROM json_array_elements_text(?::json)",
    textsOfArray: "SELECT value FROM json_array_elements_text(?::json)",
    ascending: "ASC NULLS FIRST", descending: "DESC NULLS LAST", positionFunction: "strpos", noLimit: "ALL",
    rowLock: "FOR NO KEY UPDATE OF t0", hasFunctions: false, hasTextFunctions: true, hasTypes: true)

  /// For a store in which nobody with the right to do so has made the functions yet.
  package static let postgreSQLWithoutFunctions: SQLDialect = {
    var dialect = postgreSQL
    dialect.hasTextFunctions = false
    return dialect
  }()
}

extension SQLDialect {
  /// A parameter for a value that is compared with values of the type.
  package func parameter(_ value: SQLiteValue, _ type: SQLType) -> SQL {
    guard hasTypes else { return "\(bind: value)" }
    switch (type, value) {
    // Dates are bound as seconds: the server rounds them to microseconds, as it does when they are stored.
    case (.date, .real), (.date, .integer):
      return "(timestamptz '2001-01-01 00:00:00+00' + \(bind: value) * interval '1 second')"
    case (.uuid, .blob): return "encode(\(bind: value), 'hex')::uuid"
    case (.decimal, .text): return "\(bind: value)::numeric"
    default: return "\(bind: value)"
    }
  }

  /// What an expression gives, as a value of an attribute's column.
  func assigned(_ sql: SQL, _ type: SQLType, to attribute: AttributeColumn) -> SQL {
    if attribute.type == .booleanAttributeType { return hasTypes ? "(\(sql)) <> 0" : sql }
    guard SQLType(attribute.type) == .integer else { return sql }
    if !hasTypes { return "CAST(\(sql) AS INTEGER)" }
    return type == .integer ? sql : "trunc(\(sql))::bigint"
  }

  /// A column as a value of its type: booleans take part in comparisons as 0 and 1.
  func column(_ column: SQL, _ type: NSAttributeType) -> SQL {
    hasTypes && type == .booleanAttributeType ? "(\(column))::int" : column
  }

  /// A value that is NULL only if all columns are.
  ///
  /// SQLite's coalesce takes values of different types, PostgreSQL's does not; there the values are counted.
  func anyOf(_ columns: [SQL]) -> SQL {
    if columns.count == 1 { return columns[0] }
    return hasTypes ? "NULLIF(num_nonnulls(\(columns.joined(", "))), 0)" : "coalesce(\(columns.joined(", ")))"
  }

  /// The mean of a sum.
  func quotient(_ sum: SQL, _ count: SQL) -> SQL {
    hasTypes ? "(\(sum))::float8 / NULLIF(\(count), 0)" : "\(sum) * 1.0 / \(count)"
  }
}
