/// Puts predicates, sort descriptors and columns of one fetch into SQL.
///
/// The table of the fetched entity goes by the alias `t0`. What was generated belongs together:
///
///     let generator = SQLGenerator(schema: schema, entity: mapping)
///     let condition = try generator.whereClause(predicate)
///     let order = try generator.orderClause(descriptors)
///     let sql = "SELECT t0.Z_PK FROM \(mapping.table) t0\(generator.joins) WHERE \(condition) ORDER BY \(order)"
///     statement.bind(generator.bindings)
///
/// The clauses give the answers that the same predicates give in memory, but for one: `x != value` leaves out rows
/// where x is nil, as Apple's store does. What cannot be said in SQL throws `SQLGenerationError`.
final class SQLGenerator {
  /// The key of an object that a predicate names; nil if it is in no row of this store.
  typealias Resolver = (any PersistentKeyed) -> (entityName: String, key: Int64)?

  let schema: StoreSchema
  let root: SQLScope
  let dialect: SQLDialect
  let resolve: Resolver

  var columnClause: SQL = ""
  private var whereSQL: SQL = ""
  var groupSQL: SQL = ""
  private var havingSQL: SQL = ""
  private var orderSQL: SQL = ""
  private var aliasCount = 0

  /// The columns that `columns` made of expression descriptions, by name: what HAVING and ORDER BY may refer to.
  var namedColumns: [String: SQLOperand] = [:]

  init(
    schema: StoreSchema, entity: TableMapping, dialect: SQLDialect = .sqlite,
    resolve: @escaping Resolver = { $0.persistentKey }
  ) {
    self.schema = schema
    self.root = SQLScope(alias: "t0", mapping: entity)
    self.dialect = dialect
    self.resolve = resolve
  }

  /// The joins that the clauses need, each after a space, for right behind `FROM table t0`; "" where they need none.
  var joins: String { root.joins.map { " " + $0.text }.joined() }

  /// The values for the parameters: columns first, then WHERE, GROUP BY, HAVING and ORDER BY.
  var bindings: [SQLiteValue] {
    columnClause.values + whereSQL.values + groupSQL.values + havingSQL.values + orderSQL.values
  }

  /// The condition that restricts `t0` to rows of the entity, nil where its table holds nothing else.
  func entityRestriction(includesSubentities: Bool) -> String? {
    let mapping = root.mapping
    let wanted = Set(includesSubentities ? mapping.numbersIncludingSubentities : [mapping.number])
    let inTable = schema.entities.filter { $0.table == mapping.table }.map(\.number)
    if wanted.isSuperset(of: inTable) { return nil }
    let numbers = wanted.sorted().map(String.init)
    return numbers.count == 1 ? "t0.Z_ENT = \(numbers[0])" : "t0.Z_ENT IN (\(numbers.joined(separator: ", ")))"
  }

  /// The condition of a predicate, in parentheses.
  func whereClause(_ predicate: NSPredicate) throws -> String {
    whereSQL = "(\(try condition(predicate, SQLEnvironment(root: root))))"
    return whereSQL.text
  }

  /// The condition on groups; key paths stand for what is grouped by, functions such as `sum:` for the whole group.
  func havingClause(_ predicate: NSPredicate) throws -> String {
    var environment = SQLEnvironment(root: root)
    environment.isAggregating = true
    environment.columns = namedColumns
    havingSQL = try condition(predicate, environment)
    return havingSQL.text
  }

  /// The terms of ORDER BY; "" where there are no descriptors.
  func orderClause(_ descriptors: [NSSortDescriptor]) throws -> String {
    orderSQL = try descriptors.map(orderTerm).joined(", ")
    return orderSQL.text
  }

  private func orderTerm(_ descriptor: NSSortDescriptor) throws -> SQL {
    if descriptor.hasComparator { throw SQLGenerationError.comparatorSort }
    var environment = SQLEnvironment(root: root)
    environment.columns = namedColumns
    environment.isAggregating = !namedColumns.isEmpty
    let key = descriptor.key ?? "self"
    let direction = descriptor.ascending ? "ASC" : "DESC"
    switch try operand(NSExpression(forKeyPath: key), environment) {
    case .scalar(let column, .text):
      let ordering = descriptor.selector.flatMap(StringOrdering.init(selector:)) ?? .binary
      guard let collation = SQLFunctions.collationName(of: ordering) else { return "\(column) \(raw: direction)" }
      return "\(column) COLLATE \(raw: collation) \(raw: direction)"
    case .scalar(_, .opaque): throw SQLGenerationError.incomparable("values of \(key)")
    case .scalar(let column, _), .object(let column, _, _): return "\(column) \(raw: direction)"
    case .toMany: throw SQLGenerationError.toManySort(key)
    case .constant, .aggregate: throw SQLGenerationError.unsupportedExpression(key)
    }
  }

  func makeAlias() -> String {
    aliasCount += 1
    return "t\(aliasCount)"
  }

  func mapping(ofEntity name: String) throws -> TableMapping {
    guard let mapping = schema.entitiesByName[name] else { throw SQLGenerationError.unknownEntity(name) }
    return mapping
  }
}

/// What an expression's parts refer to.
struct SQLEnvironment {
  /// `SELF`, and where plain key paths start.
  let root: SQLScope
  /// The members that SUBQUERY variables stand for.
  var variables: [String: SQLScope] = [:]
  /// Whether `sum:` and the like take a whole group of rows.
  var isAggregating = false
  /// Columns that have names of their own.
  var columns: [String: SQLOperand] = [:]
  /// Below a NOT, a comparison with NULL must say what it says in memory, or NOT would lose the row.
  var isNegated = false

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
