/// Puts predicates, sort descriptors and columns of one fetch into SQL.
///
/// The table of the fetched entity has the alias `t0`. The parts belong together: `joins` has the tables of all clauses
/// that were made, as `select` puts them together.
///
/// The clauses give the same results as the predicates in memory, with one exception: `x != value` omits rows whose x
/// is nil, as Apple's store does. Predicates that SQL cannot express throw `SQLGenerationError`.
///
/// One generator serves one statement. The order of the calls is free, except that expression descriptions come before
/// the clauses that name them, and `joins` last:
///
/// ```text
/// fetch of Book                            clause          SQL
/// ---------------------------------------  --------------  -------------------------------------------------------
/// entityName, includesSubentities          restriction     t0.Z_ENT IN (2, 3), where the table has other rows too
/// predicate: author.name == "Le Guin"      whereClause     (t1.ZNAME = ?)
/// sortDescriptors: title                   orderClause     t0.ZTITLE ASC
///                                          joins           LEFT JOIN ZAUTHOR t1 ON t1.Z_PK = t0.ZAUTHOR
/// fetchLimit 20, fetchOffset 40            select          LIMIT 20 OFFSET 40
/// ```
///
/// A predicate goes through three forms. `operand` turns each side of a comparison into an `SQLOperand`; `condition`
/// and `compare` join two operands to a condition; `SQL` is the text with its parameters:
///
/// ```text
/// title BEGINSWITH "The "   →  .scalar(t0.ZTITLE, .text), .constant("The ")   →  t0.ZTITLE >= ? AND t0.ZTITLE < ?
/// ```
///
/// Values are always parameters, so that a statement's text is the same for all of them and stays prepared. Only names,
/// which `SchemaLayout` has checked, numbers of entities, options and the window of rows become text.
package final class SQLGenerator {
  /// The key of an object in a predicate; nil if it has no row in this store.
  package typealias Resolver = (any PersistentKeyed) -> (entityName: String, key: Int64)?

  let schema: StoreSchema
  let root: SQLScope
  let dialect: SQLDialect
  let resolve: Resolver

  /// The last alias given: `t0` is the fetched row's.
  private var aliasCount = 0

  /// The columns of expression descriptions by name, to which HAVING and ORDER BY may refer.
  var namedColumns: [String: SQLOperand] = [:]

  package init(
    schema: StoreSchema, entity: TableMapping, dialect: SQLDialect = .sqlite,
    resolve: @escaping Resolver = { $0.persistentKey }
  ) {
    self.schema = schema
    self.root = SQLScope(alias: "t0", mapping: entity)
    self.dialect = dialect
    self.resolve = resolve
  }

  /// The joins of the clauses, each after a space, for the text after `FROM table t0`; "" for none.
  var joins: String { root.joins.map { " " + $0.text }.joined() }

  /// The condition that restricts `t0` to rows of the entity; nil if its table has no others.
  ///
  /// With the subentity `Novel` (3) of `Book` (2):
  ///
  /// ```text
  /// fetch Book                                no condition: the table has no other rows
  /// fetch Book, includesSubentities = false   t0.Z_ENT = 2
  /// fetch Novel                               t0.Z_ENT = 3
  /// ```
  func entityRestriction(includesSubentities: Bool) -> String? {
    let mapping = root.mapping
    let allowedNumbers = Set(includesSubentities ? mapping.numbersIncludingSubentities : [mapping.number])
    let inTable = schema.entities.filter { $0.table == mapping.table }.map(\.number)
    if allowedNumbers.isSuperset(of: inTable) { return nil }
    let numbers = allowedNumbers.sorted().map(String.init)
    let column = mapping.names.entity
    return numbers.count == 1 ? "t0.\(column) = \(numbers[0])" : "t0.\(column) IN (\(numbers.joined(separator: ", ")))"
  }

  /// The condition of a predicate, in parentheses.
  func whereClause(_ predicate: NSPredicate) throws -> SQL {
    "(\(try condition(predicate, SQLEnvironment(root: root))))"
  }

  /// The condition on groups: key paths refer to the grouped columns, functions such as `sum:` to the whole group.
  ///
  /// ```text
  /// propertiesToFetch      author, total = sum:(pages)
  /// propertiesToGroupBy    author
  /// havingPredicate        total > 100
  ///
  /// SELECT t0.ZAUTHOR, SUM(t0.ZPAGES) FROM ZBOOK t0 GROUP BY t0.ZAUTHOR HAVING SUM(t0.ZPAGES) > ?
  /// ```
  ///
  /// `total` is replaced by its expression. SQLite would accept the column's alias, PostgreSQL does not in HAVING.
  func havingClause(_ predicate: NSPredicate) throws -> SQL {
    var environment = SQLEnvironment(root: root)
    environment.isAggregating = true
    environment.columns = namedColumns
    return try condition(predicate, environment)
  }

  /// The terms of ORDER BY; "" without descriptors.
  func orderClause(_ descriptors: [NSSortDescriptor]) throws -> SQL { try descriptors.map(orderTerm).joined(", ") }

  /// One descriptor as a term of ORDER BY.
  ///
  /// ```text
  /// descriptor                                    term
  /// --------------------------------------------  ---------------------------------------------
  /// title                                         t0.ZTITLE ASC
  /// title, localizedStandardCompare:              t0.ZTITLE COLLATE CD_LOCALIZED_STANDARD ASC
  /// author.name, descending                       t1.ZNAME DESC, with the join of t1
  /// author                                        t0.ZAUTHOR ASC: by the authors' keys
  /// books                                         error: many values cannot be ordered
  /// a comparator                                  error: a block is not SQL
  /// ```
  ///
  /// Only a term without COLLATE can be served by an index: the framework's collations are registered for each
  /// connection and have no index in the file. NULL comes first when ascending, in SQLite by itself
  /// (https://www.sqlite.org/lang_select.html, "The ORDER BY clause"), as nil does in memory.
  private func orderTerm(_ descriptor: NSSortDescriptor) throws -> SQL {
    if descriptor.hasComparator { throw SQLGenerationError.comparatorSort }
    var environment = SQLEnvironment(root: root)
    environment.columns = namedColumns
    environment.isAggregating = !namedColumns.isEmpty
    let key = descriptor.key ?? "self"
    let direction = descriptor.ascending ? dialect.ascending : dialect.descending
    switch try operand(NSExpression(forKeyPath: key), environment) {
    case .scalar(let column, .text):
      let ordering = descriptor.selector.flatMap(StringOrdering.init(selector:)) ?? .binary
      guard let collation = SQLFunctions.collationName(of: ordering) else { return "\(column) \(raw: direction)" }
      if !dialect.hasFunctions { return try storedOrder(column, ordering, ascending: descriptor.ascending) }
      return "\(column) COLLATE \(raw: collation) \(raw: direction)"
    case .scalar(_, .opaque), .scalar(_, .entity): throw SQLGenerationError.incomparable("values of \(key)")
    case .scalar(let column, _), .object(let column, _, _): return "\(column) \(raw: direction)"
    case .toMany: throw SQLGenerationError.toManySort(key)
    case .constant, .aggregate: throw SQLGenerationError.unsupportedExpression(key)
    }
  }

  /// Aliases are numbered over the whole statement, subqueries included, so that no inner name hides an outer one.
  func makeAlias() -> String {
    aliasCount += 1
    return "t\(aliasCount)"
  }

  func mapping(ofEntity name: String) throws -> TableMapping {
    guard let mapping = schema.entitiesByName[name] else { throw SQLGenerationError.unknownEntity(name) }
    return mapping
  }
}

