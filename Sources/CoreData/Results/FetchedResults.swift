/// The implementation of `NSFetchedResultsController`, independent of its result type.
///
/// Four files, one for each duty:
///
/// ```text
/// FetchedResults            the fetch, the cache of sections, observing
/// FetchedResults+Sections   from sorted rows to sections
/// FetchedResults+Changes    from the context's notification to touched rows
/// FetchedResults+Updating   from touched rows to new places, and to the delegate's calls
/// ```
///
/// Invariants between two changes: `rows` is in the order of `settings.sortDescriptors`; each row is in the section of
/// its name; each section has at least one row, unless there is no section key path. Untouched rows keep these by
/// themselves, so a change compares touched rows with their neighbours only.
///
/// Who retains whom:
///
/// ```text
/// program ──▶ controller ──▶ results ──▶ context
/// program ──▶ delegate       results ··▶ delegate, controller     (weak)
/// context ··▶ results        (weak, in `followers` and in the notification's block)
/// ```
///
/// Use it on the context's queue.
final class FetchedResults: ContextFollower {
  let request: any AnyFetchRequest
  let context: NSManagedObjectContext
  let sectionNameKeyPath: String?
  let cacheName: String?
  /// The class that all results must have; nil for any class.
  ///
  /// Checked once for each fetch, so that `array(of:)` may reinterpret the array instead of casting each row.
  private let resultClass: AnyClass?
  /// The controller that these results belong to, under the type that delegates know.
  weak var controller: NSFetchedResultsController<any NSFetchRequestResult>?

  weak var delegate: (any NSFetchedResultsControllerDelegate)? { didSet { observe() } }
  /// Set by the default implementation of the delegate's method that takes a difference.
  ///
  /// Swift cannot ask whether a class implements an optional method of a protocol without Objective-C. The default
  /// implementation sets this, so a call tells whether it was the default.
  var differenceWasIgnored = false
  /// Set by the default implementation of the delegate's method that takes a snapshot.
  var snapshotWasIgnored = false
  /// Whether the delegate's type has that method; nil until it is known.
  ///
  /// Kept by type, so that another delegate of the same class is not asked again.
  var takesSnapshots: (type: ObjectIdentifier, answer: Bool)?
  /// Whether the delegate's type has the method that takes a difference; nil until it is known.
  var takesDifferences: (type: ObjectIdentifier, answer: Bool)?

  /// Called when the rows no longer follow the context: with the error of a fetch, or with nil after a reset. Without
  /// it an error goes to standard error.
  ///
  /// `FetchedSource` sets it: its loop ends with the error, where a delegate has no method for it.
  var didLoseTrack: (((any Error)?) -> Void)?

  var rows = FetchedRows([])
  /// The event before a fetch is ending. The delegate does not hear of its changes, since the fetch finds them.
  private(set) var isEndingEvent = false
  /// The request's settings at the last fetch; nil before the first.
  ///
  /// A copy: the program may change the request between two fetches, and the results still follow the fetched settings.
  private(set) var settings: FetchSettings?
  private(set) var entity: NSEntityDescription?
  /// The relationships that sort descriptors and the section key path cross: a change of an object behind one can move
  /// rows.
  ///
  /// Of "author.name" the relationship `author`; of a predicate's key paths none, as on Apple's platforms.
  private(set) var crossedRelationships: [[NSRelationshipDescription]] = []
  /// The objects behind those relationships, held so that the context keeps them and reports their changes.
  ///
  /// Otherwise an author that the program does not retain leaves the context, a merge of her new name is not reported,
  /// and the books stay at their places.
  private var related: Set<NSManagedObject> = []
  /// With the number of deletions at that time, so that a `deleteCache(withName:)` in between allows another request.
  private var fetchedConfiguration: (SectionCache.Configuration, deletions: Int)?
  private var observation: NotificationObservation?

  init<T>(
    _ request: NSFetchRequest<T>, resultClass: AnyClass?, context: NSManagedObjectContext, sectionNameKeyPath: String?,
    cacheName: String?
  ) {
    self.request = request
    self.resultClass = resultClass
    self.context = context
    self.sectionNameKeyPath = sectionNameKeyPath
    self.cacheName = cacheName
  }

  // MARK: Results

  /// O(1) for objects after the first call: the array's memory is shared.
  func array<T>(of type: T.Type) -> [T]? {
    guard settings != nil else { return nil }
    let fetchedRows = rows.all()
    // Every row was checked to be of the class, so both arrays have the same memory layout.
    if type is AnyClass { return unsafeBitCast(fetchedRows, to: [T].self) }
    // Every fetched value is of a possible result type.
    return fetchedRows.map { $0 as! T }
  }

