/// A working copy of objects: it fetches them, keeps one instance of each, records changes, and saves them together.
///
/// ```swift
/// let context = container.newBackgroundContext()
/// try await context.perform {
///   let request = NSFetchRequest<Book>(entityName: "Book")
///   request.predicate = NSPredicate(format: "isRead == NO")
///   for book in try context.fetch(request) { book.isRead = true }
///   if context.hasChanges { try context.save() }
/// }
/// ```
///
/// A context belongs to the main queue or to a private one. Use it and its objects inside `perform` and
/// `performAndWait` only; a main-queue context may also be used directly on the main thread. Use on any other thread is
/// a data race. The launch argument `-com.apple.CoreData.ConcurrencyDebug 1`, or the environment variable
/// `com.apple.CoreData.ConcurrencyDebug`, ends the process at the first wrong use, with a message that names the object
/// or the context, and both queues.
///
/// Changes of objects reach a store with `save()`. An object whose values were read does not show what other contexts
/// save until a merge or a refresh. Two contexts never share an object: pass `objectID`, and call `object(with:)` in
/// the other context.
///
/// The context retains its coordinator, its parent, and objects with unsaved changes. Other objects stay only as long
/// as the program retains them, unless `retainsRegisteredObjects` is true.
///
/// One context for one unit of work is the usual choice: the main-queue context for what the user sees, and a
/// private-queue context for each import, export or long fetch. A second context costs little until it fetches. It has
/// its own instance of each object, and it shares the coordinator's row cache with the others.
///
/// What happens otherwise: work in a main-queue context delays the user interface for as long as it runs; several units
/// of work in one context are saved and rolled back together.
///
/// Source: Apple's documentation of `NSManagedObjectContext`.
///
/// `@unchecked Sendable`: only the context's queue uses it, which ConcurrencyDebug checks; constants and `perform…` are
/// safe anywhere.
open class NSManagedObjectContext: NSObject, @unchecked Sendable {
  /// The queue of a context, in the spelling of newer code: see `init(_:)`.
  public enum ConcurrencyType: Sendable {
    /// The main queue, for user interfaces and for programs that do everything on the main thread.
    case mainQueue
    /// A serial queue of the context's own: for work that must not hold up the main queue, such as imports and long
    /// fetches.
    case privateQueue
  }

  // MARK: Settings

  /// The kind of queue that the context belongs to. It never changes. Any thread may read it.
  ///
  /// Source: Apple's documentation of `concurrencyType`.
  public let concurrencyType: NSManagedObjectContextConcurrencyType

  /// A name, shown in the messages of ConcurrencyDebug and of errors, and recorded as `contextName` of each transaction
  /// in persistent history. Default: nil. Set it before the context is used.
  ///
  /// ```swift
  /// let importer = container.newBackgroundContext()
  /// importer.name = "importer"
  /// ```
  open var name: String?

  /// Values that the program keeps with the context. The framework does not read them, and `reset()` does not clear
  /// them. Default: empty. Use it on the context's queue.
  ///
  /// ```swift
  /// context.userInfo["importID"] = 17
  /// ```
  ///
  /// Use it to tell functions that get the context what it is for. A value about one object belongs in a property of
  /// the object's class.
  ///
  /// Source: Apple's documentation of `userInfo`.
  open lazy var userInfo = NSMutableDictionary()

  /// The author of the context's saves and batch requests in persistent history. Default: nil.
  ///
  /// ```swift
  /// context.transactionAuthor = "import"
  /// try context.save()
  /// ```
  ///
  /// A program that reads the history can thus skip its own transactions. The next save uses a new value; a child's
  /// changes are recorded under the author of the topmost context, which writes them. Without
  /// `NSPersistentHistoryTrackingKey` it has no effect.
  ///
  /// Source: Apple's documentation of `transactionAuthor`.
  open var transactionAuthor: String?

  /// Whether `transactionAuthor` names only a few transactions. Then it gets no row in the table of names, which the
  /// history of a SQLite file never shortens.
  ///
  /// A worker sets it, since its author is the name of a job: a million jobs would leave a million names. Such a name
  /// is stored in the transaction's own row, which is deleted with the history.
  package final var transactionAuthorPasses = false

