/// Fetches: the stores' rows, corrected by the unsaved changes here.
extension NSManagedObjectContext {
  /// The objects, IDs, dictionaries or count that the request asks for.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.predicate = NSPredicate(format: "author.name == %@", "Jane Austen")
  /// request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
  /// let books = try context.fetch(request)
  /// ```
  ///
  /// The stores find the rows; unsaved changes of this context then add and remove results, unless
  /// `includesPendingChanges` is false. Delete rules of objects that were deleted in this event are applied before
  /// that, so an object that follows a deleted one is no result. Without sort descriptors the order is undefined. The
  /// objects are faults whose values the same query has read, so using them costs no further query; an object that the
  /// context had before keeps the values that it had. Relationships are read at their first use, one query for each
  /// object: name them in `relationshipKeyPathsForPrefetching` where all will be used.
  ///
  /// It blocks the context's queue while the store reads. `NSAsynchronousFetchRequest` reads on another thread, and a
  /// second context has a queue of its own. A fetch from a SQLite file in WAL mode does not wait for a writer
  /// (https://www.sqlite.org/wal.html). Call it on the context's queue.
  ///
  /// It costs one query for each store that holds the entity. The query reads the values of objects that the context
  /// has too, but they keep their own values and changes: call `refresh(_:mergeChanges:)`, or set
  /// `shouldRefreshRefetchedObjects`, where the stored values are needed.
  ///
  /// - Parameter request: the request; it is not changed, except that a request by an entity's name gets the entity.
  /// - Returns: the results in the request's order, as an array of their own: it does not change when objects do.
  /// - Throws: 134070 if the context has no coordinator, the model lacks the entity, the results are not of type `T`,
  ///   the request's settings contradict each other, or a SQL store cannot put the predicate or a sort descriptor into
  ///   SQL; the stores' errors.
  ///
  /// Source: Apple's documentation of `fetch(_:)`.
  public final func fetch<T>(_ request: NSFetchRequest<T>) throws -> [T] {
    let untypedResults: [Any]
    // `super.fetch(_:)` in an override may mean this method: it must not call the override again.
    if type(of: self) == NSManagedObjectContext.self || T.self == (any NSFetchRequestResult).self {
      let results = try results(of: request)
      if let typed = results.typed(as: T.self) { return typed }
      untypedResults = results.all
    } else {
      // A subclass may override the method for all types of results.
      untypedResults = try (self as any AllFetching).fetch(NSFetchRequest<any NSFetchRequestResult>(request))
      noteEntity(of: request)
      if let typed = untypedResults as? [T] { return typed }
    }
    let typeName = untypedResults.first.map { String(describing: Swift.type(of: $0)) } ?? "nothing"
    throw CoreDataErrors.error(
      .persistentStoreOperation,
      "The fetch of \(request.entityName ?? "") gives \(typeName), not \(T.self): set its resultType, or another class."
    )
  }

  /// The objects, IDs, dictionaries or count that the request asks for, where the program expects untyped values. Older
  /// code needs it, from before requests had a type; the compiler takes it only where the result is used as `[Any]`.
  ///
  /// - Parameter request: any request.
  /// - Returns: the results, of any class.
  /// - Throws: as the typed `fetch(_:)`, except that results of another class than `T` are no error.
  @_disfavoredOverload
  public final func fetch<T>(_ request: NSFetchRequest<T>) throws -> [Any] {
    try (self as any AllFetching).fetch(NSFetchRequest<any NSFetchRequestResult>(request))
  }

  /// `fetch(_:)` for all types of results, without a subclass's override.
  ///
  /// The override of a subclass calls it as `super.fetch(_:)`.
  final func fetchAll(_ request: NSFetchRequest<any NSFetchRequestResult>) throws -> [Any] {
    try results(of: request).all
  }

  /// The results, with the request's entity noted if all went well.
  private func results<T>(of request: NSFetchRequest<T>) throws -> FetchResults {
    let results = try results(of: request.settings)
    noteEntity(of: request)
    return results
  }