/// The meaning of names in an expression.
///
/// It is passed down by value while an expression is walked through, so that what holds below a SUBQUERY or a NOT does
/// not hold beside it.
struct SQLEnvironment {
  /// `SELF`, from which plain key paths start.
  let root: SQLScope
  /// The members for SUBQUERY's variables.
  var variables: [String: SQLScope] = [:]
  /// Whether `sum:` and the like apply to a whole group of rows.
  var isAggregating = false
  /// Columns that have names of their own.
  var columns: [String: SQLOperand] = [:]
  /// Below a NOT a comparison with NULL must give the same result as in memory, or NOT would lose the row.
  ///
  /// ```text
  /// title                 NULL        "Kindred"   "Dawn"
  /// title != "Kindred"    left out    left out    found      t0.ZTITLE <> ?              as Apple's store does
  /// NOT title == "Kindred"  found     left out    found      (t0.ZTITLE = ?) IS NOT TRUE
  /// NOT title != "Kindred"  left out  found       left out   (t0.ZTITLE IS NOT ?) IS NOT TRUE
  /// ```
  ///
  /// In the last row `<> ?` would give NULL for a missing title, and IS NOT TRUE would make it found.
  var isNegated = false

  /// Set by NOT and by ALL, and never taken back further down: below two NOTs a comparison may be written the longer
  /// way without need, and is right.
  var negated: SQLEnvironment {
    var copy = self
    copy.isNegated = true
    return copy
  }

  func binding(_ variable: String, to scope: SQLScope) -> SQLEnvironment {
    var copy = self
    copy.variables[variable] = scope
    return copy
  }
}
