/// New rows that are written without objects: for a process that writes many rows and reads none of them.
extension NSPersistentStoreCoordinator {
  /// Whether `insert(_:by:)` can write rows of the entity. Stores in memory and those of a program's own classes
  /// cannot; the caller then makes objects.
  package final func takesNewRows(of entity: NSEntityDescription) -> Bool {
    store(forInserted: entity) is any BatchStore
  }

  /// Inserts rows of entities of one store in one transaction, in their order. Call it on the queue of the context,
  /// which learns nothing of them.
  ///
  /// The intake of jobs uses it: a file with 100,000 jobs becomes as many rows, and objects for them would be made,
  /// registered, validated and dropped. Compared with a batch insertion request, several entities are in one
  /// transaction, and values are set by place and type instead of by name.
  ///
  /// Values are not validated, apart from those that must be there.
  ///
  /// - Parameters:
  ///   - rows: the rows of each entity, in the order in which they are written.
  ///   - context: the context whose author and name the history records.
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

/// New rows of one entity: how many, and what fills each.
package struct NewRows {
  fileprivate let entity: NSEntityDescription
  fileprivate let count: Int
  fileprivate let keepsIDs: Bool
  fileprivate let fill: (NewRow, Int) throws -> Void

  /// The rows are filled one by one while they are written, so none of them is kept.
  ///
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

/// A row that is being filled. Use it in the call that got it only: the next row has the same memory.
package struct NewRow {
  fileprivate let values: Snapshot

  /// An attribute's place in the rows of its entity. It is looked up by name once, and not for each row.
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