  /// The number of objects that the request would give, with its limit and offset.
  ///
  /// ```swift
  /// let unread = NSFetchRequest<Book>(entityName: "Book")
  /// unread.predicate = NSPredicate(format: "isRead == NO")
  /// let number = try context.count(for: unread)
  /// ```
  ///
  /// Without unsaved changes the stores count and no object is made, unless one cannot evaluate the predicate. With
  /// unsaved changes that count (`includesPendingChanges`), in a child context, and with a limit or offset over several
  /// stores the IDs are fetched instead. It ends the event first, so that delete rules have applied. Call it on the
  /// context's queue. Throws as `fetch(_:)` does.
  ///
  /// ```text
  /// no unsaved changes                 SELECT count(*) FROM ZBOOK WHERE …
  /// unsaved changes that count         SELECT Z_PK … of all matches, corrected, then counted
  /// ```
  ///
  /// What happens otherwise: `fetch(_:).count` makes each object to count it.
  ///
  /// - Parameter request: a request with any type of result; properties to fetch and to prefetch do not matter.
  /// - Returns: the number of results that `fetch(_:)` would have.
  ///
  /// Source: Apple's documentation of `count(for:)`.
  public final func count<T>(for request: NSFetchRequest<T>) throws -> Int {
    if hasChanges { processEvent() }
    let settings = request.settings
    let entity = try entity(of: settings)
    noteEntity(of: request)
    return try count(settings, entity)
  }

  /// The number of results: counted by the stores where nothing here changes it and no window goes over several stores.
  private func count(_ settings: FetchSettings, _ entity: NSEntityDescription) throws -> Int {
    if parentContext == nil && !(settings.includesPendingChanges && hasChanges) {
      let fetch = try storeFetch(settings, entity)
      let stores = try stores(holding: entity, settings.affectedStores)
      let isWindowed = fetch.limit > 0 || fetch.offset > 0
      if stores.count == 1 || !isWindowed, try stores.allSatisfy({ try $0.understands(fetch) }) {
        return try stores.reduce(0) { try $0 + $1.count(fetch) }
      }
    }
    var ids = settings
    ids.resultType = .managedObjectIDResultType
    return try results(of: ids).all.count
  }

  /// The results of a request's settings. All fetches of the context pass through here, also those of controllers and
  /// of asynchronous fetches.
  private func results(of settings: FetchSettings) throws -> FetchResults {
    checkQueue()
    if permanentIDs.isAwaitingSome { adoptPermanentIDs() }
    let entity = try entity(of: settings)
    try settings.check()
    switch settings.resultType {
    case .dictionaryResultType:
      return .others(try dictionaries(settings, entity))
    case .countResultType:
      return .others([NSNumber(value: try count(settings, entity))])
    case .managedObjectIDResultType:
      return .others(try foundObjects(settings, entity, includesValues: false).objects.map(\.objectID))
    default:
      let foundObjects = try foundObjects(
        settings, entity, includesValues: settings.includesPropertyValues && settings.fetchBatchSize == 0)
      if settings.shouldRefreshRefetchedObjects {
        for object in foundObjects.objects where !object.isFault { refreshObject(object, keepsChanges: true) }
      }
      try prepare(foundObjects.objects, settings)
      return .objects(foundObjects)
    }
  }

  /// Reads, or prepares to read, the values and related objects that the request asks for.
  private func prepare(_ objects: [NSManagedObject], _ settings: FetchSettings) throws {
    if settings.fetchBatchSize > 0 { FetchBatch.assign(to: objects, size: settings.fetchBatchSize) }
    try prefetch(settings.prefetchedKeyPaths ?? [], for: objects)
    if !settings.returnsObjectsAsFaults { for object in objects { try fill(object) } }
  }

  /// Fills a fault. A fetch that promises values throws what keeps them from being read, where an access could only end
  /// the process.
  ///
  /// `returnsObjectsAsFaults = false` asks for it.
  private func fill(_ object: NSManagedObject) throws {
    if object.isFault, object.snapshot == nil, !object.isInserted, !object.state.contains(.gone) {
      object.batch?.fill(in: self)
      if object.snapshot == nil, let row = try storedRow(object.objectID) { object.supply(row) }
    }
    _ = object.access()
  }

  /// The results of an asynchronous fetch, corrected by the context's current changes.
  ///
  /// - Parameters:
  ///   - read: the objects, in the order in which they were read.
  ///   - isWhole: whether all matches were read, so that offset and limit are still to be applied.
  final func settle(_ read: [NSManagedObject], _ settings: FetchSettings, isWhole: Bool) throws -> [NSManagedObject] {
    var objects = read
    if settings.includesPendingChanges && hasChanges {
      objects = correct(objects, settings, try entity(of: settings))
    }
    if isWhole { objects = Array(objects.dropFirst(settings.fetchOffset)) }
    if settings.fetchLimit > 0 { objects = Array(objects.prefix(settings.fetchLimit)) }
    if settings.resultType == .managedObjectResultType { try prepare(objects, settings) }
    return objects
  }

