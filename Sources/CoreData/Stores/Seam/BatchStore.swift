/// A store that carries out batch requests: on rows, without objects.
package protocol BatchStore: ObjectStore {
  func insert(_ rows: BatchRows, by origin: ChangeOrigin) throws -> BatchResult
  func update(_ request: NSBatchUpdateRequest, of entity: String, by origin: ChangeOrigin) throws -> BatchResult
  func delete(_ fetch: RowFetch, by origin: ChangeOrigin) throws -> BatchResult
}