  /// The policy that resolves conflicts with other saves, an `NSMergePolicy`. Default: `NSErrorMergePolicy`, with which
  /// a conflict makes `save()` throw 133020 or 133021.
  ///
  /// ```swift
  /// context.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
  /// ```
  ///
  /// A conflict is a row that another context, coordinator or process changed or deleted since this context read it, or
  /// a unique value that another row has. It is noticed when the context saves to the stores: a child's save into its
  /// parent asks no policy. Batch insertions read the policy too, to decide about unique values that exist already. A
  /// value of another type counts as the error policy.
  ///
  /// - `NSErrorMergePolicy`: the save throws and writes nothing. Use it where the program or the user has to decide.
  /// - `NSMergeByPropertyObjectTrumpMergePolicy`: the save writes each property that this context changed; the other
  ///   properties get the stored values. Use it for imports.
  /// - `NSMergeByPropertyStoreTrumpMergePolicy`: where both sides changed a property the stored value stays. Use it for
  ///   edits that may be lost.
  /// - `NSOverwriteMergePolicy`: the save writes all values of the object, also where only the other side changed one.
  /// - `NSRollbackMergePolicy`: the object's changes here are dropped, and the rest of the save is written.
  ///
  /// The policy is called on the context's queue, inside `save()`. It costs nothing before the first conflict. After
  /// each conflict the save is tried again, up to a hundred times; then it throws. A policy of the program's own is a
  /// subclass of `NSMergePolicy`.
  ///
  /// Source: Apple's documentation of `mergePolicy`.
  open var mergePolicy: Any = NSMergePolicy.error

  /// Whether an object whose row is missing becomes a deleted one with nil values when it is first used. If not, that
  /// use ends the process, since reading a property cannot throw. Default: true.
  ///
  /// ```swift
  /// context.shouldDeleteInaccessibleFaults = false  // reading an object whose row is missing ends the process
  /// ```
  ///
  /// A row is missing if another context or process deleted it, or if the object was never saved. Use
  /// `existingObject(with:)` where the program has to know: it throws 133000.
  ///
  /// What happens otherwise, with the default: the object is among `deletedObjects`, `hasChanges` is true although the
  /// program changed nothing, and the next save removes it from the context without a statement.
  ///
  /// Source: Apple's documentation of `shouldDeleteInaccessibleFaults`.
  open var shouldDeleteInaccessibleFaults = true

  /// Decides about a fault that cannot be filled: true gives it nil values, false ends the process with a sentence,
  /// since reading a property cannot throw.
  ///
  /// ```swift
  /// // @unchecked Sendable: only the context's queue calls it.
  /// final class TolerantContext: NSManagedObjectContext, @unchecked Sendable {
  ///   override func shouldHandleInaccessibleFault(
  ///     _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
  ///   ) -> Bool {
  ///     if let error = inaccessibleFaultError { print("\(oid.uriString) reads as nil: \(error)") }
  ///     return true
  ///   }
  /// }
  /// ```
  ///
  /// The default is `shouldDeleteInaccessibleFaults` for a missing row, and false for an unreadable file;
  /// `inaccessibleFaultError` tells which of the two it is. An override that returns true for an unreadable file lets
  /// the program continue: the object reads as nil and is not deleted, and the next save throws the error unless the
  /// context is rolled back or reset first.
  ///
  /// - Parameters:
  ///   - fault: the object that was used.
  ///   - oid: its ID.
  ///   - property: the relationship that was read; nil for the object itself.
  /// - Returns: true to go on with nil values, false to end the process.
  ///
  /// Source: Apple's documentation of `shouldHandleInaccessibleFault(_:for:triggeredByProperty:)`.
  open func shouldHandleInaccessibleFault(
    _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
  ) -> Bool {
    inaccessibleFaultError == nil && shouldDeleteInaccessibleFaults
  }

  /// The reason why `shouldHandleInaccessibleFault` is called; nil for a missing row, and outside of that call. An
  /// addition to Apple's API.
  ///
  /// It is the store's error, such as 134180 for a damaged file, or 134080 for a connection to a server that is lost.
  /// Read it on the context's queue, in an override of that method.
  public final var inaccessibleFaultError: (any Error)? { inaccessible.current }

  /// Whether delete rules apply at the end of the event in which an object was deleted, or only with the save. Default:
  /// true.
  ///
  /// ```swift
  /// context.propagatesDeletesAtEndOfEvent = false
  /// context.delete(author)
  /// print(author.books?.count ?? 0)  // the books still refer to the author
  /// try context.save()  // delete rules apply now
  /// ```
  ///
  /// With false, related objects look untouched until the save: a deletion that is taken back before has no effect on
  /// them.
  ///
  /// Set it to false where a program deletes objects and undoes deletions in many steps before it saves.
  ///
  /// Source: Apple's documentation of `propagatesDeletesAtEndOfEvent`.
  open var propagatesDeletesAtEndOfEvent = true

  /// Whether clean objects stay registered when the program holds no reference to them. Default: false.
  ///
  /// ```swift
  /// context.retainsRegisteredObjects = true
  /// _ = try context.fetch(NSFetchRequest<Author>(entityName: "Author"))  // stay, though nothing holds them
  /// ```
  ///
  /// With true a later fetch finds the objects with their values, and the context's memory grows until `reset()`. With
  /// false the context drops unchanged objects to which the program holds no reference. It does so a little later than
  /// on Apple's platforms: when the number of objects has doubled, and not below 4,096.
  ///
  /// If only a few objects matter, keep them in a property of the program instead.
  ///
  /// Source: Apple's documentation of `retainsRegisteredObjects`.
  open var retainsRegisteredObjects: Bool {
    get { graph.keepsUnheld }
    set { graph.keepsUnheld = newValue }
  }