  // MARK: Objects

  /// The objects of a fetch: stored ones, corrected by the unsaved changes.
  ///
  /// Three ways, from the cheapest:
  ///
  ///     one store, nothing unsaved counts     the statement has limit and offset; the rows become objects
  ///     unsaved changes, or several stores    all matches; corrected and sorted here; then limit and offset
  ///     a parent                              the parent's results, by their IDs; corrected by the changes here
  ///
  /// Limit and offset cannot be in the statement once changes count: the tenth row may be deleted here, and an eleventh
  /// is needed then.
  private func foundObjects(
    _ settings: FetchSettings, _ entity: NSEntityDescription, includesValues: Bool
  ) throws -> FoundObjects {
    if parentContext == nil && !(settings.includesPendingChanges && hasChanges) {
      let stores = try stores(holding: entity, settings.affectedStores)
      if stores.count == 1 {
        var fetch = try storeFetch(settings, entity)
        if includesValues { fetch.properties = settings.partialProperties(of: entity) }
        return try storedObjects(fetch, stores, includesValues)
      }
    }
    // Unsaved changes, even of related objects, can add and remove results, so limit and offset come last.
    var whole = settings
    whole.fetchLimit = 0
    whole.fetchOffset = 0
    whole.propertiesToFetch = nil
    var matches: [NSManagedObject]
    if let parentContext {
      let ids = try parentContext.performAndWait {
        let parents = try parentContext.foundObjects(whole, entity, includesValues: includesValues)
        return parents.objects.map(\.objectID)
      }
      matches = ids.map { object(with: $0) }
    } else {
      let stores = try stores(holding: entity, settings.affectedStores)
      matches = try storedObjects(try storeFetch(whole, entity), stores, includesValues).objects
    }
    if settings.includesPendingChanges { matches = correct(matches, settings, entity) }
    let window = matches.dropFirst(settings.fetchOffset)
    return FoundObjects(Array(settings.fetchLimit > 0 ? window.prefix(settings.fetchLimit) : window))
  }

  /// The objects of rows of one or several stores. Results of several stores are each in order and are merged by
  /// sorting again.
  private func storedObjects(
    _ fetch: RowFetch, _ stores: [any ObjectStore], _ includesValues: Bool
  ) throws -> FoundObjects {
    var fetch = fetch
    fetch.includesValues = includesValues
    graph.sweepIfDue()
    // The results are held until all are read: a search for abandoned objects would find none of them.
    return try graph.withoutSweeping {
      if stores.count == 1 { return try storedObjects(fetch, stores[0]) }
      let objects = try stores.flatMap { try storedObjects(fetch, $0).objects }
      return FoundObjects(fetch.sortDescriptors.isEmpty ? objects : objects.sorted(by: fetch.sortDescriptors))
    }
  }

  /// The objects of a store's rows: registered ones as they are, others made with their rows. It is the loop that each
  /// fetched row runs through.
  private func storedObjects(_ fetch: RowFetch, _ store: any ObjectStore) throws -> FoundObjects {
    if try !store.understands(fetch) {
      // Unsaved values of other objects do not count in conditions that the store evaluates, and so in none.
      if hasChanges, let store = store as? any FilteringStore { return FoundObjects(try filtered(fetch, by: store)) }
      return FoundObjects(try filteredInMemory(fetch, store))
    }
    if fetch.properties != nil { return FoundObjects(try partialFaults(fetch, store)) }
    var foundObjects = FoundObjects([])
    // A fetch returns each row once, so in an empty context all objects are new.
    let isFirst = graph.isEmpty
    // A local constant: reading the property would retain and release the graph for each row.
    let graph = graph
    try store.fetch(fetch) { storedEntity, key, snapshot in
      if !isFirst, let existingObject = graph.reuse(key, storedEntity.table) {
        if let snapshot { existingObject.supply(snapshot) }
        foundObjects.add(registered: existingObject)
      } else {
        foundObjects.add(graph.make(storedEntity, key, snapshot: consume snapshot), of: storedEntity)
      }
    }
    return foundObjects
  }

