extension SQLGenerator {
  /// `value IN collection`.
  ///
  /// ```text
  /// pages IN {100, 300}          t0.ZPAGES IN (?, ?)
  /// title IN {"a", nil}          (t0.ZTITLE IN (?)) OR t0.ZTITLE IS NULL
  /// title IN {}                  FALSE
  /// SELF IN %@                   t0.Z_PK IN (?, …)
  /// %@ IN books                  EXISTS (SELECT 1 FROM ZBOOK t1 WHERE t1.ZAUTHOR = t0.Z_PK AND (t1.Z_PK = ?))
  /// books CONTAINS %@            the same
  /// "red" IN title               title CONTAINS "red": Apple's predicates allow it for texts
  /// pages IN 600 numbers         t0.ZPAGES IN (SELECT value FROM json_each(?))
  /// ```
  ///
  /// IN with NULL in its list would make every miss NULL; nil is therefore taken out of it.
  func membership(of value: SQLOperand, _ relation: SQLRelation, in collection: SQLOperand) throws -> SQL {
    let equal = relation.with(.equalTo)
    switch collection {
    case .toMany(let relationship):
      return try exists(relationship) { member in
        try self.compare(self.value(of: relationship, member), equal, value)
      }
    case .constant(.collection(let members)):
      return try membership(of: value, equal, in: members.map { PredicateValue($0) })
    case .aggregate(let operands):
      return try operands.map { operand -> SQL in "(\(try compare(value, equal, operand)))" }.joined(" OR ")
    case .constant(.string), .scalar(_, .text): return try textComparison(collection, relation.with(.contains), value)
    case .constant, .scalar, .object: return .no
    }
  }

  /// Members of another kind than the column can equal nothing, and are left out: `pages IN {100, "x", 300}` looks for
  /// two numbers. An object that has no row here is left out too; if nothing is left, the condition is FALSE, and the
  /// statement reads no row.
  private func membership(of value: SQLOperand, _ equal: SQLRelation, in members: [PredicateValue]) throws -> SQL {
    let column: SQL
    let values: [SQLiteValue]
    var valueType = SQLType.integer
    switch try prepared(value, equal) {
    case .scalar(_, .opaque): throw SQLGenerationError.incomparable("transformable values")
    case .scalar(let scalar, let type):
      column = scalar
      valueType = type
      values = try members.compactMap { member in
        if case .constant(let folded) = try prepared(.constant(member), equal) {
          return bound(folded, comparedWith: type)
        }
        return nil
      }
    case .object(let key, _, let mapping):
      column = key
      values = members.compactMap { row(of: $0, in: mapping).map { .integer($0.key) } }
    case .toMany(let relationship): throw SQLGenerationError.toManyWithoutModifier(relationship.path)
    case .constant, .aggregate: throw SQLGenerationError.incomparable("collections for membership")
    }
    let isListed: SQL = values.isEmpty ? .no : "\(column) IN (\(try list(values, valueType)))"
    return members.contains { $0.isNull } ? "(\(isListed)) OR \(column) IS NULL" : isListed
  }

  /// The values of an IN. A long list becomes one parameter, so that statements stay few and short.
  ///
  /// A text with 32,766 parameters is the most that SQLite takes (https://www.sqlite.org/limits.html, "Maximum Number
  /// Of Host Parameters In A Single SQL Statement"), each number of them is a statement of its own to prepare, and none
  /// is found in the cache. As JSON the text stays one. Dates, UUIDs and data have no form in JSON that SQLite would
  /// compare with the column, so they stay parameters, up to 30,000.
  private func list(_ values: [SQLiteValue], _ type: SQLType) throws -> SQL {
    let isPlain = !dialect.hasTypes || type == .integer || type == .text
    if isPlain, values.count > dialect.maximumListLength, let array = jsonArray(values) {
      let isOfIntegers = if case .integer? = values.first { true } else { false }
      var list = SQL(raw: isOfIntegers ? dialect.integersOfArray : dialect.textsOfArray)
      list.values = [.text(array)]
      return list
    }
    guard values.count <= 30_000 else { throw SQLGenerationError.tooManyMembers(values.count) }
    return values.map { dialect.parameter($0, type) }.joined(", ")
  }

  /// Nil if a value would not survive the way through JSON.
  private func jsonArray(_ values: [SQLiteValue]) -> String? {
    var integers: [String] = []
    var texts: [String] = []
    for value in values {
      switch value {
      case .integer(let value): integers.append(String(value))
      case .text(let value) where !value.utf8.contains(0): texts.append(value)
      default: return nil
      }
    }
    if texts.isEmpty { return "[\(integers.joined(separator: ","))]" }
    // Without the list as one parameter, each element gets its own.
    guard integers.isEmpty, let data = try? JSONEncoder().encode(texts) else { return nil }
    return String(decoding: data, as: UTF8.self)
  }

  /// Whether the relationship has a member for which the condition holds.
  func exists(_ relationship: SQLToMany, _ condition: (SQLScope) throws -> SQL) throws -> SQL {
    "EXISTS (\(try select(relationship, { _ in "1" }, where: condition)))"
  }

