/// The managed objects that a custom store gets for the rows of a save. They belong to a context that nothing else
/// uses.
///
/// The program's own objects cannot be used: they belong to its context and queue, and may change while the store
/// writes. These are copies with the same values, which live as long as one call of the store.
final class ScratchObjects {
  private let store: any CustomStore
  let context: NSManagedObjectContext
  /// All objects of the save, by key of the seam: temporary or permanent.
  private var objects: [RelatedKey: NSManagedObject] = [:]

  /// `tellsStores` is off: the objects of this context must not appear in `managedObjectContextDidRegisterObjects`.
  init(_ store: any CustomStore) {
    self.store = store
    context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.name = "save to \(store.type)"
    context.persistentStoreCoordinator = store.persistentStoreCoordinator
    context.undoManager = nil
    context.graph.tellsStores = false
  }

  func perform<T>(_ body: () throws -> T) rethrows -> T { try context.performAndWait(body) }

  // MARK: Objects for rows

  /// The snapshot is copied (`object(of:)`): a store may set values of the objects that it gets, and the save's own
  /// rows must not change with them.
  func newObject(_ values: Snapshot, _ key: Int64) -> NSManagedObject {
    let storedEntity = key < 0 ? values.layout.temporaryEntity : store.storedEntities.byName[values.layout.name]
    let object = object(of: storedEntity ?? values.layout.temporaryEntity, key: key, values: values, state: .inserted)
    objects[RelatedKey(key: key, number: 0)] = object
    context.assign(object, to: store)
    return object
  }

  func object(_ update: RowChanges.Update) throws -> NSManagedObject {
    let id = NSManagedObjectID(storedEntity: update.storedEntity, key: update.key)
    guard let values = try update.values ?? store.row(id, in: nil) else {
      throw CoreDataErrors.error(
        .managedObjectReferentialIntegrity, "The object \(id.uriString) has no row in its store.")
    }
    let object = object(of: update.storedEntity, key: update.key, values: values, state: .updated)
    object.committed = update.base ?? values
    return object
  }

  /// A fault for a row that the store deletes or checks.
  func fault(_ storedEntity: StoredEntity, _ key: Int64, _ state: NSManagedObject.State) -> NSManagedObject {
    let object = context.object(with: NSManagedObjectID(storedEntity: storedEntity, key: key))
    object.state.insert(state)
    return object
  }

  private func object(
    of storedEntity: StoredEntity, key: Int64, values: Snapshot, state: NSManagedObject.State
  ) -> NSManagedObject {
    let object = context.graph.make(storedEntity, key, snapshot: values.copy())
    object.state.remove(.fault)
    object.state.insert([state, .ownsSnapshot, .isNoted])
    return object
  }

  /// Gives a new object its permanent ID. It can still be found by the temporary one, to which others may refer.
  func identify(_ object: NSManagedObject, as id: NSManagedObjectID) {
    object.become(id)
    context.graph.add(object)
  }

  // MARK: Members

  /// Gives the objects' to-many relationships the members that they have after the save.
  ///
  /// A store that writes `author.books` expects the members after the save. The seam tells changes only, and for a
  /// one-to-many relationship not even these: the books' own to-ones say who came and who went.
  func setMembers(_ changes: RowChanges, _ inserted: [NSManagedObject], _ updated: [NSManagedObject]) {
    let followers = followers(changes, inserted, updated)
    for (row, object) in zip(changes.inserted, inserted) {
      for (index, relationship) in object.layout.toManys.enumerated() {
        let change = row.members.first { $0.relationship === relationship }
        load(
          toMany: index, of: object, from: [], changedBy: change,
          arrivals: followers.came[object]?[relationship.name] ?? [], departures: [])
      }
    }
    for (row, object) in zip(changes.updated, updated) {
      for (index, relationship) in object.layout.toManys.enumerated() {
        let change = row.members.first { $0.relationship === relationship }
        let came = followers.came[object]?[relationship.name] ?? []
        let went = followers.went[object]?[relationship.name] ?? []
        // Unchanged members are read when they are needed.
        if change == nil && came.isEmpty && went.isEmpty { continue }
        load(
          toMany: index, of: object, from: context.storedMembers(of: object, relationship), changedBy: change,
          arrivals: came, departures: went)
      }
    }
  }

  private typealias Followers = [NSManagedObject: [String: [NSManagedObject]]]

  /// The objects of the save that joined or left an owner by their to-one relationships.
  ///
  /// ```text
  /// Book 7: author 1 → 2        went[author 1]["books"] = [7], came[author 2]["books"] = [7]
  /// new Book with author 2      came[author 2]["books"] gets it
  /// ```
  private func followers(
    _ changes: RowChanges, _ inserted: [NSManagedObject], _ updated: [NSManagedObject]
  ) -> (came: Followers, went: Followers) {
    var (came, went): (Followers, Followers) = ([:], [:])
    func note(_ object: NSManagedObject, _ old: Snapshot?, _ new: Snapshot) {
      for slot in object.layout.toOneSlots {
        guard let inverse = object.layout.slots[slot].relationship?.inverseRelationship, inverse.isToMany,
          old?.related(slot) != new.related(slot)
        else { continue }
        if let key = new.related(slot), let owner = owner(key, of: object, slot) {
          came[owner, default: [:]][inverse.name, default: []].append(object)
        }
        if let key = old?.related(slot), let owner = owner(key, of: object, slot) {
          went[owner, default: [:]][inverse.name, default: []].append(object)
        }
      }
    }
    for (row, object) in zip(changes.inserted, inserted) { note(object, nil, row.values) }
    for (row, object) in zip(changes.updated, updated) {
      if let values = row.values { note(object, row.base, values) }
    }
    return (came, went)
  }

  private func owner(_ key: RelatedKey, of object: NSManagedObject, _ slot: Int) -> NSManagedObject? {
    context.object(for: key, from: object, slot: slot)
  }

  /// The members after the save: those of the store, without the removed and departed ones, with the added and arrived
  /// ones, in the new order if there is one.
  private func load(
    toMany index: Int, of object: NSManagedObject, from stored: [NSManagedObject], changedBy change: MemberChange?,
    arrivals came: [NSManagedObject], departures went: [NSManagedObject]
  ) {
    let destination = object.layout.toManys[index].destinationEntity?.name ?? ""
    let removed = (change?.removed ?? []).compactMap { member($0, destination) } + went
    var list = MemberList(stored.filter { !removed.contains($0) }, keepsOrder: true)
    for member in (change?.added ?? []).compactMap({ member($0, destination) }) + came { list.insert(member) }
    if let order = change?.order?.compactMap({ member($0, destination) }) {
      let unorderedMembers = list.items.filter { !order.contains($0) }
      list.replaceAll(change?.isWhole ?? true ? order : unorderedMembers + order)
    }
    object.unloadedToMany(index).load(list.items)
  }

  private func member(_ key: Int64, _ entity: String) -> NSManagedObject? {
    if key < 0 { return objects[RelatedKey(key: key, number: 0)] }
    return store.storedEntity(ofKey: key, entity).map {
      context.object(with: NSManagedObjectID(storedEntity: $0, key: key))
    }
  }
}

extension CustomStore {
  /// The entity of a key: a destination or one of its subentities.
  fileprivate func storedEntity(ofKey key: Int64, _ destination: String) -> StoredEntity? {
    references.number(key).flatMap { storedEntities[$0] } ?? storedEntities.byName[destination]
  }
}