  /// Faults with the values of some properties.
  private func partialFaults(_ fetch: RowFetch, _ store: any ObjectStore) throws -> [NSManagedObject] {
    var slots: [Int: Set<Int>] = [:]
    var objects: [NSManagedObject] = []
    try store.fetch(fetch) { storedEntity, key, values in
      let object = graph.reuse(key, storedEntity.table) ?? graph.make(storedEntity, key, snapshot: nil)
      if object.isFault, object.snapshot == nil, let values {
        let read = slots[storedEntity.number] ?? storedEntity.layout.storedSlots(of: fetch.properties ?? [])
        slots[storedEntity.number] = read
        object.batch = FetchBatch(values, slots: read)
      }
      objects.append(object)
    }
    return objects
  }

  /// The objects of the rows that a store filters itself.
  private func filtered(_ fetch: RowFetch, by store: any FilteringStore) throws -> [NSManagedObject] {
    var objects: [NSManagedObject] = []
    try store.filter(fetch) { storedEntity, key, snapshot in
      guard let existingObject = graph.reuse(key, storedEntity.table) else {
        return objects.append(graph.make(storedEntity, key, snapshot: snapshot))
      }
      if let snapshot { existingObject.supply(snapshot) }
      objects.append(existingObject)
    }
    return objects
  }

  /// Tests conditions in memory that the store cannot evaluate. A store in memory cannot evaluate blocks and transient
  /// properties, which a SQL store refuses (134070); a server patterns of `MATCHES` with options, for example.
  ///
  /// The store gives the rows that fulfil the rest of the predicate, and each becomes an object. Conditions are tested
  /// on what the objects have, so a server filters rows itself where the context has changes.
  private func filteredInMemory(_ fetch: RowFetch, _ store: any ObjectStore) throws -> [NSManagedObject] {
    let objects = try storedObjects(store.understoodPart(of: fetch), [store], true).objects
    let matches = objects.filter { fetch.predicate?.evaluate(with: $0) ?? true }.sorted(by: fetch.sortDescriptors)
    let window = matches.dropFirst(fetch.offset)
    return Array(fetch.limit > 0 ? window.prefix(fetch.limit) : window)
  }

  /// Removes results that no longer match, adds those that do now, and sorts again if anything changed. Delete rules of
  /// the event are applied first.
  ///
  ///     results of the store   unsaved here             corrected
  ///     Emma                   Emma is deleted          Persuasion, if it matches
  ///     Persuasion             Persuasion is changed    Sanditon
  ///                            Sanditon is new
  private func correct(
    _ results: [NSManagedObject], _ settings: FetchSettings, _ entity: NSEntityDescription
  ) -> [NSManagedObject] {
    propagateDeletesOfEvent()
    func isOfKind(_ object: NSManagedObject) -> Bool {
      settings.includesSubentities ? object.entity.isKindOf(entity: entity) : object.entity === entity
    }
    func matches(_ object: NSManagedObject) -> Bool { settings.predicate?.evaluate(with: object) ?? true }
    let pending = (changes.inserted.items + changes.updated.items).filter {
      isOfKind($0) && isObject($0, in: settings.affectedStores)
    }
    guard !pending.isEmpty || !changes.deleted.isEmpty else { return results }
    let changed = MemberList(pending, keepsOrder: false)
    var kept = results.filter { !$0.isDeleted && (!changed.contains($0) || matches($0)) }
    let keptObjects = MemberList(kept, keepsOrder: false)
    let added = pending.filter { !$0.isDeleted && !keptObjects.contains($0) && matches($0) }
    kept += added
    return pending.isEmpty ? kept : kept.sorted(by: settings.sortDescriptors ?? [])
  }

  /// Whether a fetch from the stores may give the object: its store is one of them, or they are nil.
  ///
  /// A new object is of the store that the save writes it to. One that was new in a parent already may be assigned
  /// there.
  final func isObject(_ object: NSManagedObject, in stores: [NSPersistentStore]?) -> Bool {
    guard let stores else { return true }
    if object.objectID.isTemporaryID, !object.isInserted, let parentContext {
      let id = object.objectID
      return parentContext.performAndWait { parentContext.isObject(parentContext.object(with: id), in: stores) }
    }
    // An object that no open store takes is in none of them: the save throws that error.
    guard let store = try? store(of: object) else { return false }
    return stores.contains { $0 === store }
  }

  // MARK: Dictionaries

  /// Rows as dictionaries. They are the stored ones: unsaved changes have no part in columns, groups and aggregates.
  private func dictionaries(
    _ settings: FetchSettings, _ entity: NSEntityDescription
  ) throws -> [NSDictionary] {
    if let parentContext {
      return try parentContext.performAndWait { try parentContext.dictionaries(settings, entity) }
    }
    return try stores(holding: entity, settings.affectedStores).dictionaries(settings, storeFetch(settings, entity))
  }

