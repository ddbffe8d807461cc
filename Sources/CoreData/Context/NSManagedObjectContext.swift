/// A working copy of objects: it fetches them, keeps one instance of each, records changes, and saves them together.
///
/// A context belongs to the main queue or to a private one. Use it and its objects inside `perform` and
/// `performAndWait` only; a main-queue context may also be used directly on the main thread.
///
/// Source: Apple's documentation of `NSManagedObjectContext`.
///
/// `@unchecked Sendable`: only the context's queue uses it, which ConcurrencyDebug checks; constants and `perform…`
/// are safe anywhere.
open class NSManagedObjectContext: NSObject, @unchecked Sendable {
  /// The queue of a context.
  public enum ConcurrencyType: Sendable {
    /// The main queue, for user interfaces.
    case mainQueue
    /// A serial queue of the context's own.
    case privateQueue
  }

  // MARK: Settings

  /// The kind of queue that the context belongs to.
  public let concurrencyType: NSManagedObjectContextConcurrencyType

  /// A name, shown in messages and recorded in persistent history. Default: nil.
  open var name: String?

  /// Values that the program keeps with the context. Default: empty.
  open lazy var userInfo = NSMutableDictionary()

  /// The author of the context's saves in persistent history. Default: nil.
  open var transactionAuthor: String?

  /// The policy that resolves conflicts with other saves, an `NSMergePolicy`. Default: `NSErrorMergePolicy`.
  open var mergePolicy: Any = NSMergePolicy.error

  /// Whether an object whose row is missing becomes a deleted one with nil values. If not, reading it ends the process.
  /// Default: true.
  open var shouldDeleteInaccessibleFaults = true

  /// Decides about a fault that cannot be filled: true gives it nil values, false ends the process with a sentence,
  /// since reading a property cannot throw.
  ///
  /// The default is `shouldDeleteInaccessibleFaults` for a missing row, and false for an unreadable file;
  /// `inaccessibleFaultError` tells which. An override that returns true for an unreadable file lets the program
  /// continue: the object reads as nil and is not deleted, and the next save throws the error unless the context is
  /// rolled back or reset first.
  /// - Parameter property: the relationship that was read; nil for the object itself.
  open func shouldHandleInaccessibleFault(
    _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
  ) -> Bool {
    inaccessibleFaultError == nil && shouldDeleteInaccessibleFaults
  }

  /// The reason why `shouldHandleInaccessibleFault` is called; nil for a missing row, and outside of that call. An
  /// addition to Apple's API.
  public final var inaccessibleFaultError: (any Error)? { inaccessible.current }

  /// Whether delete rules apply at the end of the event, or only with the save. Default: true.
  open var propagatesDeletesAtEndOfEvent = true

  /// Whether clean objects stay registered when the program holds no reference to them. Default: false.
  open var retainsRegisteredObjects: Bool {
    get { graph.keepsUnheld }
    set { graph.keepsUnheld = newValue }
  }

  /// The seconds for which a cached row may be used; negative for no limit, 0 for never. Default: -1.
  ///
  /// Ages are recorded from the first positive value on; a row of unknown age is read again.
  @exclusivity(unchecked) open var stalenessInterval: TimeInterval = -1

  /// The manager that records changes so that they can be undone; nil records nothing. Default: nil.
  ///
  /// Changes are registered at the end of each event. Each event is a group of its own, unless the program opened one.
  open var undoManager: UndoManager? {
    get { undoTracking?.manager }
    set { setUndoManager(newValue) }
  }

  /// Whether the context merges the saves of its parent, or of other contexts of its coordinator, as they happen, on
  /// its queue. What another child saved into the parent is merged once the parent has saved it. Default: false.
  open var automaticallyMergesChangesFromParent = false {
    didSet { parentObservation = automaticallyMergesChangesFromParent ? ParentObservation(self) : nil }
  }

  // MARK: The parts of the context, on its queue

