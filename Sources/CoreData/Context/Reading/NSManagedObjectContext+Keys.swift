/// Objects by the keys of their rows.
extension NSManagedObjectContext {
  /// The objects of the entity with these keys, whose rows are read now, in no order; keys without a row are left out.
  ///
  /// The pool uses it, which gets the keys of jobs in messages: it needs no predicate, and SQLite prepares no new
  /// statement. The context has no parent. Call it on the context's queue.
  ///
  /// - Parameters:
  ///   - entity: an entity of the first store that holds it.
  ///   - keys: keys of rows (`Z_PK`), each once.
  package final func objects(of entity: NSEntityDescription, keys: [Int64]) throws -> [NSManagedObject] {
    checkQueue()
    guard let store = coordinator?.objectStores.first(where: { $0.holds(entity) }),
      let storedEntity = store.storedEntities.byName[entity.name ?? ""]
    else { return [] }
    graph.sweepIfDue()
    return try graph.withoutSweeping {
      var objects: [NSManagedObject] = []
      objects.reserveCapacity(keys.count)
      try store.rows(keys, of: storedEntity, in: readGeneration()) { key, row in
        if let object = graph.reuse(key, storedEntity.table) {
          object.supply(row)
          objects.append(object)
        } else {
          objects.append(graph.make(storedEntity, key, snapshot: row))
        }
      }
      return objects
    }
  }
}
