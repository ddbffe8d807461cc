/// The rows of a batch insertion, from its dictionaries or from a handler that fills the same dictionary or object
/// repeatedly.
extension BatchRows {
  init(_ request: NSBatchInsertRequest, _ entity: NSEntityDescription, _ context: NSManagedObjectContext) {
    let policy = (context.mergePolicy as? NSMergePolicy)?.mergeType ?? .errorMergePolicyType
    self.init(
      entityName: entity.name ?? "", onDuplicate: OnDuplicate(policy), keepsIDs: request.resultType == .objectIDs,
      next: Self.source(request, entity.layout))
  }

  private typealias Source = (Snapshot, inout [Bool]) throws -> Bool

  private static func source(_ request: NSBatchInsertRequest, _ layout: EntityLayout) -> Source {
    if let handler = request.managedObjectHandler { return objects(handler, layout) }
    if let handler = request.dictionaryHandler {
      let dictionary = NSMutableDictionary()
      return { row, named in
        dictionary.removeAllObjects()
        if handler(dictionary) { return false }
        for (key, value) in dictionary { try row.set(value, forKey: key as? String ?? "\(key)", &named) }
        return true
      }
    }
    var dictionaries = (request.objectsToInsert ?? []).makeIterator()
    return { row, named in
      guard let dictionary = dictionaries.next() else { return false }
      for (key, value) in dictionary { try row.set(value, forKey: key, &named) }
      return true
    }
  }

  private static func objects(_ handler: @escaping (NSManagedObject) -> Bool, _ layout: EntityLayout) -> Source {
    let object = layout.objectClass.init(unborn: layout.entity)
    return { row, named in
      object.snapshot = nil
      object.committed = nil
      object.toManys = []
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
  fileprivate func set(_ value: Any, forKey key: String, _ named: inout [Bool]) throws {
    let layout = layout
    guard case .slot(let slot)? = layout.locations[key], layout.slots[slot].kind != .toOne else {
      throw BatchRows.failure(
        layout.locations[key] == nil
          ? "The entity \(layout.name) has no attribute \"\(key)\"."
          : "A batch insertion cannot set relationships, such as \(layout.name).\(key).")
    }
    named[slot] = true
    if assignExact(value, slot: slot, layout.slots[slot].kind) { return }
    if value is NSNull { return setNil(slot) }
    guard assignConverted(value, slot: slot) else {
      throw BatchRows.failure(
        "\(layout.name).\(key) holds \(layout.slots[slot].attributeType.valueDescription), and was given a "
          + "\(type(of: value)).")
    }
  }
}
