/// An object of a context: one row of a store, or a new object that is not saved yet.
///
/// ```swift
/// final class Note: NSManagedObject {
///   @ManagedAttribute("text") var text: String?
///   @ManagedAttribute("createdAt") var createdAt: Date?
///
///   override func awakeFromInsert() {
///     super.awakeFromInsert()
///     createdAt = Date()
///   }
///
///   override func validateForInsert() throws {
///     try super.validateForInsert()
///     if text?.isEmpty ?? true { throw CocoaError(.validationStringTooShort) }
///   }
/// }
/// ```
///
/// Programs mostly use classes that `ModelCompilerPlugin` generates from the model, or declare properties with
/// `@NSManaged`. Either way the class's properties are those of the entity that names it.
///
/// The life of an object: it is inserted (`awakeFromInsert()`) or fetched as a fault; the first use of a property fills
/// the fault (`awakeFromFetch()`); setting a property marks it as updated; before a save `willSave()` runs, after it
/// `didSave()`; a refresh makes it a fault again (`willTurnIntoFault()`, `didTurnIntoFault()`); a deletion calls
/// `prepareForDeletion()`.
///
/// Use it on its context's queue only and pass `objectID` to other queues. A clean object that the program does not
/// hold may leave its context at any time; unlike on Apple's platforms its memory is freed a little later. Objects are
/// equal only if they are the same instance, and a context has one instance for each ID.
///
/// What happens otherwise: use on another queue is a data race; with `-com.apple.CoreData.ConcurrencyDebug 1` it traps
/// with a message that names the object. Reading a property of a fault whose context was freed traps. After a reset a
/// property reads as nil. After a saved deletion to-one relationships read as nil; attributes keep the values that the
/// object had read, or read as nil if it was a fault.
///
/// The states of an object, and what leads from one to the next:
///
/// | Before | Event | After |
/// | --- | --- | --- |
/// | no object | `init(context:)` | inserted, with a temporary ID |
/// | no object | `fetch(_:)`, `object(with:)` | fault |
/// | fault | first use of a property | clean, with values |
/// | clean | a property is set | updated |
/// | fault, clean, updated | `NSManagedObjectContext.delete(_:)` | deleted |
/// | inserted, updated | `save()` | clean |
/// | deleted | `save()` | in no context |
/// | inserted | `delete(_:)`, `rollback()` | in no context |
/// | updated, deleted | `rollback()` | clean, with the last fetched or saved values |
/// | clean, updated | `refresh(_:mergeChanges:)` with false | fault |
/// | any | `reset()` | in no context, without values |
///
/// Source: Apple's documentation of `NSManagedObject`.
open class NSManagedObject: NSObject, NSFetchRequestResult {
  /// The slots and relationships of the object's entity: the place of each property, the class, the default values. Set
  /// once: an object never changes its entity. Two models give two layouts, even for entities with one name, so code
  /// that goes from an object of one context to one of another compares names, not layouts.
  final let layout: EntityLayout
  /// The entity's place in the store that holds the object, or in none.
  ///
  /// A temporary one (`EntityLayout.temporaryEntity`) until the first save or `obtainPermanentIDs(for:)`; then the
  /// store's. `savedEntity` is nil meanwhile, so that an insertion does not retain the temporary one for each object.
  final var storedEntity: StoredEntity {
    get { savedEntity ?? layout.temporaryEntity }
    set { savedEntity = newValue }
  }
  /// Whether both objects are of one entity of one store, or unsaved ones of one entity.
  ///
  /// A save uses it to put runs of neighbouring objects into one statement without asking each for its store.
  @inline(__always)
  final func hasStoredEntity(of other: NSManagedObject) -> Bool {
    savedEntity === other.savedEntity && (savedEntity != nil || layout === other.layout)
  }
  /// The key of the object's ID; 0 before the ID is first asked for.
  ///
  /// Positive: `Z_PK` of the object's row. Negative: a temporary key, from a descending counter of the process. The
  /// sign alone tells whether an ID is permanent.
  final var key: Int64 = 0
  /// Made by `objectID` at its first use and dropped by `become(_:of:)`. Most objects of a fetch are never asked for
  /// their ID, and an `NSManagedObjectID` is an allocation of its own.
  private final var identifier: NSManagedObjectID?
  /// Nil while the temporary entity of the layout holds.
  private final var savedEntity: StoredEntity?
  /// The current values; nil in a fault whose row was not read.
  ///
  /// Shared or own, as `State.ownsSnapshot` says. A shared one is the row of the cache, of a fetch or of the defaults,
  /// which other objects and other contexts read at the same time: it must never be written. `ownSnapshot(_:)` makes
  /// the copy before the first change.
  ///
  /// ```text
  /// clean          snapshot ──▶ row of the cache            committed = nil
  /// after a change snapshot ──▶ copy that is written        committed ──▶ row of the cache
  /// after a save   snapshot ──▶ the same copy, now shared   committed = nil
  /// ```
  final var snapshot: Snapshot? {
    get { row }
    set {
      row = newValue
      if !state.isDisjoint(with: .hasReadTexts) { forgetTexts() }
    }
  }
  /// Where `snapshot` is kept. Set directly only where no text can have been read.
  private final var row: Snapshot?
  /// The last fetched or saved values, while `snapshot` has changes.
  ///
  /// Nil for a clean object, whose `snapshot` is the last fetched row itself, and for a new one, which has no row.
  /// `changedValues()`, merge policies, undo and the SQL of an update, which names changed columns only, compare the
  /// two.
  final var committed: Snapshot? {
    get { committedSlab.map { $0.snapshot(at: UInt32(committedPlace) * 8) } }
    set {
      committedSlab = newValue?.slab
      committedPlace = UInt16((newValue?.place ?? 0) / 8)
    }
  }
  /// Whether there is a `committed`, without retaining it.
  @inline(__always)
  final var hasCommitted: Bool { committedSlab != nil }
  /// The row of `committed`, in eight bytes less than a snapshot takes: its place is counted in words. The place shares
  /// one word with the two properties below it, so that an object has 104 bytes: malloc(3) takes a larger block for
  /// more.
  ///
  /// The instance in bytes, with the 16 bytes of Swift's object header:
  ///
  /// ```text
  ///   0  header     metadata, reference counts
  ///  16  layout
  ///  24  key
  ///  32  identifier
  ///  40  savedEntity
  ///  48  snapshot   slab
  ///  56             address of the slots
  ///  64  committedSlab
  ///  72  committedPlace (2) | state (2) | changePlace (4)
  ///  80  reference
  ///  88  toManys
  ///  96  attachment
  /// 104
  /// ```
  ///
  /// A chunk of glibc's malloc(3) is a multiple of 16 bytes and has eight of its own, so 104 bytes fit one of 112, and
  /// 105 would take 128 (https://sourceware.org/glibc/wiki/MallocInternals).
  private final var committedSlab: RowSlab?
  /// The distance of the row from the beginning of its slab, in words of eight bytes.
  private final var committedPlace: UInt16 = 0
  /// No access overlaps another one: each sets or asks for bits.
  ///
  /// One word of sixteen bits, so that the checks before an access are one load and one mask: `access()` tests `fault`
  /// and `isChecked` together.
  ///
  /// `@exclusivity(unchecked)` leaves out the runtime's bookkeeping for each access of a class's property, which would
  /// cost more than the access (https://www.swift.org/blog/swift-5-exclusivity/).
  @exclusivity(unchecked) final var state: State
  /// The object's place among the context's new, changed or deleted objects, if it is one of these.
  ///
  /// Kept by `ChangedObjects`, which thereby removes an object without a search and without a table of its own.
  /// Meaningless while the object is in none of the three lists.
  final var changePlace: Int32 = 0
  /// Nil before the first context and after the object left it. It is shared by all objects of a context: when the
  /// context is freed, one store to `ContextReference.context` cuts all of them off, and no object has to be visited.
  final var reference: ContextReference?
  /// The to-many relationships, one each; empty until the first is used.
  ///
  /// Indexed as `EntityLayout.toManys`. An element is nil until the relationship is read or changed through either end.
  @exclusivity(unchecked) final var toManys: [ToMany?] = []
  /// What is kept besides the values, if anything is.
  ///
  /// One word for two rare things: an object with a batch is a fault, and a fault keeps no texts.
  @exclusivity(unchecked) final var attachment = Attachment.none

