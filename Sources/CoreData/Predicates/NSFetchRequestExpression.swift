/// An expression whose value is the result of a fetch or its count, for `SELF IN` and comparisons of counts.
///
/// ```swift
/// let read = NSFetchRequest<Book>(entityName: "Book")
/// read.predicate = NSPredicate(format: "isRead == YES")
/// let request = NSFetchRequest<Book>(entityName: "Book")
/// request.predicate = NSPredicate(format: "NOT SELF IN FETCH(%@, %@, NO)", read, context)
/// ```
///
/// In a fetch from an SQL store it is evaluated once, before the statement, and its result is bound to it: objects
/// become their keys. Evaluated in memory, in a filter of an array, it fetches once for each object. Prefer a condition
/// through a relationship if there is one: it takes one statement instead of two.
///
/// Source: Apple's documentation of `NSFetchRequestExpression`.
public final class NSFetchRequestExpression: NSExpression {
  /// The expression whose value is the `NSFetchRequest`: mostly a constant; in mapping models a call of the migration
  /// manager.
  public let requestExpression: NSExpression
  /// The expression whose value is the `NSManagedObjectContext` that fetches. Evaluate the whole expression on this
  /// context's queue.
  public let contextExpression: NSExpression
  /// Whether the value is the number of objects, not the objects.
  public let isCountOnlyRequest: Bool

  /// The class is a block expression for all code that walks trees, so that Predicates does not depend on contexts; the
  /// context answers through `FetchEvaluating`.
  override var typeOfBlock: ExpressionType { .fetchRequest }

  private init(_ request: NSExpression, _ context: NSExpression, countOnly: Bool) {
    requestExpression = request
    contextExpression = context
    isCountOnlyRequest = countOnly
    super.init(
      node: .block({ _, values, _ in NSFetchRequestExpression.value(values, countOnly) }, [request, context]))
  }

  /// An expression whose value is what a fetch finds.
  ///
  /// ```swift
  /// let long = NSFetchRequest<Book>(entityName: "Book")
  /// long.predicate = NSPredicate(format: "pages > 500")
  /// let (request, fetching) = (NSExpression(forConstantValue: long), NSExpression(forConstantValue: context))
  /// let count = NSFetchRequestExpression.expression(forFetch: request, context: fetching, countOnly: true)
  /// print(count.expressionValue(with: nil, context: nil) ?? 0)
  /// ```
  ///
  /// A fetch that fails ends the process, since an expression's value cannot be an error.
  ///
  /// In a format it is `FETCH(request, context, YES)`, with `%@` for the request and the context.
  ///
  /// - Parameters:
  ///   - fetch: an expression whose value is a fetch request.
  ///   - context: an expression whose value is a context, on whose queue the expression is evaluated.
  ///   - countFlag: whether the value is the number of objects.
  public class func expression(forFetch fetch: NSExpression, context: NSExpression, countOnly countFlag: Bool)
    -> NSExpression
  {
    NSFetchRequestExpression(fetch, context, countOnly: countFlag)
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSFetchRequestExpression else { return false }
    return requestExpression == other.requestExpression && contextExpression == other.contextExpression
      && isCountOnlyRequest == other.isCountOnlyRequest
  }

  /// Asks the context. The closure of a block expression cannot throw, so a wrong kind of value or a fetch that fails
  /// traps.
  private static func value(_ values: [Any], _ countOnly: Bool) -> Any {
    guard values.count == 2, let context = values[1] as? any FetchEvaluating,
      let value = context.value(ofFetch: values[0], countOnly: countOnly)
    else { fatalError("A fetch request expression needs a fetch request and a context.") }
    return value
  }
}

/// Evaluates fetch request expressions: a context.
///
/// It lets this folder call contexts, which stand above it: `NSManagedObjectContext` conforms.
protocol FetchEvaluating {
  /// The objects or their number; nil if the value is not a fetch request.
  func value(ofFetch request: Any, countOnly: Bool) -> Any?
}

/// The `expressionType` of an `NSFetchRequestExpression`, in Apple's spelling: 50.
public let NSFetchRequestExpressionType = NSExpression.ExpressionType.fetchRequest
