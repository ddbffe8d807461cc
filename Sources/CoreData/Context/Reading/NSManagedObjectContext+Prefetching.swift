/// Reads ahead: the relationships that a fetch names, and the rows of many faults at once.
extension NSManagedObjectContext {
  /// Loads the objects behind key paths of relationships before they are used one by one.
  ///
  ///     relationshipKeyPathsForPrefetching = ["author.books"] of 1,000 books by 20 authors
  ///
  ///     author    SELECT … FROM ZAUTHOR WHERE Z_PK IN (20 keys)
  ///     books     SELECT … FROM ZBOOK WHERE ZAUTHOR IN (20 keys)
  ///
  /// Two statements, where using the objects one by one would take forty.
  final func prefetch(_ keyPaths: [String], for objects: [NSManagedObject]) throws {
    for keyPath in keyPaths {
      var current = objects
      for key in keyPath.split(separator: ".").map(String.init) {
        try fillRelated(key, of: current)
        try loadMembers(key, of: current)
        current = current.flatMap { object -> [NSManagedObject] in
          switch object.layout.locations[key] {
          case .slot(let slot) where object.layout.slots[slot].kind == .toOne: object.related(slot).map { [$0] } ?? []
          case .toMany(let index): object.toMany(index).members?.items ?? []
          default: []
          }
        }
      }
    }
  }

  /// Fills the destinations of a to-one relationship that are faults, with many rows in one query.
  private func fillRelated(_ key: String, of objects: [NSManagedObject]) throws {
    guard parentContext == nil else { return }
    let faults = objects.compactMap { object -> NSManagedObject? in
      guard case .slot(let slot) = object.layout.locations[key], object.layout.slots[slot].kind == .toOne else {
        return nil
      }
      return object.related(slot)
    }.filter { $0.isFault && $0.snapshot == nil }
    try fill(faults)
  }

  /// Loads a to-many relationship of objects whose members are not known, with many owners in one query.
  private func loadMembers(_ key: String, of objects: [NSManagedObject]) throws {
    guard parentContext == nil else { return }
    var groups: [ObjectIdentifier: [NSManagedObject]] = [:]
    for object in objects where !object.objectID.isTemporaryID && !object.state.contains(.gone) {
      guard case .toMany(let index) = object.layout.locations[key], object.unloadedToMany(index).members == nil else {
        continue
      }
      groups[ObjectIdentifier(object.storedEntity), default: []].append(object)
    }
    for owners in groups.values {
      let storedEntity = owners[0].storedEntity
      guard let store = owners[0].objectID.objectStore, let index = storedEntity.layout.toManyIndex(key)
      else { continue }
      let byKey = Dictionary(owners.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
      var members: [Int64: [NSManagedObject]] = [:]
      try graph.gathering {
        try store.members(
          ofEach: Array(byKey.keys), storedEntity, storedEntity.layout.toManys[index], in: readGeneration()
        ) {
          owner, storedEntity, key, snapshot in
          let member = graph.reuse(key, storedEntity.table) ?? graph.make(storedEntity, key, snapshot: nil)
          member.supply(snapshot)
          members[owner, default: []].append(member)
        }
      }
      for (key, owner) in byKey { owner.unloadedToMany(index).load(members[key] ?? []) }
    }
  }

  /// Reads the rows of faults, many in one query.
  ///
  /// Faults of one entity share a statement. Objects whose rows are missing stay faults, which their first use finds
  /// out.
  final func fill(_ faults: [NSManagedObject]) throws {
    // A child's values are its parent's, which may differ from the rows.
    guard parentContext == nil else { return }
    var groups: [ObjectIdentifier: [NSManagedObject]] = [:]
    for fault in faults where !fault.objectID.isTemporaryID && fault.isFault && fault.snapshot == nil {
      groups[ObjectIdentifier(fault.objectID.storedEntity), default: []].append(fault)
    }
    for group in groups.values {
      guard let store = group[0].objectID.objectStore else { continue }
      let byKey = Dictionary(group.map { ($0.objectID.key, $0) }, uniquingKeysWith: { first, _ in first })
      try store.rows(Array(byKey.keys), of: group[0].objectID.storedEntity, in: readGeneration()) { key, snapshot in
        byKey[key]?.supply(snapshot)
      }
    }
  }
}
