import CoreData

extension PoolJob {
  /// A request for how many jobs fit, for each group with the same values of these attributes: dictionaries with the
  /// attributes and `count`.
  ///
  /// ```text
  /// SELECT t0."state", COUNT(t0."state") … WHERE … GROUP BY t0."state"
  /// ```
  ///
  /// The count is of `state`, which no row lacks and which the indexes have: the database counts entries of an index
  /// and reads no rows, if the condition lets it.
  static func counts(by keys: [String], where condition: NSPredicate) -> NSFetchRequest<NSDictionary> {
    let count = NSExpressionDescription()
    count.name = "count"
    count.expression = NSExpression(forFunction: "count:", arguments: [NSExpression(forKeyPath: "state")])
    count.expressionResultType = .integer64AttributeType
    let request = NSFetchRequest<NSDictionary>(entityName: entityName)
    request.resultType = .dictionaryResultType
    request.propertiesToGroupBy = keys
    request.propertiesToFetch = keys + [count]
    request.predicate = condition
    return request
  }
}
