/// The content of an `NSExpression`: one node of its tree.
enum ExpressionNode {
  case constant(Any?)
  case evaluatedObject
  case variable(String)
  /// The value at `path` of `operand`, or of the evaluated object.
  case keyPath(operand: NSExpression?, path: KeyPathComponents)
  case function(name: String, operand: NSExpression?, arguments: [NSExpression])
  case set(SetOperation, NSExpression, NSExpression)
  case subquery(NSExpression, variable: String, NSPredicate)
  case aggregate([NSExpression])
  case anyKey
  case block(NSExpression.Block, [NSExpression])
  case conditional(NSPredicate, NSExpression, NSExpression)
  /// `$name := value`.
  case assignment(String, NSExpression)
}

/// The operations on two collections.
enum SetOperation: String {
  case union = "UNION"
  case intersect = "INTERSECT"
  case minus = "MINUS"
}

/// A key path and its keys, split once.
struct KeyPathComponents: Hashable {
  let text: String
  let keys: [String]

  init(_ text: String) {
    self.text = text
    self.keys = text.split(separator: ".", omittingEmptySubsequences: true).map(String.init)
  }

  init(keys: [String]) {
    self.text = keys.joined(separator: ".")
    self.keys = keys
  }
}

extension ExpressionNode {
  /// Whether two trees are equal. Block expressions never are, since code cannot be compared.
  func isEqual(to other: ExpressionNode) -> Bool {
    switch (self, other) {
    // Nil and NSNull compare alike and print differently.
    case (.constant(let a), .constant(let b)): PredicateValue(a) == PredicateValue(b) && (a is NSNull) == (b is NSNull)
    case (.evaluatedObject, .evaluatedObject), (.anyKey, .anyKey): true
    case (.variable(let a), .variable(let b)): a == b
    case (.keyPath(let a, let path), .keyPath(let b, let otherPath)): path == otherPath && a == b
    case (.function(let name, let a, let arguments), .function(let otherName, let b, let otherArguments)):
      name == otherName && a == b && arguments == otherArguments
    case (.set(let a, let left, let right), .set(let b, let otherLeft, let otherRight)):
      a == b && left == otherLeft && right == otherRight
    case (.subquery(let a, let variable, let p), .subquery(let b, let otherVariable, let q)):
      variable == otherVariable && a == b && p.isStructurallyEqual(to: q)
    case (.aggregate(let a), .aggregate(let b)): a == b
    case (.conditional(let p, let a, let b), .conditional(let q, let otherA, let otherB)):
      p.isStructurallyEqual(to: q) && a == otherA && b == otherB
    case (.assignment(let a, let value), .assignment(let b, let otherValue)): a == b && value == otherValue
    default: false
    }
  }
}