  /// The objects' reference to this context.
  final let reference = ContextReference(nil)
  /// The objects by ID. They are freed before the coordinator, to whose stores their IDs refer.
  final let graph: RegisteredObjects
  final var coordinator: NSPersistentStoreCoordinator?
  final var parentContext: NSManagedObjectContext?
  /// The permanent IDs of temporary ones.
  final let permanentIDs = PermanentIDs()
  /// The unsaved changes, and those that observers do not know yet.
  final let changes = PendingChanges()
  /// Changes between `willChangeValue` and `didChangeValue`.
  final let manualChanges = ManualChanges()
  /// The state of the stores that reads see.
  @exclusivity(unchecked) final var reading = StoreReading()
  /// The errors of unreadable faults.
  final var inaccessible = InaccessibleFaults()
  final var undoTracking: UndoTracking?
  /// The new objects of the last merge, which stay until the next event ends although nobody may hold them yet.
  final var heldAfterMerge: [NSManagedObject] = []
  /// The fetched results that follow this context.
  final var followers = ContextFollowers()
  private final var parentObservation: ParentObservation?
  final var entitiesByClass: [ObjectIdentifier: NSEntityDescription] = [:]
  /// The last class whose entity was asked for.
  final var lastClass: (type: ObjectIdentifier, entity: NSEntityDescription)?
  /// The sets of the save that is running.
  final var notificationSets: NotificationSets?

  // MARK: Queue

  let queue: DispatchQueue
  /// The turns of a private queue. The main queue's blocks take none.
  final let turns = QueueTurns()
  /// The only thread that may use a confinement context; nil for contexts with a queue.
  final let confinementThread: Thread?
  /// Whether the end of an event is being posted.
  final var isProcessing = false
  final var isEndOfEventScheduled = false

  // MARK: Making

  /// A context of the given kind. It needs a coordinator or a parent to fetch and save.
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

  /// A context that only the current thread may use.
  @available(*, deprecated, message: "Use init(concurrencyType:).")
  public convenience override init() { self.init(concurrencyType: .confinementConcurrencyType) }

  /// A context of the given kind, in the spelling of newer code.
  public convenience init(_ concurrencyType: ConcurrencyType) {
    self.init(concurrencyType: concurrencyType == .mainQueue ? .mainQueueConcurrencyType : .privateQueueConcurrencyType)
  }

  deinit { reference.context = nil }

  // MARK: Stack

