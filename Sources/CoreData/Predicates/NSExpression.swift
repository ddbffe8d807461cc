/// A value to be computed: one side of a comparison, a column of a dictionary result, a value in a batch update.
///
/// Expressions are immutable. Two are equal when their trees are.
///
/// Source: https://developer.apple.com/documentation/foundation/nsexpression
open class NSExpression: NSObject, NSCopying {
  /// What an expression is. Raw values are Apple's.
  public enum ExpressionType: UInt, Sendable {
    case constantValue = 0
    case evaluatedObject = 1
    case variable = 2
    case keyPath = 3
    case function = 4
    case unionSet = 5
    case intersectSet = 6
    case minusSet = 7
    case subquery = 13
    case aggregate = 14
    case anyKey = 15
    case block = 19
    case conditional = 20
    case fetchRequest = 50
  }

  /// The body of a block expression: evaluated object, values of the arguments, context.
  public typealias Block = (Any?, [Any], NSMutableDictionary?) -> Any

  let node: ExpressionNode

  /// What a block says it is.
  var typeOfBlock: ExpressionType { .block }

  init(node: ExpressionNode) {
    self.node = node
    super.init()
  }

  /// A constant; nil and `NSNull` are both "no value". Collections are constants too.
  public convenience init(forConstantValue value: Any?) {
    self.init(node: .constant(value))
  }

  /// The value at a key path of the evaluated object, `"owner.name"` or `"pages.@count"`.
  public convenience init(forKeyPath keyPath: String) {
    self.init(node: .keyPath(operand: nil, path: KeyPathComponents(keyPath)))
  }

  /// The value at a key path of modelled properties.
  ///
  /// Traps when the path has no name: see `ManagedKeyPathTable`.
  public convenience init<Root, Value>(forKeyPath keyPath: KeyPath<Root, Value>) {
    guard let name = keyPath._kvcKeyPathString else {
      fatalError("NSExpression(forKeyPath:): \(keyPath) has no name; use the string form.")
    }
    self.init(forKeyPath: name)
  }

  /// The value bound to `$name` when the expression is evaluated.
  public convenience init(forVariable name: String) {
    self.init(node: .variable(name))
  }

  /// A predefined function: `NSExpression(forFunction: "sum:", arguments: [NSExpression(forKeyPath: "amount")])`.
  ///
  /// `arguments` holds expressions; any other value stands for a constant. `PredicateFunction` lists the names.
  public convenience init(forFunction name: String, arguments: [Any]) {
    self.init(node: .function(name: name, operand: nil, arguments: arguments.map(NSExpression.wrapping)))
  }

  /// A function of the value of `target`. Only the predefined names mean something: there are no selectors here.
  public convenience init(forFunction target: NSExpression, selectorName name: String, arguments: [Any]?) {
    self.init(node: .function(name: name, operand: target, arguments: (arguments ?? []).map(NSExpression.wrapping)))
  }

  /// A collection of expressions: the `{1, x, "a"}` of a format.
  public convenience init(forAggregate subexpressions: [Any]) {
    self.init(node: .aggregate(subexpressions.map(NSExpression.wrapping)))
  }

  public convenience init(forUnionSet left: NSExpression, with right: NSExpression) {
    self.init(node: .set(.union, left, right))
  }

  public convenience init(forIntersectSet left: NSExpression, with right: NSExpression) {
    self.init(node: .set(.intersect, left, right))
  }

  public convenience init(forMinusSet left: NSExpression, with right: NSExpression) {
    self.init(node: .set(.minus, left, right))
  }

  /// The members of a collection for which `predicate` holds, with each in turn bound to `$variable`.
  public convenience init(
    forSubquery collection: NSExpression, usingIteratorVariable variable: String, predicate: NSPredicate
  ) {
    self.init(node: .subquery(collection, variable: variable, predicate))
  }

  /// One of two expressions, chosen by a predicate.
  public convenience init(
    forConditional predicate: NSPredicate, trueExpression: NSExpression, falseExpression: NSExpression
  ) {
    self.init(node: .conditional(predicate, trueExpression, falseExpression))
  }

  /// A value computed by code. The SQLite store rejects it.
  public convenience init(block: @escaping Block, arguments: [NSExpression]?) {
    self.init(node: .block(block, arguments ?? []))
  }

  /// The evaluated object itself: `SELF`.
  open class func expressionForEvaluatedObject() -> NSExpression {
    NSExpression(node: .evaluatedObject)
  }

  /// Any key: `ANYKEY`. Kept for completeness; it has no value of its own.
  open class func expressionForAnyKey() -> NSExpression {
    NSExpression(node: .anyKey)
  }

  /// The expression's value.
  ///
  /// - Parameters:
  ///   - object: What key paths and `SELF` refer to.
  ///   - context: The values of variables, by name without `$`. A variable that has none traps.
  open func expressionValue(with object: Any?, context: NSMutableDictionary?) -> Any? {
    var variables: [String: Any] = [:]
    for (key, value) in context ?? [:] {
      if let key = key as? String { variables[key] = value }
    }
    return value(in: EvaluationContext(object: object, variables: variables))
  }

  /// The expression as a format has it.
  open override var description: String { printed }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSExpression else { return false }
    return other === self || node.isEqual(to: other.node)
  }

  open override var hash: Int { printed.hashValue }

  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// The value as an expression: itself if it is one, otherwise a constant.
  static func wrapping(_ value: Any) -> NSExpression {
    value as? NSExpression ?? NSExpression(forConstantValue: value)
  }
}
