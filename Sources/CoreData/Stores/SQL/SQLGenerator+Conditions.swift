extension SQLGenerator {
  /// The condition of a predicate. NULL counts as false.
  ///
  /// ```text
  /// pages > 100 AND (isRead == YES OR title == nil)
  /// (t0.ZPAGES > ?) AND ((t0.ZISREAD = ?) OR (t0.ZTITLE IS NULL))
  /// ```
  ///
  /// Each part stands in parentheses of its own: what a part becomes may have AND and OR in it.
  ///
  /// Three-valued logic: SQL's conditions are true, false or NULL, predicates in memory only true or false. WHERE keeps
  /// rows for which the condition is true, so NULL and false are alike there, and below AND and OR too. Only NOT would
  /// tell them apart; therefore it is written `(…) IS NOT TRUE`.
  func condition(_ predicate: NSPredicate, _ environment: SQLEnvironment) throws -> SQL {
    switch predicate.kind {
    case .truth(let value): return value ? .yes : .no
    case .block: throw SQLGenerationError.blockPredicate
    case .comparison(let comparison): return try condition(comparison, environment)
    case .compound(.not, let parts):
      guard let part = parts.first else { return .yes }
      return "(\(try condition(part, environment.negated))) IS NOT TRUE"
    case .compound(let type, let parts):
      // A chain that was built two by two is as deep as it is long, too.
      let chain = NSPredicate.chain(of: type, parts)
      if chain.isEmpty { return type == .and ? .yes : .no }
      let conditions = try chain.map { part -> SQL in "(\(try condition(part, environment)))" }
      return joined(conditions, type == .and ? " AND " : " OR ")
    }
  }

  /// Joins long chains in nested groups: a chain is as deep as it is long, and SQLite allows a depth of 1000.
  ///
  /// Source: https://www.sqlite.org/limits.html, "Maximum Depth Of An Expression Tree".
  ///
  /// ```text
  /// 250 parts   ((1 OR … OR 100) OR (101 OR … OR 200) OR (201 OR … OR 250))    depth about 100 instead of 250
  /// ```
  private func joined(_ conditions: [SQL], _ separator: String) -> SQL {
    let size = 100
    if conditions.count <= size { return conditions.joined(separator) }
    let groups = stride(from: 0, to: conditions.count, by: size).map { start -> SQL in
      "(\(Array(conditions[start..<min(start + size, conditions.count)]).joined(separator)))"
    }
    return joined(groups, separator)
  }

  /// A comparison with its modifier, which asks about one value or about members.
  ///
  /// ```text
  /// ANY books.pages > 500      EXISTS (SELECT 1 FROM ZBOOK t1 WHERE t1.ZAUTHOR = t0.Z_PK AND (t1.ZPAGES > ?))
  /// ALL books.isRead == YES    NOT (EXISTS (SELECT 1 FROM ZBOOK t1 WHERE t1.ZAUTHOR = t0.Z_PK
  ///                                           AND ((t1.ZISREAD = ?) IS NOT TRUE)))
  /// NONE books.isRead == YES   the parser makes NOT ANY of it
  /// ```
  ///
  /// ALL is true of an author without books: no book fails. EXISTS ends at the first book that it finds, through the
  /// index of `ZBOOK.ZAUTHOR`.
  private func condition(_ comparison: NSComparisonPredicate, _ environment: SQLEnvironment) throws -> SQL {
    let left = try operand(comparison.leftExpression, environment)
    let right = try operand(comparison.rightExpression, environment)
    let relation = SQLRelation(
      type: comparison.predicateOperatorType, options: comparison.options, environment: environment)
    switch comparison.comparisonPredicateModifier {
    case .direct: return try compare(left, relation, right)
    case .any:
      return try quantified(left, comparison.leftExpression) { try self.compare($0, relation, right) }
    case .all:
      let failing = relation.negated
      let anyFails = try quantified(left, comparison.leftExpression) { member in
        "(\(try self.compare(member, failing, right))) IS NOT TRUE"
      }
      return "NOT (\(anyFails))"
    }
  }

  /// Whether the condition holds for one of the members.
  ///
  /// ```text
  /// ANY {1, 2} == pages    the members are known: (t0.ZPAGES = ?) OR (t0.ZPAGES = ?)
  /// ANY nil == 5           FALSE: there is no member
  /// ```
  private func quantified(
    _ collection: SQLOperand, _ expression: NSExpression, _ condition: (SQLOperand) throws -> SQL
  ) throws -> SQL {
    let members: [SQLOperand]
    switch collection {
    case .toMany(let relationship):
      return try exists(relationship) { member in try condition(self.value(of: relationship, member)) }
    case .constant(.collection(let values)): members = values.map { .constant(PredicateValue($0)) }
    case .aggregate(let operands): members = operands
    case .constant(.null): members = []
    default: throw SQLGenerationError.notToMany(expression.printed)
    }
    if members.isEmpty { return .no }
    return try members.map { member -> SQL in "(\(try condition(member)))" }.joined(" OR ")
  }

  /// One value compared with another.
  ///
  /// Two constants are compared here and now, by the code of predicates in memory. Everything else is sorted by the
  /// operator: equality, order, range, membership, text.
  func compare(_ left: SQLOperand, _ relation: SQLRelation, _ right: SQLOperand) throws -> SQL {
    if case .constant(let left) = left, case .constant(let right) = right {
      return Comparison(type: relation.type, options: relation.options).holds(left, right) ? .yes : .no
    }
    switch relation.type {
    case .equalTo, .notEqualTo: return try equality(prepared(left, relation), relation, prepared(right, relation))
    case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo:
      return try order(prepared(left, relation), relation, prepared(right, relation))
    case .between: return try between(prepared(left, relation), relation, right)
    case .in: return try membership(of: left, relation, in: right)
    case .contains:
      switch left {
      case .toMany, .aggregate, .constant(.collection): return try membership(of: right, relation, in: left)
      default: return try textComparison(left, relation, right)
      }
    case .beginsWith, .endsWith, .like, .matches: return try textComparison(left, relation, right)
    }
  }

  /// `pages BETWEEN {100, 300}` becomes `(t0.ZPAGES >= ?) AND (t0.ZPAGES <= ?)`, which a bound of another kind makes
  /// FALSE. SQL's BETWEEN would compare values of different kinds by their storage class.
  private func between(_ value: SQLOperand, _ relation: SQLRelation, _ bounds: SQLOperand) throws -> SQL {
    let members: [SQLOperand]
    switch bounds {
    case .constant(.collection(let values)): members = values.map { .constant(PredicateValue($0)) }
    case .aggregate(let operands): members = operands
    default: throw SQLGenerationError.unsupportedExpression("BETWEEN without {lowest, highest}")
    }
    guard members.count == 2 else { return .no }
    let low = try order(value, relation.with(.greaterThanOrEqualTo), prepared(members[0], relation))
    let high = try order(value, relation.with(.lessThanOrEqualTo), prepared(members[1], relation))
    return "(\(low)) AND (\(high))"
  }
}

