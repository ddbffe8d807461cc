/// The part of a context's save for one store: the objects, their rows, and the results for both.
///
/// It converts between objects and rows. Objects become rows for the store (`RowChanges`), the store's answer changes
/// the objects, and its conflicts, which name places in the lists of rows, become conflicts of objects. The objects and
/// rows of each kind have the same order.
final class StoreChanges {
  let store: any ObjectStore
  private(set) var inserted: [NSManagedObject] = []
  private(set) var updated: [NSManagedObject] = []
  private(set) var deleted: [NSManagedObject] = []
  private var checked: [NSManagedObject] = []
  /// The rows, in the order of the objects.
  private(set) var rows: RowChanges

  init(_ store: any ObjectStore, _ origin: ChangeOrigin, _ permanentIDs: [Int64: NSManagedObjectID]) {
    self.store = store
    rows = RowChanges(origin: origin, permanentIDs: permanentIDs)
  }

  /// The objects of this part.
  var objects: SavedChanges { SavedChanges(inserted: inserted, updated: updated, deleted: deleted) }

  // MARK: From objects to rows

  /// Adds new objects. Their values are shared with the row, not copied: they do not change before the save has ended.
  func insert(_ objects: ArraySlice<NSManagedObject>) {
    StoreChanges.add(objects, to: &inserted)
    rows.inserted.append(
      contentsOf: objects.lazy.map { object in
        RowChanges.Insertion(key: object.key, values: object.access(), members: StoreChanges.memberChanges(of: object))
      })
  }

  /// Adds changed objects, each with the row as it was read: a store writes the columns that differ, under the version
  /// of the base. For SQLite:
  ///
  ///     UPDATE ZBOOK SET Z_OPT = ?, ZTITLE = ? WHERE Z_PK = ? AND Z_OPT = ?
  ///
  /// A row that has another version by then is not found, which is a conflict.
  func update(_ objects: ArraySlice<NSManagedObject>) {
    StoreChanges.add(objects, to: &updated)
    rows.updated.append(
      contentsOf: objects.lazy.map { object in
        RowChanges.Update(
          storedEntity: object.storedEntity, key: object.key, base: object.committed ?? object.snapshot,
          values: object.snapshot, members: StoreChanges.memberChanges(of: object))
      })
  }

  /// Adds deleted objects, which have a row.
  func delete(_ objects: ArraySlice<NSManagedObject>) {
    StoreChanges.add(objects, to: &deleted)
    rows.deleted.append(
      contentsOf: objects.lazy.map { object in
        RowChanges.Deletion(
          storedEntity: object.storedEntity, key: object.key,
          version: object.committed?.version ?? StoreChanges.versionRead(of: object))
      })
  }

  /// Adds the objects at the end of a list. The first ones are mostly all of the save, whose array is shared then.
  private static func add(_ objects: ArraySlice<NSManagedObject>, to list: inout [NSManagedObject]) {
    if list.isEmpty { list = Array(objects) } else { list += objects }
  }

  /// Makes the save fail if the object's row is not as it was read, or not there.
  ///
  /// - Parameter mayHaveChanged: whether a row that is there is enough.
  func check(_ object: NSManagedObject, mayHaveChanged: Bool) {
    checked.append(object)
    rows.checked.append(
      RowChanges.Check(
        storedEntity: object.storedEntity, key: object.key, version: StoreChanges.versionRead(of: object),
        mayHaveChanged: mayHaveChanged))
  }

  /// The version of the row that the object's values are from, all of them or those that a fetch named.
  private static func versionRead(of object: NSManagedObject) -> Int64? {
    object.snapshot?.version ?? object.batch?.values?.version
  }

  /// The changes of the object's to-many relationships that the store has to be told: none for most objects.
  private static func memberChanges(of object: NSManagedObject) -> [MemberChange] {
    // Most objects were never asked for their members.
    if object.toManys.isEmpty { return [] }
    return object.toManys.compactMap { $0?.change }
  }

  /// New objects that refer to each other must go to the same store. A reference to a saved object of another store is
  /// found when the relationship is set, or by the store.
  static func checkReferences(_ parts: [StoreChanges]) throws {
    var stores: [Int64: any ObjectStore] = [:]
    for part in parts {
      for row in part.rows.inserted { stores[row.key] = part.store }
    }
    for part in parts {
      for object in part.inserted + part.updated {
        for slot in object.layout.toOneSlots {
          guard let key = object.snapshot?.related(slot)?.key, key < 0, let store = stores[key], store !== part.store
          else { continue }
          throw CoreDataErrors.error(
            .persistentStoreSave,
            "\(object.layout.name).\(object.layout.slots[slot].name) of \(object.objectID.uriString) refers to an "
              + "object that belongs to another store.", [NSAffectedObjectsErrorKey: [object]])
        }
      }
    }
  }

  // MARK: From rows to objects

