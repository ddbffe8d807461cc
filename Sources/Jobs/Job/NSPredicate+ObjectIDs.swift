import CoreData

extension NSPredicate {
  /// Matches the objects with these IDs, as the format `self IN %@` does.
  ///
  /// Each hand of jobs is fetched by its IDs, and parsing a format costs as much as fetching a few rows.
  package static func isOne(of ids: [NSManagedObjectID]) -> NSPredicate {
    NSComparisonPredicate(
      leftExpression: .expressionForEvaluatedObject(), rightExpression: NSExpression(forConstantValue: ids),
      modifier: .direct, type: .in)
  }
}
