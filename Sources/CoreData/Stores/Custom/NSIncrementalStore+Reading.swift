/// Rows and members, made from the values that the program's store returns.
extension NSIncrementalStore {
  package func understands(_ fetch: RowFetch) throws -> Bool { true }

  // MARK: Fetching

  /// Rows come without values: each is read when its object is first used, as on Apple's platforms.
  ///
  /// ```text
  /// context.fetch(…)              execute(request, with: scratch context) gives objects or IDs; contexts get faults
  /// book.title                    newValuesForObject(with: id, …), once; then the row is in the cache
  /// book.title in another context the cache
  /// ```
  package func fetch(_ fetch: RowFetch, _ body: (StoredEntity, Int64, __owned Snapshot?) -> Void) throws {
    let scratch = ScratchObjects(self)
    let ids: [NSManagedObjectID] = try scratch.perform {
      try results(of: request(fetch, .managedObjectResultType), scratch).map(identified)
    }
    for id in ids { body(id.storedEntity, id.key, nil) }
  }

  /// Some stores return the number itself instead of an array with it; both are taken.
  package func count(_ fetch: RowFetch) throws -> Int {
    let scratch = ScratchObjects(self)
    return try scratch.perform {
      let results = try results(of: request(fetch, .countResultType), scratch)
      if results.count == 1, let count = AttributeValue.integer(results[0]) { return Int(count) }
      throw wrongResult("one number for a count, but \(results.count) results")
    }
  }

  /// The program's store has to group and compute by itself. One that does not can throw, and the program fetches
  /// objects.
  package func dictionaries(_ settings: FetchSettings, _ fetch: RowFetch) throws -> [NSDictionary] {
    let scratch = ScratchObjects(self)
    return try scratch.perform {
      let request = try request(fetch, .dictionaryResultType)
      request.propertiesToFetch = settings.propertiesToFetch
      request.propertiesToGroupBy = settings.propertiesToGroupBy
      request.havingPredicate = settings.havingPredicate
      request.returnsDistinctResults = settings.returnsDistinctResults
      return try results(of: request, scratch).map { result in
        if let dictionary = result as? NSDictionary { return dictionary }
        guard let dictionary = result as? [String: Any] else {
          throw wrongResult("a \(Swift.type(of: result)) for a dictionary")
        }
        return NSDictionary(dictionary: dictionary)
      }
    }
  }

  /// The store gets a request of its own, without what the context does: prefetching, batches, pending changes, faults
  /// or not.
  private func request(
    _ fetch: RowFetch, _ type: NSFetchRequestResultType
  ) throws -> NSFetchRequest<any NSFetchRequestResult> {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.entity = storedEntities.byName[fetch.entityName]?.entity
    request.resultType = type
    request.predicate = fetch.predicate
    request.sortDescriptors = fetch.sortDescriptors.isEmpty ? nil : fetch.sortDescriptors
    request.fetchLimit = fetch.limit
    request.fetchOffset = fetch.offset
    request.includesSubentities = fetch.includesSubentities
    request.includesPropertyValues = fetch.includesValues
    request.includesPendingChanges = false
    request.affectedStores = [self]
    return request
  }

  private func results(
    of request: NSFetchRequest<any NSFetchRequestResult>, _ scratch: ScratchObjects
  ) throws -> [Any] {
    let results = try execute(request, with: scratch.context)
    if request.resultType == .countResultType, AttributeValue.integer(results) != nil { return [results] }
    if let array = results as? NSArray { return array.map { $0 } }
    guard let array = results as? [Any] else { throw wrongResult("a \(Swift.type(of: results)) for an array") }
    return array
  }

  private func identified(_ result: Any) throws -> NSManagedObjectID {
    switch result {
    case let object as NSManagedObject: return object.objectID
    case let id as NSManagedObjectID: return id
    default: throw wrongResult("a \(Swift.type(of: result)) for an object")
    }
  }

  private func wrongResult(_ what: String) -> NSError {
    CoreDataErrors.error(.persistentStoreOperation, "\(Swift.type(of: self)).execute(_:with:) gave \(what).")
  }

  // MARK: By key