  /// Traps with the path in the message: an index path from before a change is the usual reason.
  func row(at path: IndexPath) -> AnyObject {
    require(
      path.count == 2 && rows.sections.indices.contains(path[0])
        && (0..<rows.sections[path[0]].count).contains(path[1]),
      "The fetched results controller has no object at \(path.map(String.init).joined(separator: "-")).")
    return rows.sections[path[0]].row(at: path[1])
  }

  func indexPath(of row: AnyObject) -> IndexPath? { rows.indexPath(of: row) }

  var sections: [any NSFetchedResultsSectionInfo]? { settings == nil ? nil : rows.sections }

  /// The titles of the section index, and for each the position of its first section.
  ///
  /// Computed at each access, since titles may come from the delegate.
  var sectionIndex: (titles: [String], sections: [Int]) {
    var titles: [String] = []
    var positions: [Int] = []
    var listedTitles: Set<String> = []
    for (position, section) in rows.sections.enumerated() {
      guard let title = section.indexTitle, listedTitles.insert(title).inserted else { continue }
      titles.append(title)
      positions.append(position)
    }
    return (titles, positions)
  }

  // MARK: Fetching

  /// The order: end the event, check the settings, take the stamp of the files, fetch, cut into sections, replace the
  /// rows, write the cache if the files have not changed meanwhile, begin to observe. An error of the fetch or of the
  /// sections leaves the former results.
  func fetch() throws {
    // What changed so far is part of the results. Later it would be told again, and a new object that is deleted before
    // the end of the event would stay among them.
    isEndingEvent = true
    context.processEvent()
    isEndingEvent = false
    let settings = request.settings
    try checkSectionKeyPath(settings)
    let configuration = try cacheConfiguration(settings)
    let stamp = configuration.flatMap { _ in SectionCache.stamp(of: stores(for: settings)) }
    let fetchedRows = try fetchRows(settings)
    if let cached = cachedSections(of: fetchedRows, configuration, stamp) {
      rows = FetchedRows(cached)
    } else {
      rows = FetchedRows(try sections(of: fetchedRows, settings))
      if let cacheName, let configuration, let stamp, !context.hasChanges,
        SectionCache.stamp(of: stores(for: settings)) == stamp
      {
        SectionCache(
          configuration: configuration, stamp: stamp, names: rows.sections.map(\.name),
          counts: rows.sections.map(\.count)
        ).write(cacheName)
      }
    }
    self.settings = settings
    entity = settings.entity ?? NSEntityDescription.entity(forEntityName: settings.entityName ?? "", in: context)
    crossedRelationships = relationships(crossedBy: settings)
    related = []
    // With batches, holding related objects would read every row.
    if settings.fetchBatchSize == 0 { for row in rows.all() { holdRelated(of: row) } }
    observe()
    if settings.resultType == .managedObjectResultType { tellSnapshotOfFetch() }
  }

  /// The request's current results in order. Throws 134070 if one is not of the controller's result type.
  ///
  /// Also for a refetch with a limit, when the store alone knows what enters the window.
  func fetchRows(_ settings: FetchSettings) throws -> [AnyObject] {
    let rows = try unchecked(settings)
    guard let resultClass, let wrong = rows.first(notOf: resultClass) else { return rows }
    throw CoreDataErrors.error(
      .persistentStoreOperation,
      "A fetched results controller of \(String(describing: resultClass)) got a \(type(of: wrong)).")
  }

  /// Fetches managed objects whatever the program's class is, so that the error of `fetchRows` names both classes and
  /// the controller.
  private func unchecked(_ settings: FetchSettings) throws -> [AnyObject] {
    guard settings.resultType == .managedObjectResultType else {
      let request = NSFetchRequest<any NSFetchRequestResult>(settings)
      return try context.fetch(request)
    }
    let request = NSFetchRequest<NSManagedObject>(settings)
    if settings.fetchBatchSize == 0 { request.settings.prefetchedKeyPaths = prefetchedKeyPaths(settings) }
    return try context.fetch(request)
  }

  /// For objects that enter later: a fetch checks its own.
  func isOfResultClass(_ row: AnyObject) -> Bool {
    resultClass.map { inherits(type(of: row), from: $0) } ?? true
  }

  /// The request's prefetched key paths and the relationship of the section key path, which is read for every row.
  ///
  /// A section by "author.name" reads the author of every row at once; without prefetching that is one query for each.
  private func prefetchedKeyPaths(_ settings: FetchSettings) -> [String]? {
    let keys = KeyPathComponents(sectionNameKeyPath ?? "").keys
    guard keys.count > 1 else { return settings.prefetchedKeyPaths }
    return (settings.prefetchedKeyPaths ?? []) + [keys.dropLast().joined(separator: ".")]
  }

