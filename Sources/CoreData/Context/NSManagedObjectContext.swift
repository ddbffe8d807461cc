internal import Synchronization

/// The working copy of some objects: fetches them, keeps one instance of each, notes changes, and saves them together.
///
/// A context belongs to a queue, the main one or its own; it and its objects are used inside `perform` and `performAndWait` only.
///
/// Source: Apple's documentation of `NSManagedObjectContext`.
///
/// `@unchecked Sendable`: everything but `perform…` and what is constant is used on the context's queue, which
/// ConcurrencyDebug checks.
open class NSManagedObjectContext: NSObject, @unchecked Sendable {
  /// In which way a context is bound to a queue.
  public enum ConcurrencyType: Sendable {
    case mainQueue
    case privateQueue
  }

  public let concurrencyType: NSManagedObjectContextConcurrencyType
  let queue: DispatchQueue
  /// The thread that made the context and alone may use it, where it is confined to one.
  final let confinementThread: Thread?
  final let reference = ContextReference(nil)

  /// A name for messages.
  open var name: String?

  /// For the user of the context.
  open lazy var userInfo = NSMutableDictionary()

  /// Who saves, for the store's history.
  open var transactionAuthor: String?

  /// How conflicts with what others saved are resolved. Default: `NSErrorMergePolicy`.
  open var mergePolicy: Any = NSMergePolicy.error

  /// Whether an object whose row is missing becomes a deleted one with nil values; if not, reading it ends the process. Default: true.
  open var shouldDeleteInaccessibleFaults = true

  /// Decides what becomes of a fault that cannot be filled: true for values of nil, false to end the process with a sentence, since
  /// reading a property cannot throw.
  ///
  /// The default is `shouldDeleteInaccessibleFaults` where the row is missing, and false where the file cannot be read:
  /// `inaccessibleFaultError` tells which. An override that returns true for an unreadable file lets the program go on: the object
  /// reads as nil, is not deleted, and the context throws the error at its next save, as long as it is not rolled back or reset.
  /// - Parameter property: the relationship that was read; nil where it was the object itself.
  open func shouldHandleInaccessibleFault(
    _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
  ) -> Bool {
    inaccessibleFaultError == nil && shouldDeleteInaccessibleFaults
  }

  /// Why the fault could not be filled that `shouldHandleInaccessibleFault` is asked about; nil where its row is missing, and outside.
  /// Not in Apple's API.
  public final internal(set) var inaccessibleFaultError: (any Error)?

  /// Whether deletes spread to related objects at the end of the event, or only with the save. Default: true.
  open var propagatesDeletesAtEndOfEvent = true

  /// Whether clean objects that nobody holds stay registered. Default: false.
  open var retainsRegisteredObjects = false

  /// Seconds for which rows in the coordinator's cache are good; negative for no limit, 0 for not at all. Default: -1.
  ///
  /// Ages are kept from the first use of a positive value on; a row of unknown age is read anew.
  open var stalenessInterval: TimeInterval = -1

  /// What notes changes so that they can be undone; nil, and nothing is noted, by default.
  ///
  /// Changes are registered at the end of each event, and each event is a group of its own unless one opened a group oneself.
  open var undoManager: UndoManager? {
    get { undoTracking?.manager }
    set { setUndoManager(newValue) }
  }

  // MARK: State, on the context's queue

  final var coordinator: NSPersistentStoreCoordinator?
  final var parentContext: NSManagedObjectContext?
  /// Whether a context has this one as its parent: then IDs that become permanent are remembered for it.
  final var hasChildren: Bool { hadChild.load(ordering: .relaxed) }
  /// Children may be made on any thread.
  private final let hadChild = Atomic<Bool>(false)
  final var permanentIDs: [Int64: NSManagedObjectID] = [:]
  /// The keys of objects that are new in the parent: their IDs become permanent when the root of the chain saves.
  final var temporaryKeys: Set<Int64> = []
  /// Counts the times that IDs became permanent in a chain of contexts; used in its root, by all.
  final let permanentGeneration = Atomic<Int>(0)
  /// The root's count when this context last took over permanent IDs.
  final var seenGeneration = 0
  final let registry = ObjectTable<NSManagedObject>()
  final var sweepThreshold = 4096
  final var inserted = MemberList()
  final var updated = MemberList()
  final var deleted = MemberList()
  final var event = ContextEvent()
  /// The event that observers are being told of.
  final var postedEvent: ContextEvent?
  /// Changes between `willChangeValue` and `didChangeValue`.
  final var manualChanges: [ManualChange] = []
  final var undoTracking: UndoTracking?
  /// What an object that reads as nil could not be read for: saving what follows from that would be wrong.
  final var unreadError: (any Error)?
  /// Objects whose rows must not have changed at the next save, though they themselves have not.
  final var conflictChecks: [NSManagedObject] = []
  final lazy var legacyLock = NSRecursiveLock()
  /// Deleted objects whose delete rules have yet to be applied.
  final var unpropagated: [NSManagedObject] = []
  /// New objects that were deleted: forgotten once observers have heard of it.
  final var dropped: [NSManagedObject] = []
  /// The row cache must be compared with the file before it is next asked.
  final var needsCacheCheck = true
  final var isProcessing = false
  final var isEndOfEventScheduled = false
  final var entitiesByClass: [ObjectIdentifier: NSEntityDescription] = [:]
  final var assignedStores: [ObjectIdentifier: any ObjectStore] = [:]
  /// What reads see: `queryGenerationToken` of a context without parent.
  final var generationToken: NSQueryGenerationToken?
  final var mergeObserver: (any NSObjectProtocol)?
  /// What stops and counts the fetches of a context that reads for an asynchronous one.
  final var fetchControl: FetchControl?
  /// The fetched results that follow this context.
  final var followers: [WeakFollower] = []

