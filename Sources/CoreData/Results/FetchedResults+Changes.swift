/// Follows the context's changes: decides which rows a notification touches.
///
/// Touched are the objects of the entity that were inserted, changed, refreshed or deleted, and those whose order or
/// section depends on a changed object of another entity (`affected(by:)`). All others stay where they are and are not
/// looked at: a change of one among 100,000 rows costs a few comparisons.
extension FetchedResults {
  /// Called with the user info when the context posts `ObjectsDidChange`.
  ///
  /// Runs inside of the context's post, on its queue. With a window (`fetchLimit`, `fetchOffset`) it fetches again.
  /// Otherwise faults among the touched objects are read in one query, not one by one as the predicate asks for their
  /// values.
  func contextDidChange(_ info: [AnyHashable: Any]) {
    guard let settings, let entity, delegate != nil, !isEndingEvent else { return }
    // After a reset the rows are unusable until the next `performFetch()`, and the delegate hears nothing.
    if info[NSInvalidatedAllObjectsKey] != nil {
      didLoseTrack?(nil)
      return
    }
    func isOfEntity(_ object: NSManagedObject) -> Bool {
      settings.includesSubentities ? object.entity.isKindOf(entity: entity) : object.entity === entity
    }
    var touched: [NSManagedObject] = []
    var changed: Set<ObjectIdentifier> = []
    for key in [
      NSInsertedObjectsKey, NSUpdatedObjectsKey, NSRefreshedObjectsKey, NSDeletedObjectsKey, NSInvalidatedObjectsKey,
    ] {
      for object in info[key] as? Set<NSManagedObject> ?? [] where isOfEntity(object) {
        if changed.insert(ObjectIdentifier(object)).inserted { touched.append(object) }
      }
    }
    var notedObjects = changed
    for object in affected(by: info) where isOfEntity(object) {
      if notedObjects.insert(ObjectIdentifier(object)).inserted { touched.append(object) }
    }
    guard !touched.isEmpty else { return }
    if settings.fetchLimit > 0 || settings.fetchOffset > 0 {
      // Only the store knows which object enters the window when another leaves it.
      guard let results = fetched() else { return }
      return apply(wholeOf: results, changed: changed)
    }
    // A row that cannot be read now is read, or reported, when `matches` uses it.
    try? context.fill(touched.filter { $0.isFault && $0.snapshot == nil && !$0.state.contains(.gone) })
    update(touched, changed: changed, order: RowOrder(settings.sortDescriptors ?? [])) { matches($0, settings) }
  }

  /// The objects of rows saved elsewhere that may enter the results, or make room there, although this context does not
  /// have them. The caller holds them while it merges the save, because merging skips objects without a reference.
  ///
  /// A merge reports only objects that the context has. But an object that did not match so far, and that the context
  /// does not have, may match now.
  ///
  /// ```text
  /// other process                     this context
  /// UPDATE book 7 SET isRead = 0
  ///                                   merge [7]
  ///                                     followers.objectsToMerge → object(with: 7), held
  ///                                     mergeUpdate(7): registered, so it is refreshed and reported
  ///                                   contextDidChange: matches "isRead == NO", enters
  /// ```
  ///
  /// With a predicate the updated objects may enter; in a window, deleted ones too, since their leaving makes room.
  func objectsToMerge(updated: [NSManagedObjectID], deleted: [NSManagedObjectID]) -> [NSManagedObject] {
    guard let settings, let entity else { return [] }
    let isWindow = settings.fetchLimit > 0 || settings.fetchOffset > 0
    // Without a predicate and a window every object is among the results already.
    guard isWindow || settings.predicate != nil else { return [] }
    return (isWindow ? updated + deleted : updated).compactMap { id in
      let isOfEntity = settings.includesSubentities ? id.entity.isKindOf(entity: entity) : id.entity === entity
      return isOfEntity ? context.object(with: id) : nil
    }
  }

  /// Reading the object may find that its row is gone, which marks it as deleted: hence the second test after the
  /// access. An error of reading traps or gives nils, as for every access.
  private func matches(_ row: AnyObject, _ settings: FetchSettings) -> Bool {
    guard let object = row as? NSManagedObject, object.reference === context.reference else { return false }
    if !object.isDeleted && !object.state.contains(.gone) { _ = object.access() }
    if object.isDeleted || object.state.contains(.gone) { return false }
    guard context.isObject(object, in: settings.affectedStores) else { return false }
    return settings.predicate?.evaluate(with: object) ?? true
  }

  /// The rows whose order or section may depend on the changed objects of other entities.
  ///
  /// For each path and each of its prefixes: of "author.country.name" a changed author and a changed country.
  private func affected(by info: [AnyHashable: Any]) -> [NSManagedObject] {
    guard !crossedRelationships.isEmpty else { return [] }
    let changed = [NSUpdatedObjectsKey, NSRefreshedObjectsKey].flatMap { info[$0] as? Set<NSManagedObject> ?? [] }
    var affectedOwners: [NSManagedObject] = []
    for path in crossedRelationships {
      for (position, step) in path.enumerated() {
        guard let destination = step.destinationEntity else { continue }
        for object in changed where object.entity.isKindOf(entity: destination) && !object.isDeleted {
          affectedOwners += owners(of: object, through: path[...position])
        }
      }
    }
    return affectedOwners
  }

  /// The objects from which the path of relationships leads to the object.
  ///
  /// It follows the inverse relationships backwards. Without an inverse it finds none, and rows stay until the next
  /// fetch.
  private func owners(of object: NSManagedObject, through path: ArraySlice<NSRelationshipDescription>)
    -> [NSManagedObject]
  {
    var current = [object]
    for relationship in path.reversed() {
      guard let inverse = relationship.inverseRelationship else { return [] }
      current = current.flatMap { member -> [NSManagedObject] in
        switch member.propertyValue(forKey: inverse.name) {
        case let one as NSManagedObject: [one]
        case let many as NSSet: many.compactMap { $0 as? NSManagedObject }
        case let many as NSOrderedSet: many.compactMap { $0 as? NSManagedObject }
        default: []
        }
      }
    }
    return current
  }

  // MARK: Fetching again

  /// The request's current results. Nil if they cannot be fetched; then `didLoseTrack` gets the error, or standard
  /// error a sentence.
  ///
  /// Rows stay as they were.
  private func fetched() -> [AnyObject]? {
    guard let settings else { return nil }
    do {
      return try fetchRows(settings)
    } catch {
      if let didLoseTrack {
        didLoseTrack(error)
        return nil
      }
      // A notification has no caller that could catch an error.
      let message =
        "CoreData: a fetched results controller could not follow its context: \(error.localizedDescription)\n"
      FileHandle.standardError.write(Data(message.utf8))
      return nil
    }
  }

  /// The fetch's order is taken as it is (`RowOrder(asIn:)`): all rows are touched, and those that are in place are not
  /// moved.
  private func apply(wholeOf fetchedRows: [AnyObject], changed: Set<ObjectIdentifier>) {
    let results = Set(fetchedRows.map { ObjectIdentifier($0) })
    let leaving = rows.all().filter { !results.contains(ObjectIdentifier($0)) }
    update(leaving + fetchedRows, changed: changed, order: RowOrder(asIn: fetchedRows)) {
      results.contains(ObjectIdentifier($0))
    }
  }
}