  /// Paths are cut at the first key that is no relationship. Equal ones are there once.
  private func relationships(crossedBy settings: FetchSettings) -> [[NSRelationshipDescription]] {
    let keyPaths = (settings.sortDescriptors ?? []).compactMap(\.key) + (sectionNameKeyPath.map { [$0] } ?? [])
    var paths: [[NSRelationshipDescription]] = []
    for keyPath in keyPaths {
      var path: [NSRelationshipDescription] = []
      var current = entity
      for key in KeyPathComponents(keyPath).keys {
        guard let relationship = current?.relationshipsByName[key] else { break }
        path.append(relationship)
        current = relationship.destinationEntity
      }
      if !path.isEmpty && !paths.contains(path) { paths.append(path) }
    }
    return paths
  }

  /// Retains the related objects on which the order and the section of a row depend.
  ///
  /// Called for each row of a fetch, and for rows that enter or change: they may have another author now.
  func holdRelated(of row: AnyObject) {
    guard !crossedRelationships.isEmpty, let object = row as? NSManagedObject else { return }
    for path in crossedRelationships {
      var current: NSManagedObject? = object
      for step in path {
        current = current?.propertyValue(forKey: step.name) as? NSManagedObject
        if let current { related.insert(current) }
      }
    }
  }

  /// The stores that a fetch would ask. The cache keeps the states of their files.
  func stores(for settings: FetchSettings) -> [any ObjectStore] {
    let entity = settings.entity ?? NSEntityDescription.entity(forEntityName: settings.entityName ?? "", in: context)
    guard let entity, let coordinator = context.persistentStoreCoordinator else { return [] }
    return coordinator.objectStores(among: settings.affectedStores).filter { $0.holds(entity) }
  }

  // MARK: The cache of sections

  /// The values that the cache depends on; nil without a cache. Throws 134060 if the request was changed and the cache
  /// was not deleted.
  ///
  /// The rule is Apple's: a controller with a cache must not change its request behind it ("Modifying the Fetch
  /// Request"). Without a section key path there is nothing to cache.
  private func cacheConfiguration(_ settings: FetchSettings) throws -> SectionCache.Configuration? {
    guard let cacheName, sectionNameKeyPath != nil, settings.resultType == .managedObjectResultType else { return nil }
    let entity = settings.entity ?? NSEntityDescription.entity(forEntityName: settings.entityName ?? "", in: context)
    guard let entity else { return nil }
    let current = SectionCache.Configuration(
      settings, entity: entity, sectionNameKeyPath: sectionNameKeyPath ?? "", stores: stores(for: settings))
    let deletions = SectionCache.deletions(of: cacheName)
    if let fetched = fetchedConfiguration, fetched.deletions == deletions, fetched.0 != current {
      throw CoreDataErrors.error(
        .coreData,
        "The request of the fetched results controller was changed while it has the cache \"\(cacheName)\": call "
          + "deleteCache(withName:) first, or use no cache.")
    }
    fetchedConfiguration = (current, deletions)
    return current
  }

  /// Unsaved changes are part of the results and not of the file: with them no cache is used. `slices(of:)` refuses
  /// counts that do not add up to the fetched rows.
  private func cachedSections(
    of fetchedRows: [AnyObject], _ configuration: SectionCache.Configuration?, _ stamp: [SectionCache.FileState]?
  ) -> [FetchedSection]? {
    guard let cacheName, let configuration, let stamp, !context.hasChanges, let cache = SectionCache.read(cacheName),
      cache.configuration == configuration, cache.stamp == stamp
    else { return nil }
    return slices(of: fetchedRows, zip(cache.names, cache.counts).map { ($0, $1) })
  }

  // MARK: Observing

  /// Called when the delegate is set and after a fetch, and idempotent. Without a delegate nothing is observed, so an
  /// unused controller costs a context nothing.
  private func observe() {
    let isTracking = delegate != nil && settings?.resultType == .managedObjectResultType
    guard isTracking != (observation != nil) else { return }
    guard isTracking else {
      observation = nil
      context.followers.remove(self)
      return
    }
    let box = WeakObserver(observer: self)
    context.followers.add(self)
    observation = NotificationObservation(of: .NSManagedObjectContextObjectsDidChange, from: context) {
      box.observer?.contextDidChange($0.userInfo ?? [:])
    }
  }
}

/// A reference to what observes a context that does not keep it alive.
///
/// Notification blocks must be `Sendable`; the observers are not.
///
/// `@unchecked Sendable`: used on the context's queue only, where the context posts the notification whose block holds
/// it.
struct WeakObserver<Observer: AnyObject>: @unchecked Sendable {
  weak var observer: Observer?
}