  public init(concurrencyType: NSManagedObjectContextConcurrencyType) {
    self.concurrencyType = concurrencyType
    queue =
      concurrencyType == .privateQueueConcurrencyType
      ? DispatchQueue(label: "NSManagedObjectContext") : DispatchQueue.main
    confinementThread = concurrencyType == .confinementConcurrencyType ? Thread.current : nil
    super.init()
    reference.context = self
  }

  /// A context that is confined to the thread that makes it.
  @available(*, deprecated, message: "Use init(concurrencyType:).")
  public convenience override init() { self.init(concurrencyType: .confinementConcurrencyType) }

  public convenience init(_ concurrencyType: ConcurrencyType) {
    self.init(concurrencyType: concurrencyType == .mainQueue ? .mainQueueConcurrencyType : .privateQueueConcurrencyType)
  }

  deinit {
    if let mergeObserver { NotificationCenter.default.removeObserver(mergeObserver) }
    reference.context = nil
    // Members of to-many relationships may hold each other in circles.
    registry.forEach { $0.toManys = [] }
  }

  // MARK: Stack

  /// The coordinator whose stores the context reads and saves, itself or through its parent.
  open var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    get { coordinator ?? parentContext?.persistentStoreCoordinator }
    set { coordinator = newValue }
  }

  /// The context that this one fetches from and saves to, in place of a coordinator.
  open var parent: NSManagedObjectContext? {
    get { parentContext }
    set {
      require(
        newValue?.concurrencyType != .confinementConcurrencyType,
        "The context \(newValue?.label ?? "") is confined to a thread and cannot be a parent: a parent needs a queue.")
      parentContext = newValue
      newValue?.hadChild.store(true, ordering: .relaxed)
    }
  }

  /// Whether others' saves to the parent or the coordinator are merged as they happen. Default: false.
  open var automaticallyMergesChangesFromParent = false {
    didSet { observeParent() }
  }

  // MARK: What is in it

  open var insertedObjects: Set<NSManagedObject> {
    checkQueue()
    return Set(inserted.items)
  }

  open var updatedObjects: Set<NSManagedObject> {
    checkQueue()
    return Set(updated.items)
  }

  open var deletedObjects: Set<NSManagedObject> {
    checkQueue()
    return Set(deleted.items)
  }

  /// Whether there is anything to save.
  open var hasChanges: Bool {
    checkQueue()
    return !inserted.isEmpty || !updated.isEmpty || !deleted.isEmpty
  }

  /// The objects that somebody holds or that have changes.
  open var registeredObjects: Set<NSManagedObject> {
    checkQueue()
    sweep()
    var objects: Set<NSManagedObject> = []
    registry.forEach { objects.insert($0) }
    return objects
  }

  /// For messages.
  final var label: String { name.map { "\"\($0)\"" } ?? "(unnamed)" }

  @inline(__always)
  final func checkQueue() {
    if ConcurrencyDebug.isEnabled { ConcurrencyDebug.check(self) }
  }
}

/// Raw values are Apple's.
public enum NSManagedObjectContextConcurrencyType: UInt, Sendable {
  /// The context is used on the thread that made it, without `perform(_:)`. Deprecated.
  case confinementConcurrencyType = 0
  case privateQueueConcurrencyType = 1
  case mainQueueConcurrencyType = 2
}

/// What changed since the last `processPendingChanges`.
struct ContextEvent {
  var inserted = MemberList()
  var updated = MemberList()
  var deleted = MemberList()
  var refreshed = MemberList()
  /// Objects whose deletion was taken back: they are in their store all the time.
  var revived = MemberList()
  var invalidatedAll: [NSManagedObject] = []
  /// The values that objects began the event with, where these are not the last saved ones.
  var starts: [ObjectIdentifier: Snapshot] = [:]
  /// Observers are told of it, and what changes now belongs to the next.
  var isOver = false
  /// What to-many relationships began the event with, where that is not what was last saved; known once the event is over.
  var toManyStarts: [ObjectIdentifier: ToMany.EventStart] = [:]

  var isEmpty: Bool {
    inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty && invalidatedAll.isEmpty
      && revived.isEmpty
  }

  func has(_ object: NSManagedObject) -> Bool {
    updated.contains(object) || inserted.contains(object) || deleted.contains(object) || revived.contains(object)
  }

  /// The values that a changed object began the event with; nil where they did not change.
  func start(of object: NSManagedObject) -> Snapshot? {
    starts[ObjectIdentifier(object)] ?? (inserted.contains(object) ? object.layout.defaults : object.committed)
  }
}