  /// The seconds for which a row that the coordinator has cached may fill a fault; negative for no limit, 0 for never.
  /// Default: -1.
  ///
  /// ```swift
  /// context.stalenessInterval = 60
  /// context.refresh(book, mergeChanges: false)
  /// print(book.title ?? "")  // asks the store if the cached row is older than a minute
  /// ```
  ///
  /// It concerns objects that become faults and are read again, not values that the context has read already, and not a
  /// context that is pinned to a query generation. With 0 each fault costs a query. Rows that another process wrote are
  /// noticed whatever the interval is: a context compares the cache with the file once in each `perform` or
  /// `performAndWait` block, before it first reads the cache.
  ///
  /// Ages are recorded from the first positive value on; a row of unknown age is read again.
  ///
  /// Source: Apple's documentation of `stalenessInterval`.
  @exclusivity(unchecked) open var stalenessInterval: TimeInterval = -1

  /// The manager that records changes so that they can be undone; nil records nothing. Default: nil.
  ///
  /// ```swift
  /// context.undoManager = UndoManager()
  /// book.title = "Emma"
  /// context.undo()
  /// ```
  ///
  /// Changes are registered at the end of each event. Each event is a group of its own, unless the program opened one.
  /// A save does not empty the stack: undoing a saved insertion deletes the object again. `rollback()` and `reset()`
  /// remove this context's registrations, and so does setting another manager. It costs time with each event, and
  /// memory for the former values, so leave it nil for imports.
  ///
  /// Set it on the context's queue. One manager may serve several contexts of one queue; each of them registers its own
  /// changes.
  ///
  /// Source: Apple's documentation of `undoManager`.
  open var undoManager: UndoManager? {
    get { undoTracking?.manager }
    set { setUndoManager(newValue) }
  }

  /// Whether the context merges other saves as they happen, on its queue: those of its parent, or, without a parent, of
  /// other contexts of its coordinator. Default: false, also for `NSPersistentContainer.viewContext`.
  ///
  /// ```swift
  /// container.viewContext.automaticallyMergesChangesFromParent = true
  /// ```
  ///
  /// The merge is `mergeChanges(fromContextDidSave:)` in a block of its own, so it comes a moment after the save. The
  /// context's own unsaved changes stay. What another child saved into the parent is merged once the parent has saved
  /// it. Saves of other coordinators and processes are not merged: follow `NSPersistentStoreRemoteChange` and the
  /// history, or call `mergeChanges(fromRemoteContextSave:into:)`.
  ///
  /// Set it on the context's queue. Each merge costs a query for each updated object that has values here and whose row
  /// the coordinator has not cached. Without it, objects keep the values with which they were fetched until the program
  /// refreshes or merges them.
  ///
  /// Source: Apple's documentation of `automaticallyMergesChangesFromParent`.
  open var automaticallyMergesChangesFromParent = false {
    didSet { parentObservation = automaticallyMergesChangesFromParent ? ParentObservation(self) : nil }
  }

  // MARK: The parts of the context, on its queue

  /// The objects' reference to this context. It outlives the context: an object that the program still holds then
  /// finds no context in it, instead of reading freed memory.
  final let reference = ContextReference(nil)
  /// The objects by ID. They are freed before the coordinator, to whose stores their IDs refer.
  final let graph: RegisteredObjects
  final var coordinator: NSPersistentStoreCoordinator?
  final var parentContext: NSManagedObjectContext?
  /// The permanent IDs of temporary ones: those that this context's objects got, and those that it waits for from its
  /// parent.
  final let permanentIDs = PermanentIDs()
  /// Keeps the permanent IDs in the parent for which this context may ask. The parent refers to it weakly: when this
  /// context is freed, or replaces it in a reset, the parent may forget the IDs.
  final var childOfParent: PermanentIDs.Child?
  /// The unsaved changes, and those that observers do not know yet. It is set up once, so that each change of an object
  /// finds it without a test.
  final let changes = PendingChanges()
  /// Changes between `willChangeValue` and `didChangeValue`, which handwritten accessors call.
  final let manualChanges = ManualChanges()

