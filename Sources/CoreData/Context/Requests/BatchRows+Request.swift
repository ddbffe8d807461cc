/// The rows of a batch insertion, from its dictionaries or from a handler that fills the same dictionary or object
/// repeatedly.
extension BatchRows {
  /// The merge policy of the context decides about unique values that exist already, as on Apple's platforms: a batch
  /// insertion has no objects that a policy could change, so the policy's type becomes what the statement does (`INSERT
  /// … ON CONFLICT`).
  ///
  /// - Parameter store: gets the rows; relationships can refer to its objects.
  init(
    _ request: NSBatchInsertRequest, _ entity: NSEntityDescription, _ context: NSManagedObjectContext,
    to store: any ObjectStore
  ) {
    let policy = (context.mergePolicy as? NSMergePolicy)?.mergeType ?? .errorMergePolicyType
    self.init(
      entityName: entity.name ?? "", onDuplicate: OnDuplicate(policy), keepsIDs: request.resultType == .objectIDs,
      next: Self.source(request, entity.layout, store))
  }

  /// Fills a row and marks the slots that it sets; false at the end. An error of it ends the insertion, and nothing is
  /// written.
  private typealias Source = (Snapshot, inout [Bool]) throws -> Bool

  /// The source of rows: an array of dictionaries, or one of the two kinds of handlers. A handler gets the same
  /// dictionary or object each time, so that a million rows need no million objects.
  private static func source(
    _ request: NSBatchInsertRequest, _ layout: EntityLayout, _ store: any ObjectStore
  ) -> Source {
    if let handler = request.managedObjectHandler { return objects(handler, layout) }
    if let handler = request.dictionaryHandler {
      let dictionary = NSMutableDictionary()
      return { row, named in
        dictionary.removeAllObjects()
        if handler(dictionary) { return false }
        for (key, value) in dictionary { try row.set(value, forKey: key as? String ?? "\(key)", &named, store) }
        return true
      }
    }
    var dictionaries = (request.objectsToInsert ?? []).makeIterator()
    return { row, named in
      guard let dictionary = dictionaries.next() else { return false }
      for (key, value) in dictionary { try row.set(value, forKey: key, &named, store) }
      return true
    }
  }

  /// Rows from a handler that fills an object. The object has no context: it is emptied before each call, and its
  /// values are copied into the row after it. What a program keeps of it is overwritten by the next row.
  private static func objects(_ handler: @escaping (NSManagedObject) -> Bool, _ layout: EntityLayout) -> Source {
    let object = layout.objectClass.init(unborn: layout.entity)
    return { row, named in
      object.snapshot = nil
      object.committed = nil
      object.toManys = []
      object.reference = nil
      object.state = [.fault, .unborn]
      if handler(object) { return false }
      guard object.toManys.allSatisfy({ !($0?.hasChanges ?? false) }) else {
        throw failure("A batch insertion cannot set relationships.")
      }
      let values = object.access()
      for slot in layout.slots.indices {
        guard layout.slots[slot].kind != .toOne else {
          if values.isNil(slot) { continue }
          throw failure("A batch insertion cannot set relationships, such as \(layout.slots[slot].name).")
        }
        row.assign(slot: slot, from: values)
        named[slot] = true
      }
      return true
    }
  }

  /// The 134070 for a request that cannot be carried out.
  fileprivate static func failure(_ message: String) -> NSError {
    CoreDataErrors.error(.persistentStoreOperation, message)
  }
}

extension BatchRows.OnDuplicate {
  fileprivate init(_ policy: NSMergePolicyType) {
    self =
      switch policy {
      case .errorMergePolicyType: .fail
      case .mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType: .skip
      case .mergeByPropertyObjectTrumpMergePolicyType, .overwriteMergePolicyType: .update
      }
  }
}

extension Snapshot {
  /// Sets a value by the name of an attribute or a to-one relationship. Values of exactly the type are stored without a
  /// detour; numbers, texts and dates of other classes are converted as `setValue(_:forKey:)` does.
  fileprivate func set(
    _ value: Any, forKey key: String, _ named: inout [Bool], _ store: any ObjectStore
  ) throws {
    let layout = layout
    guard case .slot(let slot)? = layout.locations[key] else {
      throw BatchRows.failure(
        layout.locations[key] == nil
          ? "The entity \(layout.name) has no attribute \"\(key)\"."
          : "A batch insertion sets attributes and to-one relationships; \(layout.name).\(key) is neither.")
    }
    named[slot] = true
    if let relationship = layout.slots[slot].relationship { return try relate(slot, relationship, to: value, store) }
    if assignExact(value, slot: slot, layout.slots[slot].kind) { return }
    if value is NSNull { return setNil(slot) }
    guard assignConverted(value, slot: slot) else {
      throw BatchRows.failure(
        "\(layout.name).\(key) holds \(layout.slots[slot].attributeType.valueDescription), and was given a "
          + "\(type(of: value)).")
    }
  }

  /// Sets a to-one relationship by the ID of an object in the store.
  private func relate(
    _ slot: Int, _ relationship: NSRelationshipDescription, to value: Any, _ store: any ObjectStore
  ) throws {
    let name = "\(layout.name).\(relationship.name)"
    // Its other end is in a row that the insertion does not change.
    if relationship.inverseRelationship.map({ !$0.isToMany }) ?? false {
      throw BatchRows.failure("A batch insertion cannot set \(name), which is a relationship of one to one.")
    }
    if value is NSNull { return setNil(slot) }
    guard let id = value as? NSManagedObjectID ?? (value as? NSManagedObject)?.objectID else {
      throw BatchRows.failure("\(name) holds an object ID, and was given a \(type(of: value)).")
    }
    guard id.objectStore === store, !id.isTemporaryID,
      relationship.destinationEntity.map({ id.entity.isKindOf(entity: $0) }) ?? false
    else { throw BatchRows.failure("\(name) cannot refer to \(id.uriString).") }
    assign(slot: slot, to: id.relatedKey)
  }
}
