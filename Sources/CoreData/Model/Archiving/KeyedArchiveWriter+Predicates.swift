/// Predicates, expressions and sort descriptors, with the class names and keys of Apple's archives: see
/// `ArchivedObject+Predicates.swift` for an example. An archive cannot hold a closure: a predicate or expression that
/// contains one cannot be read.
///
/// Used for validation predicates, partial indexes, derivations and fetch requests of models. What is written must read
/// back as an equal tree; a framework of Apple's should be able to read it, too, when it opens a file that this package
/// made.
extension KeyedArchiveWriter {
  // MARK: Predicates

  /// The reference to a predicate. An archive for Apple's classes names the class and its superclass, as unarchivers
  /// check them.
  func predicate(_ predicate: NSPredicate?) -> PropertyListValue {
    switch predicate?.kind {
    case .comparison(let comparison): return self.comparison(comparison)
    case .compound(let type, let parts):
      return object(
        ["NSCompoundPredicate", "NSPredicate"],
        [
          "NSCompoundPredicateType": .integer(Int64(type.rawValue)),
          "NSSubpredicates": array(parts.map { self.predicate($0) }),
        ])
    case .truth(let value): return object([value ? "NSTruePredicate" : "NSFalsePredicate", "NSPredicate"], [:])
    case .block: return object(["NSBlockPredicate", "NSPredicate"], [:])
    case nil: return Self.null
    }
  }

  /// A comparison. Apple has an object for the operator, of a class for each family of operators, which repeats the
  /// options under a key of its own:
  ///
  /// ```text
  /// < <= > >=             NSComparisonPredicateOperator   NSVariant, NSOptions
  /// =  !=                 NSEqualityPredicateOperator     NSNegate, NSOptions
  /// IN CONTAINS           NSInPredicateOperator           NSFlags
  /// LIKE                  NSLikePredicateOperator         NSFlags
  /// MATCHES               NSMatchingPredicateOperator     NSFlags
  /// BEGINSWITH ENDSWITH   NSSubstringPredicateOperator    NSFlags, NSPosition 0 or 1
  /// BETWEEN               NSBetweenPredicateOperator
  /// ```
  private func comparison(_ comparison: NSComparisonPredicate) -> PropertyListValue {
    let type = comparison.predicateOperatorType
    let options = Int64(comparison.options.rawValue)
    var fields: Fields = [
      "NSOperatorType": .integer(Int64(type.rawValue)),
      "NSModifier": .integer(Int64(comparison.comparisonPredicateModifier.rawValue)),
    ]
    let kind: String
    switch type {
    case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo:
      kind = "NSComparisonPredicateOperator"
      fields["NSVariant"] = fields["NSOperatorType"]
      fields["NSOptions"] = .integer(options)
    case .equalTo, .notEqualTo:
      kind = "NSEqualityPredicateOperator"
      fields["NSNegate"] = .bool(type == .notEqualTo)
      fields["NSOptions"] = .integer(options)
    case .in, .contains:
      kind = "NSInPredicateOperator"
      fields["NSFlags"] = .integer(options)
    case .between: kind = "NSBetweenPredicateOperator"
    case .matches:
      kind = "NSMatchingPredicateOperator"
      fields["NSFlags"] = .integer(options)
    case .like:
      kind = "NSLikePredicateOperator"
      fields["NSFlags"] = .integer(options)
    case .beginsWith, .endsWith:
      kind = "NSSubstringPredicateOperator"
      fields["NSFlags"] = .integer(options)
      fields["NSPosition"] = .integer(type == .beginsWith ? 0 : 1)
    }
    return object(
      ["NSComparisonPredicate", "NSPredicate"],
      [
        "NSLeftExpression": expression(comparison.leftExpression),
        "NSRightExpression": expression(comparison.rightExpression),
        "NSPredicateOperator": object([kind, "NSPredicateOperator"], fields),
      ])
  }

  // MARK: Expressions

