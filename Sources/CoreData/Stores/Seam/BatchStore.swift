/// A store that carries out batch requests: on rows, without objects.
///
/// The SQL stores. Others take no batch requests, and the coordinator says so (134091).
package protocol BatchStore: ObjectStore {
  func insert(_ rows: BatchRows, by origin: ChangeOrigin) throws -> BatchResult
  func update(_ request: NSBatchUpdateRequest, of entity: String, by origin: ChangeOrigin) throws -> BatchResult
  func delete(_ fetch: RowFetch, by origin: ChangeOrigin) throws -> BatchResult
}