  /// The public states `isInserted`, `isUpdated`, `isDeleted` are set by `PendingChanges` only, together with its
  /// lists. The others are set by the object itself, its context, and the key-value observers.
  ///
  /// Combinations that occur:
  ///
  /// ```text
  /// fault                    no values, or a row for which `awakeFromFetch()` has not run yet
  /// fault + unborn           made without a context: the first access copies the defaults
  /// fault + gone             left its context by a reset: reads as nil
  /// (none)                   clean, with values
  /// updated + ownsSnapshot   changed: `committed` has the row
  /// updated                  only to-many relationships changed: the snapshot is still the row
  /// inserted + ownsSnapshot  new
  /// deleted + gone           the row is missing: the next save writes nothing for it
  /// ```
  struct State: OptionSet {
    let rawValue: UInt16
    /// The next access to a property has to fill or check something first.
    static let fault = State(rawValue: 1 << 0)
    /// Accesses are checked for the right queue.
    static let isChecked = State(rawValue: 1 << 1)
    static let inserted = State(rawValue: 1 << 2)
    static let updated = State(rawValue: 1 << 3)
    static let deleted = State(rawValue: 1 << 4)
    /// `snapshot` is this object's own and may be written.
    static let ownsSnapshot = State(rawValue: 1 << 5)
    /// Changes are not recorded, because `awakeFromFetch` runs or a row is being set.
    static let isQuiet = State(rawValue: 1 << 6)
    /// The deletion was saved, or the row turned out to be missing.
    static let gone = State(rawValue: 1 << 7)
    /// Created without a context: the first access sets the default values.
    static let unborn = State(rawValue: 1 << 8)
    /// The current event has recorded a change of this object.
    static let isNoted = State(rawValue: 1 << 9)
    /// A property of this object may be observed.
    static let isObserved = State(rawValue: 1 << 10)
    /// A text of the present row was read: one bit for every fourth slot, see `hasReadText(_:)`.
    static let hasReadTexts = State(rawValue: 0b1111 << 11)

    /// The bit for the text of a slot. Slots that share one are taken for each other.
    @inline(__always)
    static func hasReadText(_ slot: Int) -> State { State(rawValue: 1 << (11 + UInt16(slot & 3))) }
  }

  /// Not both at once: a fault keeps no texts.
  ///
  /// `batch` comes with a fetch and goes when the object is filled; `texts` comes with the second reading of one text
  /// and goes when `snapshot` changes.
  enum Attachment {
    case none
    /// What a fetch left with this fault: its neighbours in a batch, or some of its values.
    case batch(FetchBatch)
    /// The texts of `snapshot` that were read more than once.
    case texts(ReadTexts)
  }

  /// Setting nil drops texts as well: there are none in a fault.
  final var batch: FetchBatch? {
    get { if case .batch(let batch) = attachment { batch } else { nil } }
    set { attachment = newValue.map { .batch($0) } ?? .none }
  }