  /// `SELECT what FROM the members WHERE …`.
  ///
  /// The one place where a to-many relationship becomes FROM and WHERE. With a SUBQUERY's condition:
  ///
  /// ```text
  /// SUBQUERY(books, $b, $b.pages > 500 AND $b.isRead == NO).@count > 0
  /// (SELECT COUNT(*) FROM ZBOOK t1 WHERE t1.ZAUTHOR = t0.Z_PK AND ((t1.ZPAGES > ?) AND (t1.ZISREAD = ?))) > ?
  /// ```
  ///
  /// And with a join table:
  ///
  /// ```text
  /// ANY books.title == "Stardust"
  /// EXISTS (SELECT 1 FROM Z_1BOOKS t1 JOIN ZBOOK t2 ON t2.Z_PK = t1.Z_2BOOKS
  ///         WHERE t1.Z_1AUTHORS = t0.Z_PK AND (t2.ZTITLE = ?))
  /// ```
  ///
  /// The subquery refers to its owner, so SQLite runs it for each row of the outer query. An index by the owner makes
  /// that a look-up: every to-one has one, and a join table has two.
  func select(
    _ relationship: SQLToMany, _ what: (SQLScope) throws -> SQL, where condition: (SQLScope) throws -> SQL = { _ in "" }
  ) throws -> SQL {
    let member: SQLScope
    let source: SQL
    var conditions: [SQL]
    switch relationship.mapping {
    case .foreignKey(let destination, let table, let inverse):
      member = SQLScope(alias: makeAlias(), mapping: try mapping(ofEntity: destination))
      source = "\(raw: table) \(raw: member.alias)"
      conditions = ["\(member.column(inverse.column)) = \(relationship.owner.key)"]
    case .join(let destination, let table, let ownerColumn, let destinationColumn, _):
      let join = makeAlias()
      member = SQLScope(alias: makeAlias(), mapping: try mapping(ofEntity: destination))
      source = """
        \(raw: table) \(raw: join) JOIN \(raw: member.mapping.table) \(raw: member.alias) \
        ON \(member.key) = \(raw: join).\(raw: destinationColumn)
        """
      conditions = ["\(raw: join).\(raw: ownerColumn) = \(relationship.owner.key)"]
    }
    if let (variable, predicate) = relationship.filter {
      let environment = relationship.environment.binding(variable, to: member)
      conditions.append("(\(try self.condition(predicate, environment)))")
    }
    if relationship.union != nil { conditions.append("\(try column(of: relationship, member)) IS NOT NULL") }
    let asked = try condition(member)
    if !asked.isEmpty { conditions.append("(\(asked))") }
    let selected = try what(member)
    // Last, because the steps above may add joins.
    let joins = member.joins.isEmpty ? "" : " \(member.joins.joined(" "))" as SQL
    return "SELECT \(selected) FROM \(source)\(joins) WHERE \(conditions.joined(" AND "))"
  }

  /// The value of the keys after the relationship, for one member.
  func value(of relationship: SQLToMany, _ member: SQLScope) throws -> SQLOperand {
    let operand = try self.operand(at: relationship.remainingKeys, from: member, relationship.environment)
    if case .toMany = operand { throw SQLGenerationError.severalToManySteps(relationship.path) }
    return operand
  }

  /// The value or key of one member as one column.
  ///
  /// For `@unionOfObjects` and `COUNT(DISTINCT …)`, which need one value of each member: `books.title`, or `books`
  /// itself, whose value is the key.
  private func column(of relationship: SQLToMany, _ member: SQLScope) throws -> SQL {
    switch try value(of: relationship, member) {
    case .scalar(let column, _), .object(let column, _, _): return column
    default: throw SQLGenerationError.unsupportedExpression(relationship.path)
    }
  }

  /// A number computed from all members: `@count`, `@sum.price`, or a function such as `sum:` of their values.
  ///
  /// ```text
  /// books.@count             (SELECT COUNT(*) FROM ZBOOK t1 WHERE t1.ZAUTHOR = t0.Z_PK)
  /// books.@max.pages         (SELECT MAX(t1.ZPAGES) FROM ZBOOK t1 WHERE t1.ZAUTHOR = t0.Z_PK)   NULL without books
  /// books.@sum.pages         (SELECT COALESCE(SUM(t1.ZPAGES), 0) FROM …)                        0 without books
  /// books.@avg.pages         (SELECT COALESCE(SUM(t1.ZPAGES) * 1.0 / COUNT(*), 0) FROM …)
  /// median:(books.pages)     (SELECT cd_median(t1.ZPAGES) FROM …)
  /// ```
  func aggregate(_ operation: SQLAggregation, of relationship: SQLToMany) throws -> SQLOperand {
    var type = SQLType.integer
    let query = try select(relationship) { member in
      let value = try self.value(of: relationship, member)
      if operation == .count {
        guard relationship.union == .distinct else { return "COUNT(*)" }
        return "COUNT(DISTINCT \(try self.column(of: relationship, member)))"
      }
      guard case .scalar(let column, let columnType) = value else {
        throw SQLGenerationError.unsupportedExpression("\(operation.rawValue) of \(relationship.path)")
      }
      let result = try self.aggregate(operation, of: column, type: columnType, over: relationship)
      type = result.type
      return operation == .sum || operation == .averageOfPath ? "COALESCE(\(result.sql), 0)" : result.sql
    }
    return .scalar("(\(query))", type)
  }