  /// Applies the store's answer to the objects: IDs, versions, clean state. Adds the rows to the cache.
  ///
  /// It runs while no other save of the coordinator can write (`NSPersistentStoreCoordinator.save`), so the cache gets
  /// rows in the order of the commits. It does not fail: the transaction is over.
  func apply(_ saved: SavedRows) {
    var cached: [CachedRow] = []
    cached.reserveCapacity(inserted.count + updated.count)
    // The cache may have an older version of these rows.
    var unknown: [(key: Int64, table: Int32)] = []
    unknown.reserveCapacity(rows.deleted.count)
    let (inserted, updated) = (inserted, updated)
    let (keys, versions, insertedVersions) = (saved.keys, saved.versions, saved.insertedVersions)
    var last: StoredEntity?
    for index in inserted.indices {
      let object = inserted[index]
      if object.key < 0 {
        // Objects of one entity mostly follow each other.
        if last?.layout !== object.layout { last = store.storedEntities.byName[object.layout.name] }
        if let last { object.become(keys[index], of: last) }
      }
      let version = insertedVersions.isEmpty ? 1 : insertedVersions[index]
      if let row = settle(object, version: version, saved) {
        cached.append(row)
      } else {
        unknown.append((object.key, object.storedEntity.table))
      }
    }
    for index in updated.indices {
      let object = updated[index]
      if let row = settle(object, version: versions[index], saved) {
        cached.append(row)
      } else {
        unknown.append((object.key, object.storedEntity.table))
      }
    }
    for row in rows.deleted { unknown.append((row.key, row.storedEntity.table)) }
    let derived = derivedRows
    store.rowCache.commit(saved: cached, removed: unknown + derived.rows, removedTables: derived.tables)
  }

  private typealias CachedRow = (key: Int64, table: Int32, snapshot: Snapshot)

  /// Makes a saved object clean. Returns its row for the cache; nil if the row is not known: it was written without
  /// being read, or it has derived attributes, whose values the store has computed.
  ///
  /// Keys of new objects in the slots become those that the store has assigned.
  @inline(__always)
  private func settle(_ object: NSManagedObject, version: Int64, _ saved: SavedRows) -> CachedRow? {
    if !object.toManys.isEmpty {
      for case let toMany? in object.toManys { toMany.markSaved() }
    }
    if object.hasCommitted { object.committed = nil }
    guard var snapshot = object.snapshot else { return nil }
    if object.state.contains(.ownsSnapshot) {
      object.state.remove(.ownsSnapshot)
    } else {
      // It is shared if only members changed, or if a child context's save brought the object.
      snapshot = snapshot.copy()
      object.snapshot = snapshot
    }
    snapshot.version = version
    let layout = object.layout
    for slot in layout.toOneSlots {
      if let related = snapshot.related(slot), related.key < 0,
        let permanent = saved.assigned[related.key] ?? rows.permanentIDs[related.key]?.relatedKey
      {
        snapshot.assign(slot: slot, to: permanent)
      }
    }
    if layout.hasDerived { return nil }
    if layout.hasTransients { snapshot = snapshot.withoutTransients() }
    return (object.key, object.storedEntity.table, snapshot)
  }

  // MARK: From conflicts of rows to conflicts of objects

  /// The object of a row, by its place in the save.
  func object(at place: RowChanges.Place) -> NSManagedObject {
    switch place {
    case .inserted(let index): inserted[index]
    case .updated(let index): updated[index]
    case .deleted(let index): deleted[index]
    case .checked(let index): checked[index]
    }
  }

  /// The store's conflicts as those of objects.
  func mergeConflicts(_ rowConflicts: RowConflicts) -> [NSMergeConflict] {
    rowConflicts.conflicts.map { NSMergeConflict(source: object(at: $0.place), stored: $0.stored, cached: $0.cached) }
  }

  /// The conflicts of unique values: among the objects of the save, and with current rows of the store.
  ///
  /// The rows that have the values already get an object of the context, filled with what was found: policies show and
  /// change it.
  func constraintConflicts(_ rejected: RejectedRows, in context: NSManagedObjectContext) throws
    -> [NSConstraintConflict]
  {
    try store.violations(of: rejected.places, in: rows).map { violation in
      let row = violation.stored.map { context.object(with: $0.id) }
      if let values = violation.stored?.values { row?.supply(values) }
      return NSConstraintConflict(
        constraint: violation.names, databaseObject: row, stored: violation.stored?.values,
        conflictingObjects: violation.rivals.map(object(at:)))
    }
  }

  /// The error for rejected rows. If no object with their values was found, it has the store's sentence.
  func error(_ rejected: RejectedRows, _ conflicts: [NSConstraintConflict]) -> NSError {
    if !conflicts.isEmpty { return NSConstraintConflict.error(conflicts) }
    let objects = rejected.places.map(object(at:))
    return CoreDataErrors.error(
      .managedObjectConstraintMerge,
      "\(objects.first?.objectID.uriString ?? "A row") cannot be saved: \(rejected.message)",
      [NSAffectedObjectsErrorKey: objects])
  }
}

extension ChangeOrigin {
  init(_ context: NSManagedObjectContext) {
    self.init(author: context.transactionAuthor, contextName: context.name)
    authorPasses = context.transactionAuthorPasses
  }
}

extension ToMany {
  /// The change that the store is told; nil without one. Members whose own to-one relationship tells the store already,
  /// as in one to many, are left out; an order is sent in any case.
  fileprivate var change: MemberChange? {
    guard hasChanges else { return nil }
    var change = MemberChange(relationship: relationship)
    func keys(_ members: [NSManagedObject]) -> [Int64] { members.map(\.objectID.key) }
    if relationship.inverseRelationship?.isToMany ?? true {
      change.added = keys(added.items.filter { !$0.isDeleted })
      change.removed = keys(removed.items)
    }
    if orderChanged {
      change.isWhole = members != nil
      change.order = keys((members?.items ?? added.items).filter { !$0.isDeleted })
    }
    return change
  }
}

extension Snapshot {
  /// The snapshot without transient properties.
  fileprivate func withoutTransients() -> Snapshot {
    guard layout.hasTransients else { return self }
    let stored = copy()
    for (slot, description) in layout.slots.enumerated() where description.isTransient { stored.setNil(slot) }
    return stored
  }
}
