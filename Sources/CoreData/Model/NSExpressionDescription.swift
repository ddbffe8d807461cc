/// A column of a dictionary result that is computed: "max(salary)" under a name of its own. It belongs to no entity.
///
/// Source: Apple's documentation of `NSExpressionDescription`.
// `@unchecked Sendable`: as `NSPropertyDescription`, whose rule it follows.
open class NSExpressionDescription: NSPropertyDescription, @unchecked Sendable {
  /// What is computed.
  open var expression: NSExpression? { willSet { checkEditable() } }

  /// The kind of the result. Default: undefined.
  open var expressionResultType: NSAttributeType = .undefinedAttributeType { willSet { checkEditable() } }

  /// The kind of the result, in the spelling of newer code.
  public var resultType: NSAttributeDescription.AttributeType {
    get { NSAttributeDescription.AttributeType(rawValue: expressionResultType) }
    set { expressionResultType = newValue.rawValue }
  }

  override func makeEmpty() -> NSPropertyDescription {
    NSExpressionDescription()
  }

  override func copyValues(into copy: NSPropertyDescription) {
    super.copyValues(into: copy)
    guard let copy = copy as? NSExpressionDescription else { return }
    copy.expression = expression
    copy.expressionResultType = expressionResultType
  }

  override func hasSameValues(as other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSExpressionDescription else { return false }
    return super.hasSameValues(as: other) && expression == other.expression
      && expressionResultType == other.expressionResultType
  }
}