  /// The aggregate of a column over the rows of a group; NULL over none.
  ///
  /// `* 1.0` keeps two integers from being divided as integers. `@avg` counts nil as 0 and divides by all rows; the
  /// function `average:` divides by those with a value, as Foundation's key-value coding and functions differ:
  ///
  /// ```text
  /// pages 100, 200, nil     books.@avg.pages    SUM * 1.0 / COUNT(*)        100
  ///                         average:(pages)     SUM * 1.0 / COUNT(ZPAGES)   150
  /// ```
  func aggregate(_ operation: SQLAggregation, of column: SQL, type: SQLType, over relationship: SQLToMany? = nil) throws
    -> (sql: SQL, type: SQLType)
  {
    let each: SQL = relationship?.union == .distinct ? "DISTINCT " : ""
    switch operation {
    case .count: return ("COUNT(\(column))", .integer)
    case .minimum, .maximum:
      if type == .opaque { throw SQLGenerationError.incomparable("transformable values") }
      // PostgreSQL has no least UUID and no least bytes.
      if dialect.hasTypes, type == .uuid || type == .data {
        throw SQLGenerationError.unsupportedExpression("\(operation.rawValue) of UUIDs or data")
      }
      return (operation == .minimum ? "MIN(\(column))" : "MAX(\(column))", type)
    case .sum, .average, .averageOfPath, .median, .standardDeviation:
      let isSum = operation != .median && operation != .standardDeviation
      // SQLite adds values of all kinds, PostgreSQL only numbers.
      guard type.isNumeric || (isSum && type.isSummable && !dialect.hasTypes) else {
        throw SQLGenerationError.unsupportedExpression("\(operation.rawValue) of \(relationship?.path ?? "a column")")
      }
      let sum: SQL
      switch type {
      // SQLite would add decimals as binary fractions.
      case .decimal where !dialect.hasTypes:
        sum = "\(raw: SQLFunctions.Name.decimalSum.rawValue)(\(each)CAST(\(column) AS TEXT))"
      // A whole number of seconds is stored as an integer, and would be divided as one.
      case .date: sum = "SUM(\(each)CAST(\(column) AS REAL))"
      default: sum = "SUM(\(each)\(column))"
      }
      if !dialect.hasFunctions, operation == .median || operation == .standardDeviation {
        throw SQLGenerationError.unsupportedFunction(operation.rawValue)
      }
      switch operation {
      case .sum: return (sum, type.isNumeric ? type : .number)
      case .median: return ("\(raw: SQLFunctions.Name.median.rawValue)(\(each)\(column))", .number)
      case .standardDeviation:
        return ("\(raw: SQLFunctions.Name.standardDeviation.rawValue)(\(each)\(column))", .number)
      // A key path counts nil as 0; the function skips nil.
      case .averageOfPath: return (dialect.quotient(sum, "COUNT(*)"), .number)
      default: return (dialect.quotient(sum, "COUNT(\(each)\(column))"), .number)
      }
    }
  }
}

/// The aggregates of the values of many rows. Raw values are for messages.
///
/// ```text
///                      nil values   no values at all
/// -------------------  -----------  --------------------------------------------
/// count                counted      0          COUNT(*) of members; COUNT(column) of a group skips nil
/// sum                  skipped      0          as key-value coding has it; in a group nil
/// minimum, maximum     skipped      nil
/// average              skipped      nil
/// averageOfPath        count as 0   0
/// median, deviation    skipped      nil        computed by the framework's own functions
/// ```
enum SQLAggregation: String {
  case count
  case sum
  case minimum
  case maximum
  /// The mean of the values that are not nil.
  case average
  /// `@avg` in a key path.
  case averageOfPath = "@avg"
  case median
  case standardDeviation

  init?(_ operation: CollectionOperator) {
    switch operation {
    case .count: self = .count
    case .sum: self = .sum
    case .average: self = .averageOfPath
    case .minimum: self = .minimum
    case .maximum: self = .maximum
    case .unionOfObjects, .distinctUnionOfObjects, .unionOfArrays, .distinctUnionOfArrays, .distinctUnionOfSets:
      return nil
    }
  }

  init?(_ function: PredicateFunction) {
    switch function {
    case .count: self = .count
    case .sum: self = .sum
    case .average: self = .average
    case .minimum: self = .minimum
    case .maximum: self = .maximum
    case .median: self = .median
    case .standardDeviation: self = .standardDeviation
    default: return nil
    }
  }
}