extension SQLGenerator {
  /// The operand with its texts folded as the relation's options say.
  ///
  /// `title ==[cd] author.name` becomes `cd_fold(t0.ZTITLE, 3) IS cd_fold(t1.ZNAME, 3)`: 1 ignores case, 2 ignores
  /// diacritics, 3 both. A constant is folded once, here; a column in each row. An index of the column does not serve
  /// the folded text.
  func prepared(_ operand: SQLOperand, _ relation: SQLRelation) throws -> SQLOperand {
    let folding = relation.folding
    if folding.isEmpty { return operand }
    switch operand {
    case .constant(.string(let text)): return .constant(.string(StringMatching.folded(text, folding)))
    case .scalar(let column, .text):
      if !dialect.hasFunctions { return .scalar(try folded(column, folding), .text) }
      let name = SQLFunctions.Name.fold.rawValue
      return .scalar("\(raw: name)(\(column), \(raw: String(folding.rawValue)))", .text)
    default: return operand
    }
  }
}

/// A comparison operator with its options.
struct SQLRelation {
  let type: NSComparisonPredicate.Operator
  let options: NSComparisonPredicate.Options
  let environment: SQLEnvironment

  var negated: SQLRelation { SQLRelation(type: type, options: options, environment: environment.negated) }

  func with(_ type: NSComparisonPredicate.Operator) -> SQLRelation {
    SQLRelation(type: type, options: options, environment: environment)
  }

  /// The options that change a text before it is compared.
  var folding: NSComparisonPredicate.Options {
    options.intersection([.caseInsensitive, .diacriticInsensitive])
  }
}
