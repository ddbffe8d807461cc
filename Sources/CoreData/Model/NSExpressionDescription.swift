/// A computed column of a dictionary result: "max(salary)" under a name. It belongs to no entity and goes into
/// `NSFetchRequest.propertiesToFetch`.
///
/// ```swift
/// let longest = NSExpressionDescription()
/// longest.name = "longest"
/// longest.expression = NSExpression(format: "max:(pages)")
/// longest.resultType = .integer64
/// let request = NSFetchRequest<NSDictionary>(entityName: "Book")
/// request.resultType = .dictionaryResultType
/// request.propertiesToFetch = [longest]
/// print(try context.fetch(request).first?["longest"] ?? 0)
/// ```
///
/// With `propertiesToGroupBy` it is an aggregate of each group, and its name may be used in `havingPredicate` and in
/// sort descriptors:
///
/// ```swift
/// let total = NSExpressionDescription()
/// total.name = "total"
/// total.expression = NSExpression(format: "sum:(pages)")
/// total.resultType = .integer64
/// let request = NSFetchRequest<NSDictionary>(entityName: "Book")
/// request.resultType = .dictionaryResultType
/// request.propertiesToFetch = ["author.name", total]
/// request.propertiesToGroupBy = ["author.name"]
/// request.havingPredicate = NSPredicate(format: "total > 1000")
/// request.sortDescriptors = [NSSortDescriptor(key: "total", ascending: false)]
/// for row in try context.fetch(request) { print(row["author.name"] ?? "", row["total"] ?? 0) }
/// ```
///
/// Source: Apple's documentation of `NSExpressionDescription`.
///
/// `@unchecked Sendable`: as `NSPropertyDescription`, whose rule it follows.
open class NSExpressionDescription: NSPropertyDescription, @unchecked Sendable {
  /// The expression that gives the column's value, in SQL for SQLite stores. Default: nil.
  ///
  /// A fetch throws 134070 for one that SQL cannot compute, and for nil. A constant gives a column with the same value
  /// in each row.
  open var expression: NSExpression? { willSet { checkEditable() } }

  /// The kind of the result, into which the store's value is converted. Default: undefined, which keeps the type that
  /// the expression has in SQL.
  ///
  /// Set it for dates: a sum or an average of dates is a number of seconds in SQL, and becomes a `Date` only if the
  /// type says so.
  open var expressionResultType: NSAttributeType = .undefinedAttributeType { willSet { checkEditable() } }

  /// `expressionResultType` in the spelling of newer code.
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
