/// The results of a request, which a fetched results controller follows.
///
/// The controller's delegate method for differences tells which objects changed; the notification of a save tells that
/// new objects have other IDs, which no difference shows.
///
/// States:
///
/// ```text
/// needsFetch = true    before the first element, after a reset, after an error
///                      take() fetches and sets the delegate; nothing is followed
/// needsFetch = false   the controller follows; hasChanged says whether take() has something
/// failure != nil       take() throws it, and the iterator ends the sequence
/// ```
///
/// Used on the context's queue.
final class FetchedSource<Object: NSManagedObject, Value>: NSObject, NSFetchedResultsControllerDelegate, ValueSource {
  private let controller: NSFetchedResultsController<Object>
  private let transform: (Object) throws -> Value
  private let signal: ChangeSignal
  private var observation: NotificationObservation?
  /// The IDs of the last element.
  private var previousIDs: [NSManagedObjectID] = []
  /// The objects with changed values since then.
  private var updatedIDs: Set<NSManagedObjectID> = []
  private var hasChanged = true
  /// Whether the results are unusable: before the first fetch, and after a reset of the context.
  private var needsFetch = true
  /// Kept until the loop asks: a notification has no caller that could catch it.
  private var failure: (any Error)?

  /// - Parameter request: has sort descriptors, and belongs to this object.
  init(
    _ request: NSFetchRequest<Object>, _ context: NSManagedObjectContext, _ signal: ChangeSignal,
    _ transform: @escaping (Object) throws -> Value
  ) {
    controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    self.transform = transform
    self.signal = signal
    super.init()
    controller.results.didLoseTrack = { [weak self] in self?.loseTrack($0) }
    let box = WeakObserver(observer: self)
    observation = NotificationObservation(of: .NSManagedObjectContextDidSave, from: context) {
      box.observer?.contextDidSave($0.userInfo ?? [:])
    }
  }

  /// `hasChanged` goes before the closure runs: a change that the closure makes, though it must not, is the next
  /// element's and not lost.
  func take() throws -> TakenValue<FetchedSnapshot<Value>> {
    if let failure { throw failure }
    if needsFetch {
      controller.delegate = self
      try controller.performFetch()
      needsFetch = false
    }
    guard hasChanged else { return .unchanged }
    hasChanged = false
    let objects = controller.fetchedObjects ?? []
    let values = try objects.map(transform)
    let ids = objects.map(\.objectID)
    let snapshot = FetchedSnapshot(
      values, ids, previousIDs: previousIDs, updatedIDs: updatedIDs.isEmpty ? [] : updatedIDs.intersection(ids))
    previousIDs = ids
    updatedIDs = []
    return .element(snapshot)
  }

  func stop() {
    observation = nil
    controller.delegate = nil
  }

  /// The only delegate method that this has, so the controller makes differences and no single calls. No section key
  /// path, which differences need.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
  ) {
    // An update, and a move, is an insertion that belongs to a removal.
    for case .insert(_, let id, _?) in diff { updatedIDs.insert(id) }
    noteChange()
  }

  /// The flag is what counts; the signal wakes a loop that waits.
  private func noteChange() {
    hasChanged = true
    signal.send()
  }

  /// The results no longer follow the context: after an error, or a reset. Its further changes would be compared with
  /// rows that are unusable.
  ///
  /// After a reset all objects may have other values: the former IDs count as updated.
  private func loseTrack(_ error: (any Error)?) {
    controller.delegate = nil
    failure = error
    needsFetch = true
    updatedIDs.formUnion(previousIDs)
    noteChange()
  }

  /// New objects among the results have other IDs than in the last element.
  ///
  /// Only a save of new objects among the results matters; any other change of the results came with the event before.
  fileprivate func contextDidSave(_ info: [AnyHashable: Any]) {
    let inserted = info[NSInsertedObjectsKey] as? Set<NSManagedObject> ?? []
    guard !needsFetch,
      inserted.contains(where: { $0 is Object && controller.results.indexPath(of: $0) != nil })
    else { return }
    noteChange()
  }
}

/// One object, which is retained from the first element on: otherwise a clean object may leave the context, and its
/// refresh would not be reported.
///
/// Used on the context's queue.
final class ObjectSource<Object: NSManagedObject, Value>: ValueSource {
  private let id: NSManagedObjectID
  private let context: NSManagedObjectContext
  private let transform: (Object) throws -> Value
  private let signal: ChangeSignal
  /// Nil before the first element, and after a reset.
  ///
  /// After a reset the former object belongs to no context; the next `take` gets another for the ID.
  private var object: Object?
  private var observation: NotificationObservation?
  private var hasChanged = true

  init(
    _ id: NSManagedObjectID, _ context: NSManagedObjectContext, _ signal: ChangeSignal,
    _ transform: @escaping (Object) throws -> Value
  ) {
    self.id = id
    self.context = context
    self.transform = transform
    self.signal = signal
    let box = WeakObserver(observer: self)
    observation = NotificationObservation(of: .NSManagedObjectContextObjectsDidChange, from: context) {
      box.observer?.contextDidChange($0.userInfo ?? [:])
    }
  }

  /// An unsaved deletion ends the sequence too: a roll-back does not continue it.
  func take() throws -> TakenValue<Value> {
    guard hasChanged else { return .unchanged }
    guard let object = try object ?? existingObject(), !object.isDeleted, !object.state.contains(.gone) else {
      return .end
    }
    hasChanged = false
    self.object = object
    return .element(try transform(object))
  }

  func stop() { observation = nil }

  /// The object; nil if it has no row.
  ///
  /// An object without a row is the end of the sequence, not an error; an object of another class is an error of the
  /// program.
  private func existingObject() throws -> Object? {
    do {
      return try context.existingObject(with: id, as: Object.self)
    } catch let error as CocoaError where error.code == .managedObjectReferentialIntegrity {
      return nil
    }
  }

  /// Observed from the beginning, also before the object is known: it then only waits for a reset.
  fileprivate func contextDidChange(_ info: [AnyHashable: Any]) {
    if info[NSInvalidatedAllObjectsKey] != nil {
      object = nil
    } else {
      let sets = [
        NSUpdatedObjectsKey, NSRefreshedObjectsKey, NSDeletedObjectsKey, NSInvalidatedObjectsKey,
      ].lazy.compactMap { info[$0] as? Set<NSManagedObject> }
      guard let object, sets.contains(where: { $0.contains(object) }) else { return }
    }
    hasChanged = true
    signal.send()
  }
}