  /// Creates an object with the model's default values and inserts it into a context as a new one. Call it on the
  /// context's queue.
  ///
  /// ```swift
  /// if let entity = NSEntityDescription.entity(forEntityName: "Book", in: context) {
  ///   let draft = Book(entity: entity, insertInto: nil)
  ///   draft.title = "Emma"
  ///   context.insert(draft)  // or drop it: nothing was recorded
  /// }
  /// ```
  ///
  /// With nil the object has no context until `NSManagedObjectContext.insert(_:)`, or until an object of a context
  /// refers to it. Its values and relationships can be set before. Objects without a context that refer to each other
  /// retain each other. The class should be the one that the entity names.
  public init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    layout = entity.layout
    state = [.fault, .unborn]
    super.init()
    context?.insert(self)
  }

  /// Creates and inserts a new object. The context's model must have one entity with this class; traps otherwise. Call
  /// it on the context's queue.
  ///
  /// ```swift
  /// let book = Book(context: context)
  /// book.title = "Emma"
  /// book.author = author
  /// try context.save()
  /// ```
  ///
  /// `awakeFromInsert()` runs before it returns. The ID is temporary until the save.
  ///
  /// It writes nothing before the save. Where several models in the process use one class, this initialiser takes the
  /// entity of the context's own model. Mandatory properties without a value make the save throw 1570.
  ///
  /// Source: Apple's documentation of `init(context:)`.
  public required convenience init(context: NSManagedObjectContext) {
    guard let entity = context.entity(for: Self.self) else {
      fatalError("No entity of the context's model has the class \(Self.self).")
    }
    self.init(entity: entity, insertInto: context)
  }

  /// Creates an object of the class's entity, as `entity()` finds it, without a context. Apple's framework says on
  /// standard error that this is not the initialiser to use: without an entity the object has no properties.
  ///
  /// ```swift
  /// let draft = Book()  // the same as Book(entity: Book.entity(), insertInto: nil)
  /// draft.title = "Emma"
  /// context.insert(draft)
  /// ```
  ///
  /// Use `init(context:)` where the context is known: it takes the entity of that context's model, where this asks the
  /// newest model of the process that has the class.
  public convenience override init() { self.init(entity: Self.entity(), insertInto: nil) }

  /// Creates an object without a context, for the context to fill. Core Data instantiates the class that a model names
  /// with it.
  ///
  /// Programs take `init(entity:insertInto:)` with nil instead, which does the same. It is `required` because the class
  /// is known at run time only, and `convenience` so that a subclass without designated initialisers of its own
  /// inherits it.
  public required convenience init(unborn entity: NSEntityDescription) {
    self.init(entity: entity, insertInto: nil)
  }

  // MARK: Identity and state

  /// The object's ID, temporary until the object is saved or gets one by `obtainPermanentIDs(for:)`. May be passed to
  /// other queues. Reading it reads nothing.
  ///
  /// ```swift
  /// let id = book.objectID
  /// await container.performBackgroundTask { context in
  ///   print((context.object(with: id) as? Book)?.title ?? "")
  /// }
  /// ```
  ///
  /// A temporary ID means nothing outside of its context and the contexts below it, and the save replaces it: read
  /// `objectID` again after the save. Where an ID leaves the process use `uriRepresentation()` or `uriString`.
  ///
  /// Source: Apple's documentation of `objectID`.
  public final var objectID: NSManagedObjectID {
    if key <= 0 { settleTemporaryKey() }
    if let identifier { return identifier }
    let made = NSManagedObjectID(storedEntity: storedEntity, key: key)
    identifier = made
    return made
  }

  /// Gives the object a temporary key if it has none.
  ///
  /// Called before the object is registered, because the registry finds objects by key. An object without a context
  /// gets one only when it is asked for its ID or related to another object.
  final func ensureKey() {
    if key == 0 { key = NSManagedObjectID.nextTemporaryKey() }
  }

  // Not inlined, so that `objectID` of a saved object is one comparison and one load.
  @inline(never)
  private final func settleTemporaryKey() {
    ensureKey()
    // The ID of an object that was saved into a parent becomes permanent when the parent saves.
    if let context = reference?.context, context.permanentIDs.isAwaitingSome, context.isOnItsQueue {
      context.adoptPermanentIDs()
    }
  }

  /// Makes a new object a fault of a context, with its row if that was read.
  ///
  /// Called by `RegisteredObjects.make` right after the class's initialiser. The initialiser makes an unborn object
  /// without a context, since a subclass may override it and expects nothing else; this turns it into a fault with an
  /// ID before any other code of the program sees it.
  ///
  /// A row that the fetch brought is set although the object stays a fault: the first use then costs no query, but it
  /// runs `awakeFromFetch()`.
  @inline(__always)
  final func arrive(
    from storedEntity: StoredEntity, key: Int64, row: consuming Snapshot?, in reference: ContextReference,
    as state: State
  ) {
    self.storedEntity = storedEntity
    self.key = key
    // The class's initialiser may have set values, and read them.
    if hasCommitted { committed = nil }
    if !self.state.isDisjoint(with: .hasReadTexts) { forgetTexts() }
    self.row = consume row
    self.reference = reference
    self.state = state
  }

  /// Gives the object the ID of its row.
  ///
  /// The registry is told separately (`RegisteredObjects.rename`): it finds objects by the key, so the object leaves it
  /// under the old one first.
  final func become(_ id: NSManagedObjectID) {
    identifier = id
    storedEntity = id.storedEntity
    key = id.key
  }

  /// Gives the object the key of its row. The ID is made when it is first asked for.
  final func become(_ key: Int64, of storedEntity: StoredEntity) {
    identifier = nil
    self.storedEntity = storedEntity
    self.key = key
  }

  /// The entity of the object itself, also where it was fetched through a parent entity.
  ///
  /// ```swift
  /// print(book.entity.name ?? "", book.entity.attributesByName.keys.sorted())
  /// ```
  ///
  /// It belongs to the model of the coordinator, which is immutable. Objects of two models that name the same entity
  /// have two descriptions: compare `entity.name`. Any thread may ask; it fires no fault.
  ///
  /// Source: Apple's documentation of `entity`.
  public final var entity: NSEntityDescription { layout.entity }

  /// The context that the object belongs to. Nil for an object that was made without one, after its deletion was saved,
  /// after a reset, and once the context is freed. The object does not retain it: keep the context as long as its
  /// objects are used.
  ///
  /// ```swift
  /// await book.managedObjectContext?.perform { print(book.title ?? "") }
  /// ```
  ///
  /// Nil tells a program that the object it kept can no longer be saved. Reading it fires no fault, and the concurrency
  /// check lets every thread read it, so that code on another queue can call `perform(_:)` as above. Code that may run
  /// while the object is deleted or the context reset keeps the context itself instead.
  ///
  /// Source: Apple's documentation of `managedObjectContext`.
  public final var managedObjectContext: NSManagedObjectContext? { reference?.context }

  /// Whether the object is new: in the context and not yet in the store.
  ///
  /// ```swift
  /// let draft = Book(context: context)
  /// print(draft.isInserted, draft.objectID.isTemporaryID)  // true true
  /// try context.save()
  /// print(draft.isInserted, draft.objectID.isTemporaryID)  // false false
  /// ```
  ///
  /// True from `init(context:)` or `insert(_:)` to the save, also for an object that a child context has saved into
  /// this one: it is new here until this context saves. An object without a context is not inserted.
  ///
  /// Source: Apple's documentation of `isInserted`.
  public final var isInserted: Bool { state.contains(.inserted) }

  /// Whether a property was set since the last fetch or save, even to an equal value; `hasPersistentChangedValues`
  /// compares. False for new and deleted objects.
  ///
  /// ```swift
  /// book.isRead = book.isRead
  /// print(book.isUpdated, book.changedValues().isEmpty)  // true true
  /// ```
  ///
  /// A change of a relationship marks both ends as updated if both are modelled. Reading it fires no fault.
  ///
  /// Source: Apple's documentation of `isUpdated`.
  public final var isUpdated: Bool { state.contains(.updated) }

  /// Whether the next save deletes the object. False again after that save: `managedObjectContext` is nil then.
  ///
  /// ```swift
  /// context.delete(book)
  /// print(book.isDeleted)  // true
  /// try context.save()
  /// print(book.isDeleted, book.managedObjectContext == nil)  // false true
  /// ```
  ///
  /// Objects that a Cascade rule deletes with this one become deleted when the event ends, by `processPendingChanges()`
  /// or a save, not at once. A merge can make it true as well: another context has deleted the row, and the next save
  /// writes nothing for it.
  ///
  /// What happens otherwise: a screen that keeps a deleted object shows the former values after the save. Test
  /// `managedObjectContext == nil` too.
  ///
  /// Source: Apple's documentation of `isDeleted`.
  public final var isDeleted: Bool { state.contains(.deleted) }

  /// Whether the object's values have not been read yet. The next access to a property reads them, from memory if the
  /// fetch brought them, else with a query. Asking it, `objectID`, `entity`, `description` or a state reads nothing.
  ///
  /// ```swift
  /// let books = try context.fetch(NSFetchRequest<Book>(entityName: "Book"))
  /// print(books.first?.isFault ?? true)  // true: nothing has used it
  /// print(books.first?.title ?? "")
  /// print(books.first?.isFault ?? true)  // false
  /// ```
  ///
  /// A fault does not tell that a query follows: after a plain fetch the values are in memory. Programs rarely ask; use
  /// `relationshipKeyPathsForPrefetching` to avoid queries, and `refresh(_:mergeChanges:)` to make a fault.
  ///
  /// Source: Apple's documentation of `isFault`.
  public final var isFault: Bool { state.contains(.fault) && !state.contains(.unborn) }

  /// 0 for an object with values, 1 for a fault.
  ///
  /// For code that was written for Apple's older API; `isFault` says the same. An object without a context counts as
  /// filled.
  ///
  /// Source: Apple's documentation of `faultingState`.
  public final var faultingState: Int { isFault ? 1 : 0 }

  /// Whether the object was inserted, updated or deleted since the last save.
  ///
  /// ```swift
  /// book.title = book.title
  /// print(book.hasChanges, book.hasPersistentChangedValues)  // true false
  /// ```
  ///
  /// It tests three bits that the context keeps: O(1), and it fires no fault.
  ///
  /// A new object that was deleted before any save counts as changed until the event ends. Transient properties count
  /// too. Ask `hasPersistentChangedValues` where the question is whether a save would write something.
  ///
  /// Source: Apple's documentation of `hasChanges`.
  public final var hasChanges: Bool { !state.isDisjoint(with: [.inserted, .updated, .deleted]) }

  /// The entity of the class in the models that coordinators use; if several models have one, that of the newest. Only
  /// if none of these has one, models are asked whose coordinators are gone. If there is no entity, or the model has
  /// several of the class and none with its name, the result is an empty description without a name, and a sentence on
  /// standard error says so. If models share the class, use `NSEntityDescription.entity(forEntityName:in:)` with the
  /// context instead. Any thread.
  ///
  /// ```swift
  /// print(Book.entity().attributesByName.keys.sorted())
  /// ```
  ///
  /// It costs a look at the models in use, newest first, so keep the result in a loop. What happens otherwise: with two
  /// models that share the class, an object for a context of the older model is made with the newest one's properties.
  ///
  /// Source: Apple's documentation of `entity()`.
  open class func entity() -> NSEntityDescription {
    if let entity = LoadedModels.entity(for: self) { return entity }
    let message = "CoreData: no model in use has an entity of the class \(self), or a model has several.\n"
    FileHandle.standardError.write(Data(message.utf8))
    return NSEntityDescription()
  }

  /// A fetch request for the class's entity, as `entity()` finds it. Generated classes have a typed one, which the
  /// compiler prefers:
  ///
  /// ```swift
  /// let request = Book.fetchRequest()
  /// request.fetchLimit = 10
  /// let books: [Book] = try context.fetch(request)
  /// ```
  ///
  /// It has the entity's name only, so the executing context's model resolves it: a request of a class that two models
  /// share works in either. Without any model in use the name is empty, and the fetch throws 134070.
  ///
  /// Source: Apple's documentation of `fetchRequest()`.
  @_disfavoredOverload
  open class func fetchRequest() -> NSFetchRequest<any NSFetchRequestResult> {
    NSFetchRequest<any NSFetchRequestResult>(entityName: entity().name ?? "")
  }

  /// Whether changes of properties outside the model leave the object unchanged. Always true: the context does not see
  /// such properties.
  ///
  /// Setting a stored property of the class that is not in the model, such as a cache, calls no observer and does not
  /// mark the object as updated. Overriding this property has no effect. Make a value that the context should follow a
  /// transient attribute of the model.
  ///
  /// Source: Apple's documentation of `contextShouldIgnoreUnmodeledPropertyChanges`.
  open class var contextShouldIgnoreUnmodeledPropertyChanges: Bool { true }

  // MARK: For subclasses

  /// Called once in the context that creates the object, after the default values are set. Overrides call super.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   @ManagedAttribute("createdAt") var createdAt: Date?
  ///
  ///   override func awakeFromInsert() {
  ///     super.awakeFromInsert()
  ///     createdAt = Date()
  ///   }
  /// }
  /// ```
  ///
  /// What it sets is part of the insertion. It does not run again in the parent to which a child saves the object. Use
  /// it for values that a model's default cannot express. The default does nothing.
  ///
  /// It runs on the context's queue, before the initialiser returns. A batch insertion does not call it: give its rows
  /// the values themselves.
  ///
  /// Source: Apple's documentation of `awakeFromInsert()`.
  open func awakeFromInsert() {}

  /// Called each time the object's values come from the store: when the fault is filled, not when it is fetched.
  /// Overrides call super.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   @ManagedAttribute("text") var text: String?
  ///   private(set) var words = 0
  ///
  ///   override func awakeFromFetch() {
  ///     super.awakeFromFetch()
  ///     words = (text ?? "").split(separator: " ").count
  ///   }
  /// }
  /// ```
  ///
  /// Use it to compute transient values. Changes made here are not recorded, so the object stays clean, and the inverse
  /// of a relationship is not set: set none. After a refresh or a merge it runs again. The default does nothing.
  ///
  /// It runs on the context's queue, once for each object that is used, so keep it short.
  ///
  /// Source: Apple's documentation of `awakeFromFetch()`.
  open func awakeFromFetch() {}

  /// Called after something other than a fetch replaced the object's values: undo, roll-back, a refresh that kept
  /// changes, or a merge policy. Changes made here are not recorded. Overrides call super. The default does nothing.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   var thumbnail: Data?
  ///
  ///   override func awakeFromSnapshotEvents(_ flags: NSSnapshotEventType) {
  ///     super.awakeFromSnapshotEvents(flags)
  ///     thumbnail = nil  // made from values that are no longer there
  ///   }
  /// }
  /// ```
  ///
  /// It runs on the context's queue after the values were replaced, once for each of the objects. A fault that is
  /// filled later calls `awakeFromFetch()` instead. Override it in a class that keeps something computed from its
  /// properties; without it, an undo leaves the computed value of the undone state.
  ///
  /// Source: Apple's documentation of `awakeFromSnapshotEvents(_:)`.
  ///
  /// - Parameter flags: which of these it was.
  open func awakeFromSnapshotEvents(_ flags: NSSnapshotEventType) {}

  /// Called before a save of the object's changes or of its deletion: in a child context, and again in its parent when
  /// that saves. Overrides call super.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   @ManagedAttribute("changedAt") var changedAt: Date?
  ///
  ///   override func willSave() {
  ///     super.willSave()
  ///     if !isDeleted, changedValues()["changedAt"] == nil { setPrimitiveValue(Date(), forKey: "changedAt") }
  ///   }
  /// }
  /// ```
  ///
  /// Changes made here are saved too; the call is repeated while objects keep changing, 1000 times at most, then the
  /// save throws 134030. So compare before setting a property, or use `setPrimitiveValue(_:forKey:)`, which counts as
  /// no change. It runs before validation. The default does nothing.
  ///
  /// Use it for values that follow from others, such as a date of change. It runs for each changed object of each save,
  /// on the context's queue, so keep it short. Batch requests do not call it.
  ///
  /// Source: Apple's documentation of `willSave()`.
  open func willSave() {}

  /// Called after the save that wrote the object's changes or its deletion, before `NSManagedObjectContextDidSave` is
  /// posted. `isDeleted` is false again then, and the object of a deletion belongs to no context. Changes made here
  /// belong to the next save. The default does nothing.
  ///
  /// ```swift
  /// final class Photo: NSManagedObject {
  ///   @ManagedAttribute("path") var path: String?
  ///   private var deletedPath: String?
  ///
  ///   override func prepareForDeletion() {
  ///     super.prepareForDeletion()
  ///     deletedPath = path
  ///   }
  ///
  ///   override func didSave() {
  ///     super.didSave()
  ///     guard managedObjectContext == nil, let deletedPath else { return }
  ///     try? FileManager.default.removeItem(atPath: deletedPath)  // a file that is gone already is no error
  ///   }
  /// }
  /// ```
  ///
  /// It runs on the context's queue. In a child context it runs after the save into the parent, before the changes
  /// reach the store.
  ///
  /// A save that fails does not call it. Work that must not be lost with the process does not belong here: the process
  /// may end between the save and the call. Submit a job in the same save instead, or read the history.
  ///
  /// Source: Apple's documentation of `didSave()`.
  open func didSave() {}

  /// Called by `NSManagedObjectContext.delete(_:)`, before `isDeleted` becomes true, and for each object that a Cascade
  /// rule deletes. Relationships can still be read: delete rules apply later. A roll-back undoes the deletion without a
  /// call, so act outside the store in `didSave()`. The default does nothing.
  ///
  /// It runs on the context's queue, and again if a deletion that was undone is made anew. See `didSave()` for an
  /// example.
  ///
  /// ```swift
  /// final class Album: NSManagedObject {
  ///   @ManagedAttribute("photoCount", default: 0) var photoCount: Int
  ///
  ///   override func prepareForDeletion() {
  ///     super.prepareForDeletion()
  ///     print("deletes an album of", photoCount)  // values can still be read
  ///   }
  /// }
  /// ```
  ///
  /// A batch deletion makes no objects, so it does not call the method: work that has to happen for each deleted row
  /// belongs into a reader of the history.
  ///
  /// Source: Apple's documentation of `prepareForDeletion()`.
  open func prepareForDeletion() {}

  /// Called before a refresh drops the object's values, which can still be read. Not called when an object that the
  /// program does not retain is freed, nor by a reset. The default does nothing.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   private var observation: NSKeyValueObservation?
  ///
  ///   override func willTurnIntoFault() {
  ///     super.willTurnIntoFault()
  ///     observation?.invalidate()
  ///     observation = nil
  ///   }
  /// }
  /// ```
  ///
  /// It runs on the context's queue. Release here what was made from the object's values: it would keep the former
  /// ones. Do not change properties: the changes would be dropped at once.
  ///
  /// An object that a refresh leaves with its changes (`mergeChanges: true`) does not become a fault and gets no call;
  /// it gets `awakeFromSnapshotEvents(_:)`, as the objects of a roll-back do.
  ///
  /// What happens otherwise: an observation that stays hears of the refresh, and a handler that reads properties then
  /// fills the fault at once.
  ///
  /// Source: Apple's documentation of `willTurnIntoFault()`.
  open func willTurnIntoFault() {}

  /// Called after the object dropped its values in a refresh: for caches that depend on them. Reading a property here
  /// fills it again. The default does nothing.
  ///
  /// ```swift
  /// final class Chapter: NSManagedObject {
  ///   @ManagedAttribute("text") var text: String?
  ///   private var cachedWords: Int?
  ///
  ///   var words: Int {
  ///     if let cachedWords { return cachedWords }
  ///     let words = text?.split(separator: " ").count ?? 0
  ///     cachedWords = words
  ///     return words
  ///   }
  ///
  ///   override func didTurnIntoFault() {
  ///     super.didTurnIntoFault()
  ///     cachedWords = nil
  ///   }
  /// }
  /// ```
  ///
  /// It runs on the context's queue. Without it the cache above would keep the value from before the refresh.
  ///
  /// It comes after `willTurnIntoFault()` in the same call of `refresh(_:mergeChanges:)` or `refreshAllObjects()`,
  /// before the context posts `NSManagedObjectContextObjectsDidChange`. A merge of other contexts' saves reads an
  /// object that has values again without the two calls, and calls `awakeFromFetch()`.
  ///
  /// Source: Apple's documentation of `didTurnIntoFault()`.
  open func didTurnIntoFault() {}

  /// The property's value, nil for no value. Numbers come as NSNumber, to-many relationships as an NSMutableSet or
  /// NSMutableOrderedSet that is a copy: changing it does not change the relationship. Fires a fault.
  ///
  /// ```swift
  /// let pages = book.value(forKey: "pages") as? Int
  /// let authorsName = book.value(forKeyPath: "author.name") as? String
  /// ```
  ///
  /// A key that the entity does not have goes to `value(forUndefinedKey:)`, except "objectID", "self", "entity",
  /// "managedObjectContext" and the states such as "isInserted". Key paths, predicates in memory, sort descriptors and
  /// sections call an override; accessors and stores do not. Use `mutableSetValue(forKey:)` for a set whose changes
  /// change the relationship.
  ///
  /// It costs a look-up by name and, for numbers, a box: about 55 instructions for a name of up to 15 bytes of UTF-8,
  /// and several hundred for a longer one. Use generated accessors in loops. Call it on the context's queue.
  ///
  /// What happens otherwise: a misspelt key traps with a message that lists the entity's keys.
  ///
  /// Source: Apple's Key-Value Coding Programming Guide, "Accessing Object Properties".
  open func value(forKey key: String) -> Any? { propertyValue(forKey: key) }

  /// Sets the property's value and the inverse of a relationship, and marks the object as updated.
  ///
  /// ```swift
  /// book.setValue("Emma", forKey: "title")
  /// book.setValue(nil, forKey: "author")
  /// ```
  ///
  /// A key that the entity does not have goes to `setValue(_:forUndefinedKey:)`. A number is converted to the
  /// attribute's type. A to-many relationship takes a set, an ordered set or an array of objects. Traps for a fetched
  /// property, a value of a type that the property cannot hold, and an object of another context. Call it on the
  /// context's queue. Accessors do not call an override.
  ///
  /// It does not validate: the next save or `validateValue(_:forKey:)` checks the model's rules. Take it where the key
  /// is data, such as an import of columns, and generated accessors everywhere else.
  ///
  /// ```swift
  /// let columns: [String: Any] = ["title": "Emma", "pages": 474]
  /// for (key, value) in columns where book.entity.attributesByName[key] != nil { book.setValue(value, forKey: key) }
  /// ```
  ///
  /// Source: Apple's Key-Value Coding Programming Guide, "Accessing Object Properties".
  open func setValue(_ value: Any?, forKey key: String) { setPropertyValue(value, forKey: key) }

  /// The value for a key that the entity does not have: `value(forKey:)`, predicates in memory, sort descriptors and
  /// sections ask for computed properties by name. The default finds those that the class's `ManagedKeyPathTable`
  /// lists. Override it for others, and call super: it traps for unknown keys, where Core Data raises an exception.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   @ManagedAttribute("text") var text: String?
  ///
  ///   override func value(forUndefinedKey key: String) -> Any? {
  ///     key == "length" ? text?.count ?? 0 : super.value(forUndefinedKey: key)
  ///   }
  /// }
  /// ```
  ///
  /// It runs on the context's queue where the object is used, or where a predicate is evaluated in memory. SQL stores
  /// do not call it: a fetch whose predicate or sort descriptor names such a key throws 134070.
  ///
  /// - Parameter key: the name as the caller wrote it, one step of a key path.
  /// - Returns: the value as key-value coding has it, numbers as `NSNumber`.
  ///
  /// Source: Apple's documentation of `value(forUndefinedKey:)`.
  open func value(forUndefinedKey key: String) -> Any? {
    guard let path = KeyPathNames.keyPath(named: key, of: Self.self) else { unknownKey(key) }
    return computedValue(at: path)
  }

  /// Sets the value for a key that the entity does not have. The default traps.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   var isPinned = false
  ///
  ///   override func setValue(_ value: Any?, forUndefinedKey key: String) {
  ///     guard key == "isPinned" else { return super.setValue(value, forUndefinedKey: key) }
  ///     isPinned = value as? Bool ?? false
  ///   }
  /// }
  /// ```
  ///
  /// Override it where code sets properties that are not in the model by name. The context does not notice such a
  /// change, so the object is not marked as updated.
  ///
  /// Source: Apple's documentation of `setValue(_:forUndefinedKey:)`.
  open func setValue(_ value: Any?, forUndefinedKey key: String) { unknownKey(key) }

  /// Validates one value before a save. The default checks the model's rules and throws their errors; then it calls the
  /// class's method `validateNAME(_:)` for the property, if its `ManagedKeyPathTable` lists one.
  ///
  /// ```swift
  /// var pages: Any? = -1
  /// do { try book.validateValue(&pages, forKey: "pages") } catch { print("refused: \(error)") }
  /// ```
  ///
  /// A program may call it itself to check input. In a save an override is called for each property of a new object,
  /// and for those of a changed one that changed or have rules. Unlike on Apple's platforms a value that an override or
  /// a method puts into `value` is not stored.
  ///
  /// It reads nothing from the store if the object has its values. Call it on the context's queue. Use it in a form, to
  /// refuse a value when it is typed; the save checks the same rules.
  ///
  /// - Parameters:
  ///   - value: what would be set; numbers as `NSNumber`, a to-many relationship as a set.
  ///   - key: a property of the entity. Of a to-many relationship this checks no count: a save does. A key that the
  ///     model lacks only goes to the class's method.
  ///
  /// Source: Apple's documentation of `validateValue(_:forKey:)`.
  ///
  /// - Throws: 1570 for nil in a mandatory property, 1610 or 1620 for a number that does not fit the attribute's width,
  ///   the code that the model gives a validation predicate, or 1550; each with the object, key and value in the user
  ///   info.
  open func validateValue(_ value: inout Any?, forKey key: String) throws {
    try validateAgainstModel(value, key: key)
    try validateByMethod(&value, key: key)
  }

  /// Validates a new object before a save. Overrides call super first, and throw if the object is invalid: no object of
  /// the save is then written.
  ///
  /// ```swift
  /// final class Loan: NSManagedObject {
  ///   @ManagedAttribute("from") var from: Date?
  ///   @ManagedAttribute("until") var until: Date?
  ///
  ///   override func validateForInsert() throws {
  ///     try super.validateForInsert()
  ///     try checkPeriod()
  ///   }
  ///
  ///   override func validateForUpdate() throws {
  ///     try super.validateForUpdate()
  ///     try checkPeriod()
  ///   }
  ///
  ///   private func checkPeriod() throws {
  ///     if let from, let until, until < from { throw CocoaError(.managedObjectValidation) }
  ///   }
  /// }
  /// ```
  ///
  /// The default validates each property by its rules, mandatory values and numbers of related objects; several
  /// failures are one error 1560 with the single ones under `NSDetailedErrorsKey`. Runs after `willSave()`.
  ///
  /// Use it for rules over several properties; `validateValue(_:forKey:)` is for one property, and rules of the model
  /// need no code. It runs on the context's queue, in a child's save and in the parent's. Batch requests do not call
  /// it. The save's error lists the errors of all objects.
  ///
  /// - Throws: the error of a single failure, or 1560 with all of them. Codes: 1570 to 1590 for missing values and
  ///   numbers of related objects, 1610 to 1680 for the limits of a model, 1550 for other rules.
  ///
  /// Source: Apple's documentation of `validateForInsert()`.
  open func validateForInsert() throws { try validateProperties() }

  /// Validates a changed object before a save, as `validateForInsert()` does a new one. To-many relationships that were
  /// not changed are not read for it. Overrides call super first.
  ///
  /// ```swift
  /// final class Invoice: NSManagedObject {
  ///   @ManagedAttribute("sentAt") var sentAt: Date?
  ///
  ///   override func validateForUpdate() throws {
  ///     try super.validateForUpdate()
  ///     // A sent invoice must not change.
  ///     if committedValues(forKeys: ["sentAt"])["sentAt"] is Date { throw CocoaError(.managedObjectValidation) }
  ///   }
  /// }
  /// ```
  ///
  /// - Throws: as `validateForInsert()`.
  ///
  /// Source: Apple's documentation of `validateForUpdate()`.
  open func validateForUpdate() throws { try validateProperties() }

  /// Validates a deleted object before a save: the default throws 1600 for each Deny rule whose relationship has an
  /// object left that is not deleted too. Overrides call super first.
  ///
  /// ```swift
  /// final class Invoice: NSManagedObject {
  ///   @ManagedAttribute("sentAt") var sentAt: Date?
  ///
  ///   override func validateForDelete() throws {
  ///     try super.validateForDelete()
  ///     if sentAt != nil { throw CocoaError(.validationRelationshipDeniedDelete) }
  ///   }
  /// }
  /// ```
  ///
  /// The save then throws the error and writes nothing, and the object stays marked for deletion: call `rollback()`, or
  /// insert it again. It is not called for an object whose row is gone.
  ///
  /// - Throws: 1600, or 1560 for several Deny rules.
  ///
  /// Source: Apple's documentation of `validateForDelete()`.
  open func validateForDelete() throws { try validateDenyRules() }

  // MARK: Identity, not values

  public final override var hash: Int { Int(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }
  public final override func isEqual(_ object: Any?) -> Bool { (object as? NSManagedObject) === self }

  /// The entity, ID and state. Fires no fault.
  ///
  /// It traps on another queue with the concurrency check on, as every access does, although it reads no values: an
  /// object in the log of another thread is mostly a mistake. Log `objectID` there, which any thread may use.
  open override var description: String {
    checkQueue()
    return "<\(type(of: self)): \(layout.name) \(objectID)\(isFault ? ", fault" : "")\(isInserted ? ", inserted" : "")"
      + "\(isUpdated ? ", updated" : "")\(isDeleted ? ", deleted" : "")>"
  }
}

