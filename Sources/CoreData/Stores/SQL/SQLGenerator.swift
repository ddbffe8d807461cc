/// Puts predicates, sort descriptors and columns of one fetch into SQL.
///
/// The table of the fetched entity has the alias `t0`. The parts belong together: `joins` has the tables of all clauses
/// that were made, as `select` puts them together.
///
/// The clauses give the same results as the predicates in memory, with one exception: `x != value` omits rows whose x
/// is nil, as Apple's store does. Predicates that SQL cannot express throw `SQLGenerationError`.
package final class SQLGenerator {
  /// The key of an object in a predicate; nil if it has no row in this store.
  package typealias Resolver = (any PersistentKeyed) -> (entityName: String, key: Int64)?

  let schema: StoreSchema
  let root: SQLScope
  let dialect: SQLDialect
  let resolve: Resolver

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
  func havingClause(_ predicate: NSPredicate) throws -> SQL {
    var environment = SQLEnvironment(root: root)
    environment.isAggregating = true
    environment.columns = namedColumns
    return try condition(predicate, environment)
  }

  /// The terms of ORDER BY; "" without descriptors.
  func orderClause(_ descriptors: [NSSortDescriptor]) throws -> SQL { try descriptors.map(orderTerm).joined(", ") }

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
