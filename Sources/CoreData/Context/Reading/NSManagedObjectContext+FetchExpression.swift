/// Evaluates `NSFetchRequestExpression`s: the code of predicates does not depend on contexts, so it uses this protocol.
extension NSManagedObjectContext: FetchEvaluating {
  func value(ofFetch request: Any, countOnly: Bool) -> Any? {
    guard let request = request as? any AnyFetchRequest else { return nil }
    let copy = NSFetchRequest<any NSFetchRequestResult>(settingsOf: request)
    do {
      return countOnly ? try count(for: copy) : try fetch(copy) as [Any]
    } catch {
      // An expression's value cannot be an error, and must not be wrong.
      fatalError("The fetch of a fetch request expression failed: \(error)")
    }
  }
}