  /// The state of the stores that reads see.
  ///
  /// Each read of a fault looks at it. The exclusivity of the accesses is not checked: no method of it calls the
  /// program's code, and only the context's queue uses it.
  @exclusivity(unchecked) final var reading = StoreReading()
  /// The errors of unreadable faults: the one that is being decided about, and the one that forbids a save.
  final var inaccessible = InaccessibleFaults()
  /// The connection to the undo manager; nil without one, which is what most contexts have.
  final var undoTracking: UndoTracking?
  /// The new objects of the last merge. The context retains them until the next event ends: the program may hold no
  /// reference to them yet.
  final var heldAfterMerge: [NSManagedObject] = []
  /// The fetched results that follow this context. A merge asks them for objects that it has to register.
  final var followers = ContextFollowers()
  /// Merges other saves while it exists: see `automaticallyMergesChangesFromParent`.
  private final var parentObservation: ParentObservation?
  /// The model's entities for classes, as far as they were asked for: `Book(context:)` asks for each new object.
  final var entitiesByClass: [ObjectIdentifier: NSEntityDescription] = [:]
  /// The last class whose entity was asked for. Programs mostly make many objects of one class in a row.
  final var lastClass: (type: ObjectIdentifier, entity: NSEntityDescription)?
  /// The sets of the save that is running; nil at other times. The end of the event and the save report the same
  /// objects.
  final var notificationSets: NotificationSets?

  // MARK: Queue

  /// The context's own serial queue, or the main queue, which a confinement context has too and never uses.
  let queue: DispatchQueue
  /// The turns of a private queue. The main queue's blocks take none.
  final let turns = QueueTurns()
  /// The only thread that may use a confinement context; nil for contexts with a queue.
  final let confinementThread: Thread?
  /// Whether an event is ending, or its delete rules are being applied: an observer or an override that calls
  /// `processPendingChanges()` must not end it in the middle.
  final var isProcessing = false
  /// Whether the end of this turn of the main queue will end the event already.
  final var isEndOfEventScheduled = false

  // MARK: Making

  /// A context of the given kind. It needs a coordinator or a parent before it can fetch and save.
  ///
  /// ```swift
  /// let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
  /// child.parent = context
  /// ```
  ///
  /// Any thread may call it, except for the deprecated confinement kind, which belongs to the calling thread.
  /// `NSPersistentContainer.newBackgroundContext()` makes one with the container's coordinator.
  ///
  /// The merge policy is the error policy, and the context merges no saves by itself. A fetch without coordinator and
  /// parent throws 134070, and a save with changes 134030.
  ///
  /// - Parameter concurrencyType: `.privateQueueConcurrencyType` for work in the background,
  ///   `.mainQueueConcurrencyType` for a user interface.
  ///
  /// Source: Apple's documentation of `init(concurrencyType:)`.
  public init(concurrencyType: NSManagedObjectContextConcurrencyType) {
    self.concurrencyType = concurrencyType
    queue =
      concurrencyType == .privateQueueConcurrencyType
      ? DispatchQueue(label: "NSManagedObjectContext") : DispatchQueue.main
    confinementThread = concurrencyType == .confinementConcurrencyType ? Thread.current : nil
    graph = RegisteredObjects(reference)
    super.init()
    reference.context = self
  }

  /// A context that only the current thread may use, without a queue: `perform` and `performAndWait` trap, and it can
  /// be no parent.
  ///
  /// Old programs make one on each of their threads. Nothing wakes it: it merges other saves only when its thread calls
  /// `mergeChanges(fromContextDidSave:)`, and ends its events with saves and `processPendingChanges()`. New code takes
  /// `init(concurrencyType:)`.
  ///
  /// Source: Apple's documentation of `NSManagedObjectContextConcurrencyType.confinementConcurrencyType`.
  @available(*, deprecated, message: "Use init(concurrencyType:).")
  public convenience override init() { self.init(concurrencyType: .confinementConcurrencyType) }

  /// A context of the given kind, in the spelling of newer code.
  ///
  /// ```swift
  /// let context = NSManagedObjectContext(.privateQueue)
  /// context.persistentStoreCoordinator = coordinator
  /// ```
  ///
  /// - Parameter concurrencyType: `.privateQueue` for work in the background, `.mainQueue` for a user interface.
  ///
  /// Source: Apple's documentation of `init(_:)`.
  public convenience init(_ concurrencyType: ConcurrencyType) {
    self.init(concurrencyType: concurrencyType == .mainQueue ? .mainQueueConcurrencyType : .privateQueueConcurrencyType)
  }

  deinit { reference.context = nil }

  // MARK: Stack

