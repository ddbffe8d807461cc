/// An expression whose value is what a fetch finds, or how much: for `SELF IN` and comparisons of counts.
///
/// Its value is found anew at each evaluation, and once for each fetch whose predicate has it.
///
/// Source: Apple's documentation of `NSFetchRequestExpression`.
public final class NSFetchRequestExpression: NSExpression {
  /// Gives the `NSFetchRequest`.
  public let requestExpression: NSExpression
  /// Gives the `NSManagedObjectContext` that fetches; used on its queue.
  public let contextExpression: NSExpression
  /// Whether the value is the number of objects.
  public let isCountOnlyRequest: Bool

  override var typeOfBlock: ExpressionType { .fetchRequest }

  private init(_ request: NSExpression, _ context: NSExpression, countOnly: Bool) {
    requestExpression = request
    contextExpression = context
    isCountOnlyRequest = countOnly
    super.init(
      node: .block({ _, values, _ in NSFetchRequestExpression.value(values, countOnly) }, [request, context]))
  }

  /// - Parameters:
  ///   - fetch: an expression whose value is a fetch request.
  ///   - context: an expression whose value is a context.
  ///   - countFlag: whether the objects are only counted.
  public class func expression(forFetch fetch: NSExpression, context: NSExpression, countOnly countFlag: Bool)
    -> NSExpression
  {
    NSFetchRequestExpression(fetch, context, countOnly: countFlag)
  }

  private static func value(_ values: [Any], _ countOnly: Bool) -> Any {
    guard values.count == 2, let request = values[0] as? any AnyFetchRequest,
      let context = values[1] as? NSManagedObjectContext
    else { fatalError("A fetch request expression needs a fetch request and a context.") }
    let copy = NSFetchRequest<any NSFetchRequestResult>(request)
    do {
      return countOnly ? try context.count(for: copy) : try context.fetch(copy) as [Any]
    } catch {
      // An expression's value cannot be an error, and must not be wrong either.
      fatalError("The fetch of a fetch request expression failed: \(error)")
    }
  }
}

/// What a fetch request expression says it is.
public let NSFetchRequestExpressionType = NSExpression.ExpressionType.fetchRequest