  package func row(_ id: NSManagedObjectID, in generation: QueryGeneration?) throws -> Snapshot? {
    let epoch = rowCache.epoch
    guard let row = try readRow(id) else { return nil }
    rowCache.add([(id.key, id.storedEntity.table, row)], since: epoch)
    return row
  }

  /// The row that the store has now; nil for none.
  final func readRow(_ id: NSManagedObjectID) throws -> Snapshot? {
    guard references.reference(id.key) != nil else { return nil }
    let scratch = ScratchObjects(self)
    return try scratch.perform {
      do {
        return try row(of: newValuesForObject(with: id, with: scratch.context), id, scratch)
      } catch let error as NSError
        where error.domain == NSCocoaErrorDomain && error.code == NSManagedObjectReferentialIntegrityError
      {
        return nil
      }
    }
  }

  /// A to-one relationship that the node leaves out is asked for with `newValue(forRelationship:)`, one call each: a
  /// store that has the related IDs at hand should put them into the node.
  private func row(
    of node: NSIncrementalStoreNode, _ id: NSManagedObjectID, _ scratch: ScratchObjects
  ) throws -> Snapshot {
    // A row's version is at least 1; a node's may start at 0.
    let row = Snapshot.make(id.storedEntity.layout, version: Int64(clamping: node.version &+ 1))
    for (slot, description) in id.storedEntity.layout.slots.enumerated() where !description.isTransient {
      let value = node.value(for: description.property)
      if let relationship = description.relationship {
        let related = try value ?? newValue(forRelationship: relationship, forObjectWith: id, with: scratch.context)
        if let related = ids(related).first { row.assign(slot: slot, to: related.relatedKey) }
      } else if let value, !(value is NSNull), !row.assignConverted(value, slot: slot) {
        throw CoreDataErrors.error(
          .persistentStoreOperation,
          "\(Swift.type(of: self)) gave a \(Swift.type(of: value)) for "
            + "\(id.storedEntity.layout.name).\(description.name), which holds "
            + "\(description.attributeType.valueDescription).")
      }
    }
    return row
  }

  package func rows(
    _ keys: [Int64], of storedEntity: StoredEntity, in generation: QueryGeneration?, _ body: (Int64, Snapshot) -> Void
  ) throws {
    for key in keys {
      if let row = try currentRow(NSManagedObjectID(storedEntity: storedEntity, key: key)) { body(key, row) }
    }
  }

  /// The row that this coordinator last read or wrote; else the one that the store has.
  final func currentRow(_ id: NSManagedObjectID) throws -> Snapshot? {
    try rowCache.find(id.key, id.storedEntity.table) ?? row(id, in: nil)
  }

  // MARK: Members

  /// The members' rows are read now, one call for each that the cache lacks: a to-many relationship with 100 members of
  /// a service may be 100 calls. A store helps by keeping what its answer had.
  package func members(
    of id: NSManagedObjectID, _ relationship: NSRelationshipDescription, in generation: QueryGeneration?,
    _ body: (StoredEntity, Int64, Snapshot) -> Void
  ) throws {
    let scratch = ScratchObjects(self)
    let members = try scratch.perform {
      ids(try newValue(forRelationship: relationship, forObjectWith: id, with: scratch.context))
    }
    for member in members {
      if let row = try currentRow(member) { body(member.storedEntity, member.key, row) }
    }
  }

  package func members(
    ofEach keys: [Int64], _ storedEntity: StoredEntity, _ relationship: NSRelationshipDescription,
    in generation: QueryGeneration?, _ body: (Int64, StoredEntity, Int64, Snapshot) -> Void
  ) throws {
    for key in keys {
      try members(of: NSManagedObjectID(storedEntity: storedEntity, key: key), relationship, in: generation) {
        body(key, $0, $1, $2)
      }
    }
  }

  /// Takes an ID, an object, or an array or set of them: stores return what they have.
  private func ids(_ value: Any?) -> [NSManagedObjectID] {
    switch value {
    case let id as NSManagedObjectID: [id]
    case let object as NSManagedObject: [object.objectID]
    default: NSExpression.members(of: value).flatMap { ids($0) }
    }
  }
}
