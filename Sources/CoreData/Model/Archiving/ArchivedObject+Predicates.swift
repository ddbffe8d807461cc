/// Predicates, expressions and sort descriptors in keyed archives. Class names and keys are those of Apple's archives.
///
/// ```text
/// pages > 500
/// NSComparisonPredicate
///   NSLeftExpression    NSKeyPathExpression   NSOperand NSSelfExpression, NSSelectorName "valueForKey:",
///                                             NSArguments [ NSKeyPathSpecifierExpression NSKeyPath "pages" ]
///   NSRightExpression   NSConstantValueExpression   NSConstantValue 500
///   NSPredicateOperator NSComparisonPredicateOperator   NSOperatorType 2, NSModifier 0, NSOptions 0
/// ```
///
/// An object of an unknown kind is nil, and so is everything that has one inside: a compound without one of its parts
/// would let more objects through.
/// `KeyedArchiveWriter+Predicates.swift` writes the same form.
extension ArchivedObject {
  // MARK: Predicates

  /// The predicate that this object is; nil for an unknown kind.
  ///
  /// Each level counts against the archive's limits, since predicates nest.
  var predicate: NSPredicate? { limits.deeper { readPredicate() } }

  private func readPredicate() -> NSPredicate? {
    switch className {
    case "NSComparisonPredicate": return comparison
    case "NSCompoundPredicate":
      let number = integer("NSCompoundPredicateType").flatMap(UInt.init(exactly:))
      guard let parts = all("NSSubpredicates", \.predicate) else { return nil }
      guard let type = number.flatMap(NSCompoundPredicate.LogicalType.init), type != .not || parts.count == 1 else {
        return nil
      }
      return ParsedCompoundPredicate(type: type, subpredicates: parts)
    case "NSTruePredicate": return TruthPredicate(value: true)
    case "NSFalsePredicate": return TruthPredicate(value: false)
    default: return nil
    }
  }

  /// The predicate under a key.
  func predicate(_ key: String) -> NSPredicate? { object(key)?.predicate }

  /// The predicate of a request under a key; nil if there is none.
  ///
  /// A predicate that cannot be read is replaced by a closure that is false for every object; a fetch from an SQL store
  /// throws 134070 for it. Without any predicate the request would fetch all objects.
  func filter(_ key: String) -> NSPredicate? {
    object(key).map { object in object.predicate ?? NSPredicate { _, _ in false } }
  }

  /// A comparison. The operator is an object of its own there, whose class follows from the operator; the number in it
  /// says the same, and is all that is read.
  private var comparison: NSPredicate? {
    guard let left = expression("NSLeftExpression"), let right = expression("NSRightExpression"),
      let comparison = object("NSPredicateOperator"), let number = comparison.integer("NSOperatorType"),
      let type = NSComparisonPredicate.Operator(rawValue: UInt(clamping: number))
    else { return nil }
    // Operators on strings keep their options as flags.
    let options = comparison.integer("NSOptions") ?? comparison.integer("NSFlags") ?? 0
    return NSComparisonPredicate(
      leftExpression: left, rightExpression: right,
      modifier: .init(rawValue: UInt(clamping: comparison.integer("NSModifier") ?? 0)) ?? .direct, type: type,
      options: .init(rawValue: UInt(clamping: options)))
  }

  // MARK: Expressions

  /// The expression under a key.
  func expression(_ key: String) -> NSExpression? { object(key)?.expression }

  /// The expression that this object is; nil for an unknown kind.
  var expression: NSExpression? { limits.deeper { readExpression() } }

