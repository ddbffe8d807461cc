/// New rows that are written without objects: for a process that takes in many and uses none of them.
extension NSPersistentStoreCoordinator {
  /// Whether ``insert(_:by:)`` can write rows of the entity.
  package final func takesNewRows(of entity: NSEntityDescription) -> Bool {
    store(forInserted: entity) is any BatchStore
  }

  /// Inserts rows of entities of one store in one transaction, in their order. Call it on the queue of the context,
  /// which learns nothing of them.
  ///
  /// Values are not validated, apart from those that must be there.
  /// - Returns: the IDs of the rows of each element that asks for them.
  /// - Throws: 133021 if another row has the same unique values; the store's errors. Nothing is written then.
  package final func insert(_ rows: [NewRows], by context: NSManagedObjectContext) throws -> [[NSManagedObjectID]] {
    let stores = try rows.map { rows in
      guard let store = store(forInserted: rows.entity) as? any BatchStore else {
        throw CoreDataErrors.error(
          .persistentStoreSave,
          "No open store that takes rows and may be written holds the entity \(rows.entity.name ?? "").")
      }
      return store
    }
    guard let scope = stores.first?.writeScope else { return [] }
    precondition(stores.allSatisfy { $0.writeScope === scope }, "one transaction writes one file")
    var ids: [[NSManagedObjectID]] = []
    try scope.exclusively {
      try scope.transaction("Inserting") {
        for (store, rows) in zip(stores, rows) {
          ids.append(try store.insert(BatchRows(rows), by: ChangeOrigin(context)).ids)
        }
      }
    }
    return ids
  }
}

/// New rows of one entity.
package struct NewRows {
  fileprivate let entity: NSEntityDescription
  fileprivate let count: Int
  fileprivate let keepsIDs: Bool
  fileprivate let fill: (NewRow, Int) throws -> Void

  /// - Parameters:
  ///   - keepsIDs: whether the IDs of the rows are wanted.
  ///   - fill: sets the values of the row with that number. What it does not set has the model's default.
  package init(
    of entity: NSEntityDescription, count: Int, keepsIDs: Bool, fill: @escaping (NewRow, Int) throws -> Void
  ) {
    self.entity = entity
    self.count = count
    self.keepsIDs = keepsIDs
    self.fill = fill
  }
}

extension BatchRows {
  fileprivate init(_ rows: NewRows) {
    var number = 0
    self.init(entityName: rows.entity.name ?? "", onDuplicate: .fail, keepsIDs: rows.keepsIDs) { values, _ in
      guard number < rows.count else { return false }
      try rows.fill(NewRow(values: values), number)
      number += 1
      return true
    }
  }
}

/// A row that is being filled.
package struct NewRow {
  fileprivate let values: Snapshot

  /// An attribute's place in the rows of its entity.
  package struct Place {
    fileprivate let slot: Int
    fileprivate let kind: SlotKind

    /// The place of the attribute with that name, which the entity has.
    package init(_ name: String, of entity: NSEntityDescription) {
      guard let slot = entity.layout.slot(name) else { preconditionFailure("\(entity.name ?? "") has no \(name)") }
      self.slot = slot
      kind = entity.layout.slots[slot].kind
    }

    fileprivate func slot(of kind: SlotKind) -> Int {
      precondition(self.kind == kind, "the attribute has another type")
      return slot
    }
  }

  /// For an integer attribute.
  package func set(_ value: Int64, at place: Place) { values.assign(slot: place.slot(of: .integer), to: value) }

  /// For an attribute of the type Double.
  package func set(_ value: Double, at place: Place) { values.assign(slot: place.slot(of: .double), to: value) }

  /// For a string attribute.
  package func set(_ value: String, at place: Place) { values.assign(slot: place.slot(of: .string), to: value) }

  /// For a date attribute.
  package func set(_ value: Date, at place: Place) {
    values.assign(slot: place.slot(of: .date), to: value.timeIntervalSinceReferenceDate)
  }
}