/// The reason why an object's values were replaced. Raw values are Apple's.
///
/// A call has exactly one of the bits. Test it with `contains(_:)`, as on Apple's platforms.
///
/// ```swift
/// final class Note: NSManagedObject {
///   var draft: String?
///
///   override func awakeFromSnapshotEvents(_ flags: NSSnapshotEventType) {
///     super.awakeFromSnapshotEvents(flags)
///     if !flags.isDisjoint(with: [.rollback, .undoUpdate]) { draft = nil }
///   }
/// }
/// ```
///
/// Source: Apple's documentation of `NSSnapshotEventType`.
public struct NSSnapshotEventType: OptionSet, Sendable {
  /// The bits, which are Apple's.
  public let rawValue: UInt
  /// Makes a set of the bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// The object's insertion was undone: it left its context.
  ///
  /// The call comes after it left, and its values can still be read.
  public static let undoInsertion = NSSnapshotEventType(rawValue: 1 << 1)
  /// The object's deletion was undone, or its insertion redone.
  ///
  /// An object whose deletion had been saved is a new one with the former values; another one is as it was.
  public static let undoDeletion = NSSnapshotEventType(rawValue: 1 << 2)
  /// A change of the object was undone or redone.
  ///
  /// The call comes once for each undo, after all of its objects have their former values.
  public static let undoUpdate = NSSnapshotEventType(rawValue: 1 << 3)
  /// The context was rolled back.
  ///
  /// Only objects with a row get the call: new ones have left the context.
  public static let rollback = NSSnapshotEventType(rawValue: 1 << 4)
  /// A refresh or a merge read the row again while the object had changes.
  ///
  /// By `refresh(_:mergeChanges:)` with true, `refreshAllObjects()`, or a merged save of another context.
  public static let refresh = NSSnapshotEventType(rawValue: 1 << 5)
  /// A merge policy resolved a conflict of the object.
  ///
  /// During a save that found another version of the row, before it tries again.
  public static let mergePolicy = NSSnapshotEventType(rawValue: 1 << 6)
}

/// Not available: managed objects stay on their context's queue. Pass `objectID` instead.
///
/// `@unchecked Sendable`: an unavailable conformance declares the opposite, that objects are not Sendable.
@available(*, unavailable)
extension NSManagedObject: @unchecked Sendable {}

/// An object's reference to its context, which does not keep the context alive. An object without a context has none,
/// or a `LooseReference`.
///
/// `@unchecked Sendable`: set on the context's queue, and cleared by the context's `deinit`, when nothing runs on the
/// queue any more.
///
/// One instance for all objects of a context, which is also how an object's membership is tested: `object.reference ===
/// graph.reference` compares two words, where asking a weak reference would cost atomic operations.
///
/// ```text
/// object ──▶ ContextReference ──▶ context      while the context lives
/// object ──▶ ContextReference ──▶ nil          after its deinit
/// ```
class ContextReference: @unchecked Sendable {
  final unowned(unsafe) var context: NSManagedObjectContext?

  init(_ context: NSManagedObjectContext?) { self.context = context }
}
