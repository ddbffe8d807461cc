/// The working copy of some objects: fetches them, keeps one instance of each, notes changes, and saves them together.
///
/// A context belongs to a queue, the main one or its own. It and its objects are used inside `perform` and
/// `performAndWait` only.
///
/// Source: Apple's documentation of `NSManagedObjectContext`.
///
/// `@unchecked Sendable`: everything but `perform…` and what is constant is used on the context's queue, which
/// ConcurrencyDebug checks.
open class NSManagedObjectContext: NSObject, @unchecked Sendable {
  /// In which way a context is bound to a queue.
  public enum ConcurrencyType: Sendable {
    /// The context is used on the main queue.
    case mainQueue
    /// The context has a queue of its own.
    case privateQueue
  }

  // MARK: Settings

  /// In which way the context is bound to a queue. Set when it is made.
  public let concurrencyType: NSManagedObjectContextConcurrencyType

  /// A name for messages and for the store's history. Default: nil.
  open var name: String?

  /// For the user of the context. Nothing here reads it.
  open lazy var userInfo = NSMutableDictionary()

  /// Who saves, for the store's history. Default: nil.
  open var transactionAuthor: String?

  /// How conflicts with what others saved are resolved: an `NSMergePolicy`. Default: `NSErrorMergePolicy`.
  open var mergePolicy: Any = NSMergePolicy.error

  /// Whether an object whose row is missing becomes a deleted one with nil values. If not, reading it ends the process.
  /// Default: true.
  open var shouldDeleteInaccessibleFaults = true

  /// Decides what becomes of a fault that cannot be filled, since reading a property cannot throw: true gives it values
  /// of nil, false ends the process with a sentence.
  ///
  /// The default is `shouldDeleteInaccessibleFaults` where the row is missing, and false where the file cannot be read:
  /// `inaccessibleFaultError` tells which. An override that returns true for an unreadable file lets the program go on:
  /// the object reads as nil, is not deleted, and the context throws the error at its next save, as long as it is not
  /// rolled back or reset.
  /// - Parameter property: the relationship that was read; nil where it was the object itself.
  open func shouldHandleInaccessibleFault(
    _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
  ) -> Bool {
    inaccessibleFaultError == nil && shouldDeleteInaccessibleFaults
  }

  /// Why the fault could not be filled that `shouldHandleInaccessibleFault` is asked about. nil where its row is
  /// missing, and outside of that method. Not in Apple's API.
  public final var inaccessibleFaultError: (any Error)? { inaccessible.current }

  /// Whether deletes spread to related objects at the end of the event, or only with the save. Default: true.
  open var propagatesDeletesAtEndOfEvent = true

  /// Whether clean objects that nobody holds stay registered. Default: false.
  open var retainsRegisteredObjects: Bool {
    get { graph.keepsUnheld }
    set { graph.keepsUnheld = newValue }
  }

  /// Seconds for which rows in the coordinator's cache are good; negative for no limit, 0 for not at all. Default: -1.
  ///
  /// Ages are kept from the first use of a positive value on. A row of unknown age is read anew.
  open var stalenessInterval: TimeInterval = -1

  /// What notes changes so that they can be undone. Default: nil, and nothing is noted.
  ///
  /// Changes are registered at the end of each event. Each event is a group of its own, unless the program opened a
  /// group.
  open var undoManager: UndoManager? {
    get { undoTracking?.manager }
    set { setUndoManager(newValue) }
  }

  /// Whether others' saves to the parent or the coordinator are merged as they happen. Default: false.
  open var automaticallyMergesChangesFromParent = false {
    didSet { parentObservation = automaticallyMergesChangesFromParent ? ParentObservation(self) : nil }
  }

  // MARK: What the context is made of, on its queue

  /// What ties the context's objects to it.
  final let reference = ContextReference(nil)
  /// The objects by ID. They go before the coordinator does, whose stores their IDs refer to.
  final let graph: RegisteredObjects
  final var coordinator: NSPersistentStoreCoordinator?
  final var parentContext: NSManagedObjectContext?
  /// What became of temporary IDs.
  final let permanentIDs = PermanentIDs()
  /// What is not saved, and what observers have yet to be told.
  final let changes = PendingChanges()
  /// Changes between `willChangeValue` and `didChangeValue`.
  final var manualChanges = ManualChanges()
  /// What reads see.
  final var reading = StoreReading()
  /// What could not be read.
  final var inaccessible = InaccessibleFaults()
  final var undoTracking: UndoTracking?
  /// The fetched results that follow this context.
  final var followers = ContextFollowers()
  private final var parentObservation: ParentObservation?
  final var entitiesByClass: [ObjectIdentifier: NSEntityDescription] = [:]

  // MARK: Queue

  let queue: DispatchQueue
  /// The thread that made the context and alone may use it, where it is confined to one.
  final let confinementThread: Thread?
  /// Observers are being told of the end of an event.
  final var isProcessing = false
  final var isEndOfEventScheduled = false
  final lazy var legacyLock = NSRecursiveLock()

  // MARK: Making

  /// Makes a context that is bound to a queue, or confined to the thread that makes it. It needs a coordinator or a
  /// parent to fetch and save.
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

  /// Makes a context that is confined to the thread that makes it.
  @available(*, deprecated, message: "Use init(concurrencyType:).")
  public convenience override init() { self.init(concurrencyType: .confinementConcurrencyType) }

  /// Makes a context that is bound to a queue, in the spelling of newer code.
  public convenience init(_ concurrencyType: ConcurrencyType) {
    self.init(concurrencyType: concurrencyType == .mainQueue ? .mainQueueConcurrencyType : .privateQueueConcurrencyType)
  }

  deinit { reference.context = nil }

  // MARK: Stack

  /// The coordinator whose stores the context reads and saves, itself or through its parent.
  open var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    get { coordinator ?? parentContext?.persistentStoreCoordinator }
    set { coordinator = newValue }
  }

  /// The context that this one fetches from and saves to, in place of a coordinator. Traps for one that is confined to
  /// a thread.
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

  // MARK: What is in it

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

  /// Whether there is anything to save.
  open var hasChanges: Bool {
    checkQueue()
    return !changes.isEmpty
  }

  /// The objects that somebody holds or that have changes.
  open var registeredObjects: Set<NSManagedObject> {
    checkQueue()
    graph.sweep()
    return Set(graph.all)
  }

  /// For messages.
  final var label: String { name.map { "\"\($0)\"" } ?? "(unnamed)" }

  @inline(__always)
  final func checkQueue() {
    if ConcurrencyDebug.isEnabled { ConcurrencyDebug.check(self) }
  }
}

/// In which way a context is bound to a queue. Raw values are Apple's.
public enum NSManagedObjectContextConcurrencyType: UInt, Sendable {
  /// The context is used on the thread that made it, without `perform(_:)`. Deprecated.
  case confinementConcurrencyType = 0
  /// The context has a queue of its own.
  case privateQueueConcurrencyType = 1
  /// The context is used on the main queue.
  case mainQueueConcurrencyType = 2
}