  /// The coordinator whose stores the context uses, directly or through its parent. Set it once, before use.
  open var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    get { coordinator ?? parentContext?.persistentStoreCoordinator }
    set { coordinator = newValue }
  }

  /// The context from which this one fetches and to which it saves, in place of a coordinator. Set it once, before use.
  /// Traps for a confinement context.
  open var parent: NSManagedObjectContext? {
    get { parentContext }
    set {
      require(
        newValue?.concurrencyType != .confinementConcurrencyType,
        "The context \(newValue?.label ?? "") is confined to a thread and cannot be a parent: a parent needs a queue.")
      parentContext = newValue
      newValue?.permanentIDs.expectChildren()
    }
  }

  // MARK: Blocks

  /// Runs the block on the context's queue later, in the order of the calls, and ends the event after it. Traps for a
  /// confinement context.
  ///
  /// As on Apple's platforms the compiler does not check what the block captures: pass object IDs, not objects.
  open func perform(_ block: @escaping () -> Void) { enqueue(block) }

  /// Runs the block on the context's queue and waits for it; inline if the caller is on the queue. It does not end the
  /// event.
  open func performAndWait(_ block: () -> Void) { runAndWait(block) }

  // MARK: Changing

  /// Inserts a new object into the context, to be saved as a new row. Inserting a deleted object undoes its deletion;
  /// inserting any other object of the context does nothing.
  ///
  /// An object that was made without a context brings those that it refers to, and they theirs: for these no override
  /// is called. Traps for an object of another context, and for one that refers to an object of another context.
  open func insert(_ object: NSManagedObject) { insertObject(object) }

  /// Marks the object for deletion by the next save. An object that was never saved is forgotten.
  ///
  /// `prepareForDeletion()` runs at once, and again if the object is deleted again. Delete rules apply at the end of
  /// the event, or with the save, and call no override. Traps for an object of another context.
  open func delete(_ object: NSManagedObject) { deleteObject(object) }

  /// Makes the object a fault and drops its changes. With `mergeChanges` it reads the values again and keeps the
  /// object's own changes.
  ///
  /// A new object that becomes a fault is still new, and has the default values again. Does nothing for deleted
  /// objects, and for those of other contexts. A row that a batch request wrote is read anew if `stalenessInterval` is
  /// not negative, or once the request's result was merged.
  open func refresh(_ object: NSManagedObject, mergeChanges flag: Bool) { refreshObject(object, keepsChanges: flag) }

  /// Reverts all changes since the last fetch or save of each object. They cannot be undone or redone any more.
  open func rollback() { revertChanges() }

  /// Forgets all objects and changes, and posts `NSManagedObjectContextObjectsDidChange` with the IDs of the objects
  /// under `NSInvalidatedAllObjectsKey`. Objects that are still held belong to no context any more, and read as nil.
  /// The memory of many objects goes back to the system.
  open func reset() { forgetEverything() }

  /// Ends the current event: applies delete rules, and posts `NSManagedObjectContextObjectsDidChange` if objects
  /// changed.
  ///
  /// The context does so itself at the end of each `perform` block, of each turn of the main queue, and with a save:
  /// then no override is called. Does nothing while it is running.
  open func processPendingChanges() { processEvent() }

  // MARK: Requests

  /// The objects, IDs, dictionaries or count that the request asks for. An override is called by `fetch(_:)` with any
  /// result type too. Throws as that does.
  open func fetch(_ request: NSFetchRequest<any NSFetchRequestResult>) throws -> [Any] { try fetchAll(request) }

  /// Executes a batch insertion, update or deletion, or a request about history, and returns its result. An
  /// asynchronous fetch is started, from any thread, and delivers its results later on this queue.
  ///
  /// An `NSSaveChangesRequest` saves the objects that it names and no others, without hooks, validation and merge
  /// policy.
  ///
  /// A child context passes the request to its parent, under the parent's name and author. Batch requests ignore
  /// unsaved changes, and objects in contexts stay as they are.
  ///
  /// - Throws: 134091 for a request that the stores do not support, and the stores' errors.
  @discardableResult
  open func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
    try executeRequest(request)
  }

  // MARK: Saving

  /// Writes all changes to the stores, in one transaction for each file, or hands them to the parent context. Without
  /// changes it writes metadata that was set, and posts `NSManagedObjectContextDidSave` with empty sets. Call it on the
  /// context's queue.
  ///
  /// - Throws: validation errors (1560 for several), 133020 or 133021 for conflicts that the merge policy did not
  ///   resolve, 134030 if no store can take the changes, and the stores' errors. The context then keeps its changes.
  ///   134040 if only a part is saved, which happens with several incremental stores alone: `NSAffectedStoresErrorKey`
  ///   has the stores that have nothing of the save, and the context keeps their changes only.
  open func save() throws { try saveChanges() }

  // MARK: Its content

  /// The objects that the next save writes as new rows.
  open var insertedObjects: Set<NSManagedObject> {
    checkQueue()
    return Set(changes.inserted.items)
  }

  /// The changed objects whose rows the next save writes.
  open var updatedObjects: Set<NSManagedObject> {
    checkQueue()
    return Set(changes.updated.items)
  }

  /// The objects whose rows the next save deletes.
  open var deletedObjects: Set<NSManagedObject> {
    checkQueue()
    return Set(changes.deleted.items)
  }

  /// Whether the context has unsaved changes, even if they set equal values.
  open var hasChanges: Bool {
    checkQueue()
    return !changes.isEmpty
  }

  /// The objects that something holds or that have changes.
  open var registeredObjects: Set<NSManagedObject> {
    checkQueue()
    heldAfterMerge = []
    graph.sweep()
    return Set(graph.all)
  }

  /// For messages.
  final var label: String { name.map { "\"\($0)\"" } ?? "without a name" }

  @inline(__always)
  final func checkQueue() {
    if ConcurrencyDebug.isEnabled { ConcurrencyDebug.check(self) }
  }
}

/// The kind of queue that a context belongs to. Raw values are Apple's.
public enum NSManagedObjectContextConcurrencyType: UInt, Sendable {
  /// Only the thread that created the context may use it, without `perform(_:)`. Deprecated.
  case confinementConcurrencyType = 0
  /// A serial queue of the context's own.
  case privateQueueConcurrencyType = 1
  /// The main queue.
  case mainQueueConcurrencyType = 2
}