  /// The reference to an expression, by the kind of its node. A predefined function has Apple's utility class as its
  /// operand, named by a constant (`ArchivedNames.functionClass`); a method has the expression that it is called on.
  func expression(_ expression: NSExpression?) -> PropertyListValue {
    guard let expression else { return Self.null }
    if let fetch = expression as? NSFetchRequestExpression {
      return node(
        "NSFetchRequestExpression", .fetchRequest,
        [
          "NSFRExpression": self.expression(fetch.requestExpression),
          "NSMOCExpression": self.expression(fetch.contextExpression),
          "NSCountOnlyFlag": .bool(fetch.isCountOnlyRequest),
        ])
    }
    switch expression.node {
    case .constant(let value):
      return node("NSConstantValueExpression", .constantValue, ["NSConstantValue": self.value(value)])
    case .evaluatedObject: return node("NSSelfExpression", .evaluatedObject, [:])
    case .anyKey: return node("NSAnyKeyExpression", .anyKey, [:])
    case .variable(let name): return node("NSVariableExpression", .variable, ["NSVariable": string(name)])
    case .keyPath(let operand, let path): return keyPath(operand, path)
    case .function(let name, let operand, let arguments):
      let target =
        operand.map { self.expression($0) }
        ?? node(
          "NSConstantValueExpression", .constantValue,
          ["NSConstantValueClassName": string(ArchivedNames.functionClass)])
      return node(
        "NSFunctionExpression", .function,
        [
          "NSOperand": target, "NSSelectorName": string(name),
          "NSArguments": array(arguments.map { self.expression($0) }),
        ])
    case .aggregate(let members):
      return node(
        "NSAggregateExpression", .aggregate, ["NSCollection": array(members.map { self.expression($0) })])
    case .set(let operation, let left, let right):
      let type: NSExpression.ExpressionType
      switch operation {
      case .union: type = .unionSet
      case .intersect: type = .intersectSet
      case .minus: type = .minusSet
      }
      return node(
        "NSSetExpression", type,
        ["NSLeftExpression": self.expression(left), "NSRightExpression": self.expression(right)])
    case .subquery(let collection, let variable, let predicate):
      return node(
        "NSSubqueryExpression", .subquery,
        [
          "NSCollection": self.expression(collection), "NSVariable": string(variable),
          "NSPredicate": self.predicate(predicate),
        ])
    case .conditional(let predicate, let chosen, let otherwise):
      return node(
        "NSTernaryExpression", .conditional,
        [
          "NSPredicate": self.predicate(predicate), "NSTrueExpression": self.expression(chosen),
          "NSFalseExpression": self.expression(otherwise),
        ])
    case .block, .assignment: return Self.null
    }
  }

  /// An expression's object: every class has the number of its kind beside its own fields.
  private func node(_ name: String, _ type: NSExpression.ExpressionType, _ fields: Fields) -> PropertyListValue {
    object([name, "NSExpression"], fields.merging(["NSExpressionType": .integer(Int64(type.rawValue))]) { $1 })
  }

  /// A path from the evaluated object of one key is `valueForKey:` there; other paths are functions of their operand.
  ///
  /// The number 10 is the kind of the argument that holds a path, which no public kind of expression has.
  private func specifier(_ path: String) -> PropertyListValue {
    object(
      ["NSKeyPathSpecifierExpression", "NSExpression"],
      ["NSExpressionType": .integer(10), "NSKeyPath": string(path)] as Fields)
  }

  private func keyPath(_ operand: NSExpression?, _ path: KeyPathComponents) -> PropertyListValue {
    let isKey = operand == nil && path.keys.count == 1
    let type: NSExpression.ExpressionType = operand == nil ? .keyPath : .function
    return object(
      ["NSKeyPathExpression", "NSFunctionExpression", "NSExpression"],
      [
        "NSExpressionType": PropertyListValue.integer(Int64(type.rawValue)),
        "NSOperand": expression(operand ?? .expressionForEvaluatedObject()),
        "NSSelectorName": string(isKey ? "valueForKey:" : "valueForKeyPath:"),
        "NSArguments": array([specifier(path.text)], mutable: true),
      ] as Fields)
  }

  // MARK: Sort descriptors

  /// A sort descriptor of a fetch request.
  func sortDescriptor(_ descriptor: NSSortDescriptor) -> PropertyListValue {
    guard !descriptor.hasComparator else { return Self.null }
    return object(
      ["NSSortDescriptor"],
      [
        "NSKey": string(descriptor.key), "NSAscending": .bool(descriptor.ascending),
        "NSSelector": string(descriptor.selector?.name ?? "compare:"), "NSReverseNullOrder": .bool(false),
      ])
  }
}