  /// The expression by its archived class. The value of a constant may itself be an expression or a predicate.
  private func readExpression() -> NSExpression? {
    switch className {
    case "NSConstantValueExpression":
      if let name = string("NSConstantValueClassName") { return NSExpression(forConstantValue: name) }
      let held = object("NSConstantValue")
      let constant: Any? = held?.predicate ?? held?.expression ?? value("NSConstantValue")
      if held != nil, constant == nil { return nil }
      return NSExpression(forConstantValue: constant)
    case "NSSelfExpression": return .expressionForEvaluatedObject()
    case "NSAnyKeyExpression": return .expressionForAnyKey()
    case "NSVariableExpression": return string("NSVariable").map(NSExpression.init(forVariable:))
    case "NSKeyPathSpecifierExpression": return string("NSKeyPath").map(NSExpression.init(forKeyPath:))
    case "NSKeyPathExpression": return keyPath
    case "NSFunctionExpression": return function
    case "NSAggregateExpression":
      return all("NSCollection", \.expression).map(NSExpression.init(forAggregate:))
    case "NSUnionSetExpression", "NSIntersectSetExpression", "NSMinusSetExpression", "NSSetExpression": return set
    case "NSSubqueryExpression": return subquery
    case "NSTernaryExpression":
      guard let predicate = predicate("NSPredicate"), let chosen = expression("NSTrueExpression"),
        let otherwise = expression("NSFalseExpression")
      else { return nil }
      return NSExpression(forConditional: predicate, trueExpression: chosen, falseExpression: otherwise)
    case "NSFetchRequestExpression":
      guard let request = expression("NSFRExpression"), let context = expression("NSMOCExpression") else { return nil }
      return NSFetchRequestExpression.expression(
        forFetch: request, context: context, countOnly: bool("NSCountOnlyFlag"))
    default: return nil
    }
  }

  /// A key path. Its text is the argument of a call of `valueForKeyPath:`; the operand is `SELF` or another expression,
  /// such as a variable.
  private var keyPath: NSExpression? {
    guard let path = objects("NSArguments").first?.string("NSKeyPath") else { return nil }
    let operand = object("NSOperand")
    if operand == nil || operand?.className == "NSSelfExpression" { return NSExpression(forKeyPath: path) }
    return operand?.expression.map {
      NSExpression(node: .keyPath(operand: $0, path: KeyPathComponents(path)))
    }
  }

  /// A function of expressions' own, whose operand is a class of Foundation, or a method of the operand.
  ///
  /// The names are not checked: mapping models call methods of the migration manager, which only the migration knows.
  private var function: NSExpression? {
    guard let name = string("NSSelectorName"), let arguments = all("NSArguments", \.expression) else { return nil }
    let target = object("NSOperand")
    let isOwn = target == nil || target?.string("NSConstantValueClassName") == ArchivedNames.functionClass
    let operand = isOwn ? nil : target?.expression
    guard isOwn || operand != nil else { return nil }
    return NSExpression(node: .function(name: name, operand: operand, arguments: arguments))
  }

  /// UNION, INTERSECT or MINUS. Archives have a class for each, or one class for all; the kind is read from the number
  /// that all of them have.
  private var set: NSExpression? {
    guard let left = expression("NSLeftExpression"), let right = expression("NSRightExpression") else { return nil }
    switch NSExpression.ExpressionType(rawValue: UInt(clamping: integer("NSExpressionType") ?? 0)) {
    case .intersectSet: return NSExpression(forIntersectSet: left, with: right)
    case .minusSet: return NSExpression(forMinusSet: left, with: right)
    default: return NSExpression(forUnionSet: left, with: right)
    }
  }

  /// A SUBQUERY; its variable is a text in some archives and an expression in others.
  private var subquery: NSExpression? {
    guard let collection = expression("NSCollection"), let predicate = predicate("NSPredicate"),
      let variable = string("NSVariable") ?? object("NSVariableExpression")?.string("NSVariable")
    else { return nil }
    return NSExpression(forSubquery: collection, usingIteratorVariable: variable, predicate: predicate)
  }

  // MARK: Sort descriptors

  /// The sort descriptor that this object is. A closure cannot be archived.
  var sortDescriptor: NSSortDescriptor? {
    guard className == "NSSortDescriptor" else { return nil }
    let selector = string("NSSelector").flatMap { $0 == "compare:" ? nil : Selector($0) }
    return NSSortDescriptor(key: string("NSKey"), ascending: bool("NSAscending"), selector: selector)
  }
}

/// Names in Apple's archives.
enum ArchivedNames {
  /// The class whose methods are the functions of expressions.
  static let functionClass = "_NSPredicateUtilities"
  /// The mark of a property for Spotlight's external records. No archive at hand has one: the name is a guess.
  static let externalRecord = "NSStoredInExternalRecord"
  /// What marks a place without a value in the dictionary of a model's entities.
  static let emptySlot = "__empty_slot_token_4c24_98dc_ac1e_b773__"
}
