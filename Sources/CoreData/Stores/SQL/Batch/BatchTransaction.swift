/// The transaction of a batch request, in either database.
///
/// The algorithms of `BatchUpdate`, `BatchDeletion` and `BatchInsertion` are written against it once. A store brings
/// its connection, its way of binding, and its history.
package protocol BatchTransaction {
  associatedtype Store: SQLStore
  associatedtype History: HistoryNotes
  associatedtype Writer: EncodedRowWriter
  var store: Store { get }

  /// Writes the rows of an entity.
  func writer(_ mapping: TableMapping) -> Writer

  /// Takes the changed rows; nil for a store without history.
  var history: History? { get }

  /// Runs a statement.
  ///
  /// - Returns: the number of rows that it changed.
  @discardableResult
  func execute(_ sql: SQL) throws -> Int

  /// The rows of a statement whose columns are keys and numbers.
  func integers(_ sql: SQL) throws -> [[Int64]]

  /// A parameter for a value of an attribute.
  ///
  /// - Throws: ``RefusedValue`` if the database cannot hold the value.
  func parameter(_ value: Any, of attribute: NSAttributeDescription) throws -> SQL

  /// The columns of an entity whose values may be in files.
  func externalColumns(of mapping: TableMapping) -> [String]

  /// Called before the columns of the rows `t0` that fulfil a condition get other values.
  func willUpdate(_ columns: [String], of mapping: TableMapping, where condition: SQL) throws

  /// Deletes the rows of an entity, and notes them in the store's history.
  ///
  /// - Parameter keys: a SELECT that finds their keys, or a list of keys.
  func delete(_ mapping: TableMapping, keys: SQL) throws
}

/// Writes one entity's rows by the steps of an encoder.
package protocol EncodedRowWriter {
  var encoder: RowEncoder { get }
}

extension BatchTransaction {
  package func externalColumns(of mapping: TableMapping) -> [String] { [] }
  package func willUpdate(_ columns: [String], of mapping: TableMapping, where condition: SQL) {}
}