  // MARK: Pieces

  /// The entity that the request names. A request may carry one of another model of the same name: stores look it up by
  /// its name.
  final func entity(of settings: FetchSettings) throws -> NSEntityDescription {
    if let entity = settings.entity { return entity }
    let name = settings.entityName ?? ""
    if let entity = NSEntityDescription.entity(forEntityName: name, in: self) { return entity }
    throw CoreDataErrors.error(.persistentStoreOperation, "The context's model has no entity named \"\(name)\".")
  }

  /// A request by name has its entity from now on.
  private func noteEntity<T>(of request: NSFetchRequest<T>) {
    guard request.settings.entity == nil, let name = request.entityName else { return }
    request.note(executed: NSEntityDescription.entity(forEntityName: name, in: self))
  }

  /// The stores that a fetch asks: those that hold the entity, among the request's `affectedStores`.
  final func stores(holding entity: NSEntityDescription, _ affected: [NSPersistentStore]?) throws -> [any ObjectStore] {
    guard let coordinator = persistentStoreCoordinator else {
      throw CoreDataErrors.error(.persistentStoreOperation, "The context \(label) has no coordinator to fetch from.")
    }
    return coordinator.objectStores(among: affected).filter { $0.holds(entity) }
  }

  /// The fetch as stores take it, with the generation that the context's reads see.
  final func storeFetch(_ settings: FetchSettings, _ entity: NSEntityDescription) throws -> RowFetch {
    var fetch = RowFetch(settings, of: entity)
    fetch.generation = try readGeneration()
    fetch.control = reading.control
    return fetch
  }
}

/// The objects of a fetch, and their class if all were made by it for one entity.
///
/// The result array of a fetch has the type of the request. Whether each object is of the class is known without
/// looking at them, if the fetch made all of them for one entity.
private struct FoundObjects {
  private(set) var objects: [NSManagedObject]
  /// The entity of the last object that was made.
  private var storedEntity: StoredEntity?
  /// The same, to be compared without retaining it.
  private var entityIdentity: ObjectIdentifier?
  private var isOfSeveral: Bool

  /// Objects of which nothing is known.
  init(_ objects: [NSManagedObject]) {
    self.objects = objects
    isOfSeveral = !objects.isEmpty
  }

  /// Adds an object that was made for the entity, and is of its class therefore.
  @inline(__always)
  mutating func add(_ object: consuming NSManagedObject, of entity: StoredEntity) {
    objects.append(consume object)
    if entityIdentity != ObjectIdentifier(entity) { note(entity) }
  }

  private mutating func note(_ entity: StoredEntity) {
    isOfSeveral = isOfSeveral || storedEntity != nil
    (storedEntity, entityIdentity) = (entity, ObjectIdentifier(entity))
  }

  /// Adds an object that the context had, which may be of another class.
  mutating func add(registered object: NSManagedObject) {
    objects.append(object)
    isOfSeveral = true
  }

  /// Whether all are of a class. The objects are looked at only if needed: those of a large fetch are not in the
  /// processor's cache any more.
  func areAll(_ expectedClass: AnyClass) -> Bool {
    if !isOfSeveral, let storedEntity { return inherits(storedEntity.layout.objectClass, from: expectedClass) }
    return objects.first(notOf: expectedClass) == nil
  }
}

/// The results of a fetch, before they get the request's type.
private enum FetchResults {
  case objects(FoundObjects)
  case others([any NSFetchRequestResult])

  var all: [any NSFetchRequestResult] {
    switch self {
    case .objects(let foundObjects): foundObjects.objects
    case .others(let results): results
    }
  }

  /// The results as an array of a type; nil if one is of another type.
  func typed<T>(as type: T.Type) -> [T]? {
    guard case .objects(let foundObjects) = self, let expectedClass = type as? NSManagedObject.Type else {
      return all as? [T]
    }
    guard foundObjects.areAll(expectedClass) else { return nil }
    // Every element is of the class T, so both arrays have the same memory layout.
    return unsafeBitCast(foundObjects.objects, to: [T].self)
  }
}

/// The method that subclasses override. Called by its name, the generic ones would win.
private protocol AllFetching {
  func fetch(_ request: NSFetchRequest<any NSFetchRequestResult>) throws -> [Any]
}

extension NSManagedObjectContext: AllFetching {}
