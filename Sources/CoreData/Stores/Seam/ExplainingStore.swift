/// A store that can say how its database evaluates a fetch.
package protocol ExplainingStore: ObjectStore {
  /// The statement of a fetch, and its plan. The statement is not run.
  ///
  /// - Parameter settings: say which columns are read.
  func explain(_ settings: FetchSettings, _ fetch: RowFetch) throws -> FetchExplanation.Statement
}