  /// The coordinator whose stores the context uses, directly or through its parent. Set it once, before use, and not
  /// for a context with a parent. Default: nil; a fetch then throws 134070, and a save with changes 134030.
  ///
  /// ```swift
  /// let context = NSManagedObjectContext(.privateQueue)
  /// context.persistentStoreCoordinator = coordinator
  /// let books = try await context.perform {
  ///   try context.count(for: NSFetchRequest<Book>(entityName: "Book"))
  /// }
  /// ```
  ///
  /// The context retains the coordinator, and so its stores.
  ///
  /// Source: Apple's documentation of `persistentStoreCoordinator`.
  open var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    get { coordinator ?? parentContext?.persistentStoreCoordinator }
    set { coordinator = newValue }
  }

  /// The context from which this one fetches and to which it saves, in place of a coordinator. Default: nil. Set it
  /// once, before use. Traps for a confinement context.
  ///
  /// ```swift
  /// let draft = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
  /// draft.parent = container.viewContext
  /// let edited = draft.object(with: book.objectID) as? Book
  /// edited?.title = "Emma"
  /// try draft.save()  // into viewContext
  /// try container.viewContext.save()  // into the store
  /// ```
  ///
  /// A child sees the parent's unsaved changes. Its `save()` hands changes to the parent's objects in memory, without a
  /// conflict check against the parent: the child's values win. New objects keep temporary IDs until the topmost
  /// context saves. Each fetch, fault and save of the child waits for the parent's queue, so a child does not take work
  /// off a busy parent: use a second context on the coordinator for long imports.
  ///
  /// Use a child for a draft that the user may discard: a child that is freed without a save leaves the parent as it
  /// was. What one child saved into the parent reaches the objects that another child has read only with a merge or a
  /// refresh.
  ///
  /// Source: Apple's documentation of `parent`.
  open var parent: NSManagedObjectContext? {
    get { parentContext }
    set {
      require(
        newValue?.concurrencyType != .confinementConcurrencyType,
        "The context \(newValue?.label ?? "") is confined to a thread and cannot be a parent: a parent needs a queue.")
      parentContext = newValue
      childOfParent = newValue?.permanentIDs.addChild()
    }
  }

  // MARK: Blocks

  /// Runs the block on the context's queue later, in the order of the calls, and ends the event after it. Returns at
  /// once. Traps for a confinement context.
  ///
  /// ```swift
  /// func addAuthor(named name: String, to context: NSManagedObjectContext) {
  ///   context.perform {
  ///     Author(context: context).name = name
  ///     do { try context.save() } catch { print("not saved: \(error)") }
  ///   }
  /// }
  /// ```
  ///
  /// Any thread may call it. The block cannot throw and returns nothing: use the asynchronous `perform(schedule:_:)` to
  /// wait for its result in a task, and `performAndWait(_:)` to block the thread. The context is retained until the
  /// block has run.
  ///
  /// As on Apple's platforms the compiler does not check what the block captures: pass object IDs, not objects.
  ///
  /// The block has to handle the errors of `save()`: the caller does not get them. Changes that the block does not save
  /// stay in the context, and the next save writes them.
  ///
  /// - Parameter block: runs once, later.
  ///
  /// Source: Apple's documentation of `perform(_:)`.
  open func perform(_ block: @escaping () -> Void) { enqueue(block) }

  /// Runs the block on the context's queue and waits for it; inline if the caller is on the queue. It does not end the
  /// event: call `processPendingChanges()` or save if observers have to know. Traps for a confinement context.
  ///
  /// ```swift
  /// context.performAndWait {
  ///   book.isRead = true
  ///   context.processPendingChanges()
  /// }
  /// ```
  ///
  /// The calling thread is blocked until the block has run. A parent and a child that wait for each other do not
  /// deadlock: the thread that waits for one runs the blocks that need the other. Contexts of which neither is above
  /// the other can deadlock.
  ///
  /// Any thread may call it. Use it in synchronous code that needs the result at once. In a task prefer the
  /// asynchronous `perform(schedule:_:)`: a blocked thread is one fewer for other tasks. Blocks that were enqueued
  /// before run first; a context whose queue is idle runs the block on the calling thread at once.
  ///
  /// - Parameter block: runs once, before the method returns.
  ///
  /// Source: Apple's documentation of `performAndWait(_:)`.
  open func performAndWait(_ block: () -> Void) { runAndWait(block) }

  // MARK: Changing

  /// Inserts an object that has no context into this one, to be saved as a new row, and calls `awakeFromInsert()`.
  /// Inserting a deleted object undoes its deletion; inserting any other object of the context does nothing.
  ///
  /// ```swift
  /// let entity = NSEntityDescription.entity(forEntityName: "Book", in: context)!
  /// let draft = Book(entity: entity, insertInto: nil)
  /// draft.title = "Emma"
  /// context.insert(draft)
  /// ```
  ///
  /// `Book(context:)` creates and inserts in one call. Inserting an object also inserts the objects without a context
  /// to which it refers, directly or through others; for these no override of this method is called. Traps for an
  /// object of another context, and for one that refers to an object of another context.
  ///
  /// Call it on the context's queue. It writes nothing: the save makes the row.
  ///
  /// - Parameter object: an object of an entity that this context's model has.
  ///
  /// Source: Apple's documentation of `insert(_:)`.
  open func insert(_ object: NSManagedObject) { insertObject(object) }

  /// Marks the object for deletion by the next save. An object that was never saved is forgotten.
  ///
  /// ```swift
  /// context.delete(book)
  /// try context.save()
  /// ```
  ///
  /// Until the save `isDeleted` is true and the values can be read. After it the object belongs to no context.
  /// `prepareForDeletion()` runs at once, and again if the object is deleted again. Delete rules apply at the end of
  /// the event, or with the save; a Deny rule that still has an object makes the save throw 1600. To delete many rows
  /// without loading them use `NSBatchDeleteRequest`.
  ///
  /// Traps for an object of another context; does nothing for one without a context and for one whose row is gone.
  ///
  /// Call it on the context's queue. Delete rules read the to-many relationships that have the rule Cascade or Nullify:
  /// a query for each that was not read before.
  ///
  /// - Parameter object: an object of this context.
  ///
  /// Source: Apple's documentation of `delete(_:)`.
  open func delete(_ object: NSManagedObject) { deleteObject(object) }

  /// Drops the object's values: with `mergeChanges` false its changes too, which makes it a fault; with true an object
  /// with changes is read again and keeps them.
  ///
  /// ```swift
  /// context.refresh(book, mergeChanges: true)
  /// ```
  ///
  /// An object without changes becomes a fault either way, so its memory can be freed; its next use reads the row, from
  /// the coordinator's cache if that has it. An object that becomes a fault loses its transient values. A new object
  /// that becomes a fault is still new, and has the default values again; with true nothing happens to it. Does nothing
  /// for deleted objects and for those without a context. Traps for an object of another context.
  ///
  /// A row that a batch request wrote is read again if `stalenessInterval` is not negative, or once the request's
  /// result was merged. `NSManagedObjectContextObjectsDidChange` reports the object under `NSRefreshedObjectsKey`.
  ///
  /// Call it on the context's queue. Use `refreshAllObjects()` for all objects, and `reset()` where no object is needed
  /// any more.
  ///
  /// - Parameters:
  ///   - object: an object of this context.
  ///   - flag: whether an object with changes keeps them, on top of what the store has now. With false they are lost
  ///     without an error.
  ///
  /// Source: Apple's documentation of `refresh(_:mergeChanges:)`.
  open func refresh(_ object: NSManagedObject, mergeChanges flag: Bool) { refreshObject(object, keepsChanges: flag) }

  /// Reverts all changes since the last fetch or save of each object, without reading the store. They cannot be undone
  /// or redone any more.
  ///
  /// ```swift
  /// book.title = "Emma"
  /// do { try context.save() } catch { context.rollback() }
  /// print(context.hasChanges)  // false
  /// ```
  ///
  /// New objects leave the context, deleted ones stay in it, and changed ones have the values with which they were last
  /// fetched or saved, even if another context has saved newer ones. Objects whose rows another context or process
  /// deleted leave the context too. Observers get `NSManagedObjectContextObjectsDidChange` before it returns.
  ///
  /// Call it on the context's queue, for example after a save that failed for good: the context otherwise keeps its
  /// changes, and the next save tries to write them again. Each object that was changed or deleted gets
  /// `awakeFromSnapshotEvents(_:)` with `.rollback`. What a save or a batch request has written stays written.
  ///
  /// Source: Apple's documentation of `rollback()`.
  open func rollback() { revertChanges() }

  /// Forgets all objects and changes, and posts `NSManagedObjectContextObjectsDidChange` with the IDs of the objects
  /// under `NSInvalidatedAllObjectsKey`. Objects that the program still retains belong to no context any more, and read
  /// as nil.
  ///
  /// ```swift
  /// for start in stride(from: 0, to: 100_000, by: 1_000) {
  ///   for number in start..<start + 1_000 { Book(context: context).title = "Volume \(number)" }
  ///   try context.save()
  ///   context.reset()
  /// }
  /// ```
  ///
  /// It keeps the memory of a long import constant. With 65,536 objects or more the freed memory also goes back to the
  /// system. Unsaved changes are lost without an error. A pinned context reads the newest state afterwards.
  ///
  /// Call it on the context's queue. Fetch again what is needed afterwards; IDs stay valid.
  ///
  /// Source: Apple's documentation of `reset()`.
  open func reset() { forgetEverything() }

  /// Ends the current event: applies delete rules, registers changes with the undo manager, and posts
  /// `NSManagedObjectContextObjectsDidChange` if objects changed.
  ///
  /// ```swift
  /// context.performAndWait {
  ///   context.delete(author)
  ///   context.processPendingChanges()  // delete rules have been applied, and observers know
  /// }
  /// ```
  ///
  /// The context ends its event itself after each `perform` block, after each turn of the main queue, and in a save;
  /// these do not call an override of this method. `performAndWait` does not end the event, so call this where
  /// observers, or a fetched results controller, must know before the next save. A call from an observer of that
  /// notification does nothing.
  ///
  /// Source: Apple's documentation of `processPendingChanges()`.
  open func processPendingChanges() { processEvent() }

  // MARK: Requests

  /// The objects, IDs, dictionaries or count that the request asks for, as untyped values. An override is called by
  /// `fetch(_:)` with any result type too. Throws as that does. Call it on the context's queue.
  ///
  /// ```swift
  /// // @unchecked Sendable: only the context's queue uses `fetches`.
  /// final class CountingContext: NSManagedObjectContext, @unchecked Sendable {
  ///   var fetches = 0
  ///
  ///   override func fetch(_ request: NSFetchRequest<any NSFetchRequestResult>) throws -> [Any] {
  ///     fetches += 1
  ///     return try super.fetch(request)
  ///   }
  /// }
  /// ```
  ///
  /// Programs call the typed `fetch(_:)`; this one is the place to override.
  ///
  /// - Parameter request: any request.
  /// - Returns: managed objects, object IDs, dictionaries, or one number, as the request's `resultType` says.
  /// - Throws: see `fetch(_:)`.
  open func fetch(_ request: NSFetchRequest<any NSFetchRequestResult>) throws -> [Any] { try fetchAll(request) }

  /// Executes a batch insertion, update or deletion, or a request about history, and returns its result. An
  /// asynchronous fetch is started, from any thread, and delivers its results later on this queue.
  ///
  /// ```swift
  /// let request = NSBatchUpdateRequest(entityName: "Book")
  /// request.propertiesToUpdate = ["isRead": true]
  /// request.resultType = .updatedObjectIDsResultType
  /// let result = try context.execute(request) as? NSBatchUpdateResult
  /// let changes: [AnyHashable: Any] = [NSUpdatedObjectsKey: result?.result ?? []]
  /// NSManagedObjectContext.mergeChanges(fromRemoteContextSave: changes, into: [context])
  /// ```
  ///
  /// An `NSSaveChangesRequest` saves the objects that it names and no others, without hooks, validation and merge
  /// policy; a child context throws 134030 for it.
  ///
  /// A child context passes batch and history requests to its parent, under the parent's name and author. Batch
  /// requests write at once, in a transaction of their own: `rollback()` does not undo them. They ignore unsaved
  /// changes, and objects in contexts stay as they are until the result is merged. Call it on the context's queue.
  ///
  /// A batch request takes one transaction for each store and makes no objects, so use it to change many rows. Use a
  /// save where hooks and validation have to run.
  ///
  /// A batch request that fails has written nothing in the store that failed. An object whose row the request changed
  /// is out of date: saving a change of it is a conflict (133020).
  ///
  /// - Parameter request: `NSBatchInsertRequest`, `NSBatchUpdateRequest`, `NSBatchDeleteRequest`,
  ///   `NSPersistentHistoryChangeRequest`, `NSAsynchronousFetchRequest` or `NSSaveChangesRequest`. For a fetch, call
  ///   `fetch(_:)`.
  /// - Returns: the result object that belongs to the request, such as `NSBatchUpdateResult`.
  /// - Throws: 134091 for a request that the stores do not support, 134070 without a coordinator, for an unknown entity
  ///   or property and for a value that does not fit, 134030 if the store was opened read-only, and the stores' errors.
  ///
  /// Source: Apple's documentation of `execute(_:)`.
  @discardableResult
  open func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
    try executeRequest(request)
  }

  // MARK: Saving

  /// Writes all changes to the stores, in one transaction for each file, or hands them to the parent context. Call it
  /// on the context's queue.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as NSError where error.code == NSManagedObjectMergeError {
  ///   let conflicts = error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict] ?? []
  ///   print("changed by others:", conflicts.map(\.sourceObject.objectID))
  ///   context.rollback()
  /// }
  /// ```
  ///
  /// In this order: the event ends; `NSManagedObjectContextWillSave` is posted; `willSave()` of all changed objects
  /// runs, again for those that it changes; delete rules apply; deleted, new and changed objects are validated; the
  /// stores write, and the merge policy is asked if they find conflicts; IDs become permanent; `didSave()` runs;
  /// `NSManagedObjectContextDidSave` and `NSManagedObjectContextDidSaveObjectIDs` are posted. All of it happens before
  /// the method returns.
  ///
  /// Without changes it writes only metadata that was set, runs no hooks, and posts `NSManagedObjectContextDidSave`
  /// with empty sets; test `hasChanges` first to avoid that. A writer that finds the store locked waits for
  /// `NSPersistentStoreTimeoutOption`. A save to a SQLite file survives the death of processes when it returns; it
  /// survives a loss of power only with `synchronous` set to `FULL` in `NSSQLitePragmasOption`
  /// (https://www.sqlite.org/pragma.html#pragma_synchronous).
  ///
  /// Save when a unit of work is complete rather than after each object: each save is a transaction, and a file has one
  /// writer at a time. A long import saves every thousand objects or so and calls `reset()`, which bounds its memory.
  ///
  /// - Throws: validation errors (1550 to 1680; 1560, with the single ones under `NSDetailedErrorsKey`, for several),
  ///   133020 or 133021 for conflicts that the merge policy did not resolve, 134030 if no store can take the changes,
  ///   134090 if another writer kept the store locked, and the stores' errors. The context then keeps its changes and
  ///   its temporary IDs, and nothing is written. 134040 if only a part is saved, which can happen if the changes go to
  ///   several files, or to an incremental store and another store: `NSAffectedStoresErrorKey` lists the stores that
  ///   were not saved, and the context keeps their changes only. 133000 if the parent has deleted an object that this
  ///   child changed.
  ///
  /// Source: Apple's documentation of `save()`; the order of the notifications as public test suites pin it.
  open func save() throws { try saveChanges() }

  // MARK: Its content

  /// The objects that the next save writes as new rows. Each access makes a set; use `hasChanges` to learn whether
  /// there are changes.
  ///
  /// ```swift
  /// for case let book as Book in context.insertedObjects where book.title == nil { book.title = "Untitled" }
  /// ```
  ///
  /// Objects that a merge brought from another save are saved already, and not among them. Use it on the context's
  /// queue.
  ///
  /// Source: Apple's documentation of `insertedObjects`.
  open var insertedObjects: Set<NSManagedObject> {
    checkQueue()
    return Set(changes.inserted.items)
  }

  /// The changed objects whose rows the next save writes, also those that were set to equal values.
  ///
  /// ```swift
  /// for object in context.updatedObjects { print(object.objectID, object.changedValues().keys.sorted()) }
  /// ```
  ///
  /// An object that is new is not among them, however often it was changed.
  /// `NSManagedObject.hasPersistentChangedValues` tells whether a value differs from the stored one. Each access makes
  /// a set. Use it on the context's queue.
  ///
  /// Source: Apple's documentation of `updatedObjects`.
  open var updatedObjects: Set<NSManagedObject> {
    checkQueue()
    return Set(changes.updated.items)
  }

  /// The objects whose rows the next save deletes: marked by `delete(_:)` and, once the event has ended, by delete
  /// rules. New objects that were deleted are not among them.
  ///
  /// ```swift
  /// print("the save deletes", context.deletedObjects.map(\.objectID.uriString).sorted())
  /// ```
  ///
  /// Objects whose rows another context or process deleted are among them too, if a merge or a use of the object has
  /// noticed it; the save writes nothing for these. Each access makes a set. Use it on the context's queue.
  ///
  /// Source: Apple's documentation of `deletedObjects`.
  open var deletedObjects: Set<NSManagedObject> {
    checkQueue()
    return Set(changes.deleted.items)
  }

  /// Whether the context has unsaved changes, even if they set equal values. It searches nothing. Use it on the
  /// context's queue.
  ///
  /// ```swift
  /// if context.hasChanges { try context.save() }
  /// ```
  ///
  /// Source: Apple's documentation of `hasChanges`.
  open var hasChanges: Bool {
    checkQueue()
    return !changes.isEmpty
  }

  /// The objects to which the program holds a reference, and those with changes. The context drops all others first, so
  /// it costs O(n) for n objects of the context.
  ///
  /// ```swift
  /// print(context.registeredObjects.count, "objects, of which", context.updatedObjects.count, "are changed")
  /// ```
  ///
  /// The set retains its objects: release it where their memory has to be freed. Use it on the context's queue.
  ///
  /// Source: Apple's documentation of `registeredObjects`.
  open var registeredObjects: Set<NSManagedObject> {
    checkQueue()
    heldAfterMerge = []
    graph.sweep()
    return Set(graph.all)
  }

  /// The context's name in quotes, for messages.
  final var label: String { name.map { "\"\($0)\"" } ?? "without a name" }

  /// Traps on the wrong queue, if ConcurrencyDebug is on. Without it the call is a test of one constant, which every
  /// public method and property of the context can afford.
  @inline(__always)
  final func checkQueue() {
    if ConcurrencyDebug.isEnabled { ConcurrencyDebug.check(self) }
  }
}

/// The kind of queue that a context belongs to. Raw values are Apple's.
///
/// ```swift
/// let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
/// ```
///
/// Source: Apple's documentation of `NSManagedObjectContextConcurrencyType`.
public enum NSManagedObjectContextConcurrencyType: UInt, Sendable {
  /// Only the thread that created the context may use it, without `perform(_:)`. Deprecated by Apple; kept for old
  /// programs.
  case confinementConcurrencyType = 0
  /// A serial queue of the context's own.
  case privateQueueConcurrencyType = 1
  /// The main queue.
  case mainQueueConcurrencyType = 2
}
