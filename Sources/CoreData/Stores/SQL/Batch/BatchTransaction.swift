/// The transaction of a batch request, in either database.
package protocol BatchTransaction {
  associatedtype Store: SQLStore
  var store: Store { get }

  /// Runs a statement.
  ///
  /// - Returns: the number of rows that it changed.
  @discardableResult
  func execute(_ sql: SQL) throws -> Int

  /// The rows of a statement whose columns are keys and numbers.
  func integers(_ sql: SQL) throws -> [[Int64]]

  /// Notes a changed row in the store's history, if it has one.
  func noteUpdate(of mapping: TableMapping, key: Int64, changed: [String]) throws

  /// Deletes the rows of an entity whose keys a SELECT finds, and notes them in the store's history.
  func delete(_ mapping: TableMapping, keys: String) throws
}
