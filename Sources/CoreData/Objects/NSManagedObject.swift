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
/// What happens otherwise: use on another queue is a data race, which `-com.apple.CoreData.ConcurrencyDebug 1` turns
/// into an end of the process with a sentence that names the object. Reading a property of a fault whose context was
/// freed ends the process; after a reset or a saved deletion a property reads as nil.
///
/// Source: Apple's documentation of `NSManagedObject`.
open class NSManagedObject: NSObject, NSFetchRequestResult {
  final let layout: EntityLayout
  /// The entity's place in the store that holds the object, or in none.
  final var storedEntity: StoredEntity {
    get { savedEntity ?? layout.temporaryEntity }
    set { savedEntity = newValue }
  }
  /// Whether both objects are of one entity of one store, or unsaved ones of one entity.
  @inline(__always)
  final func hasStoredEntity(of other: NSManagedObject) -> Bool {
    savedEntity === other.savedEntity && (savedEntity != nil || layout === other.layout)
  }
  /// The key of the object's ID; 0 before the ID is first asked for.
  final var key: Int64 = 0
  private final var identifier: NSManagedObjectID?
  private final var savedEntity: StoredEntity?
  /// The current values; nil in a fault whose row was not read.
  final var snapshot: Snapshot? {
    didSet { if !state.isDisjoint(with: .hasReadTexts) { forgetTexts() } }
  }
  /// The last fetched or saved values, while `snapshot` has changes.
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
  private final var committedSlab: RowSlab?
  private final var committedPlace: UInt16 = 0
  /// No access overlaps another one: each sets or asks for bits.
  @exclusivity(unchecked) final var state: State
  /// The object's place among the context's new, changed or deleted objects, if it is one of these.
  final var changePlace: Int32 = 0
  final var reference: ContextReference?
  /// The to-many relationships, one each; empty until the first is used.
  @exclusivity(unchecked) final var toManys: [ToMany?] = []
  /// What is kept besides the values, if anything is.
  @exclusivity(unchecked) final var attachment = Attachment.none

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
  enum Attachment {
    case none
    /// What a fetch left with this fault: its neighbours in a batch, or some of its values.
    case batch(FetchBatch)
    /// The texts of `snapshot` that were read more than once.
    case texts(ReadTexts)
  }

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
  /// Without a context it belongs nowhere until `NSManagedObjectContext.insert(_:)`, or until an object of a context
  /// refers to it. It has values and relationships before; objects without a context that refer to each other hold each
  /// other. The class should be the one that the entity names.
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
  public convenience override init() { self.init(entity: Self.entity(), insertInto: nil) }

  /// Creates an object without a context, for the context to fill. Core Data instantiates the class that a model names
  /// with it.
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
  final func ensureKey() {
    if key == 0 { key = NSManagedObjectID.nextTemporaryKey() }
  }

  @inline(never)
  private final func settleTemporaryKey() {
    ensureKey()
    // The ID of an object that was saved into a parent becomes permanent when the parent saves.
    if let context = reference?.context, context.permanentIDs.isAwaitingSome, context.isOnItsQueue {
      context.adoptPermanentIDs()
    }
  }

  /// Makes a new object a fault of a context, with its row if that was read.
  @inline(__always)
  final func arrive(
    from storedEntity: StoredEntity, key: Int64, row: consuming Snapshot?, in reference: ContextReference,
    as state: State
  ) {
    self.storedEntity = storedEntity
    self.key = key
    snapshot = consume row
    // The class's initialiser may have set values.
    if hasCommitted { committed = nil }
    self.reference = reference
    self.state = state
  }

  /// Gives the object the ID of its row.
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
  public final var entity: NSEntityDescription { layout.entity }

  /// The context that the object belongs to. Nil for an object that was made without one, after its deletion was saved,
  /// after a reset, and once the context is freed. The object does not hold it: keep the context as long as its objects
  /// are used.
  ///
  /// ```swift
  /// await book.managedObjectContext?.perform { print(book.title ?? "") }
  /// ```
  public final var managedObjectContext: NSManagedObjectContext? { reference?.context }

  /// Whether the object is new: in the context and not yet in the store.
  ///
  /// ```swift
  /// let draft = Book(context: context)
  /// print(draft.isInserted, draft.objectID.isTemporaryID)  // true true
  /// try context.save()
  /// print(draft.isInserted, draft.objectID.isTemporaryID)  // false false
  /// ```
  public final var isInserted: Bool { state.contains(.inserted) }

  /// Whether a property was set since the last fetch or save, even to an equal value; `hasPersistentChangedValues`
  /// compares. False for new and deleted objects.
  public final var isUpdated: Bool { state.contains(.updated) }

  /// Whether the next save deletes the object. False again after that save: `managedObjectContext` is nil then.
  ///
  /// ```swift
  /// context.delete(book)
  /// print(book.isDeleted)  // true
  /// try context.save()
  /// print(book.isDeleted, book.managedObjectContext == nil)  // false true
  /// ```
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
  public final var faultingState: Int { isFault ? 1 : 0 }

  /// Whether the object was inserted, updated or deleted since the last save.
  ///
  /// ```swift
  /// book.title = book.title
  /// print(book.hasChanges, book.hasPersistentChangedValues)  // true false
  /// ```
  public final var hasChanges: Bool { !state.isDisjoint(with: [.inserted, .updated, .deleted]) }

  /// The entity of the class in the models that coordinators use; if several models have one, that of the newest. Only
  /// if none of these has one, models are asked whose coordinators are gone. If there is no entity, or the model has
  /// several of the class and none with its name, the result is an empty description without a name, and a sentence on
  /// standard error says so. If models share the class, use `NSEntityDescription.entity(forEntityName:in:)` with the
  /// context instead. Any thread.
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
  @_disfavoredOverload
  open class func fetchRequest() -> NSFetchRequest<any NSFetchRequestResult> {
    NSFetchRequest<any NSFetchRequestResult>(entityName: entity().name ?? "")
  }

  /// Whether changes of properties outside the model leave the object unchanged. Always true: the context does not see
  /// such properties.
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
  /// What it sets is part of the insertion. It does not run again in the parent to which a child saves the object, nor
  /// for rows of a batch insertion. Use it for values that a model's default cannot express. The default does nothing.
  ///
  /// It runs on the context's queue, before the initialiser returns. A batch insertion makes no such call: give its
  /// rows the values themselves.
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
  /// It runs on the context's queue, once for each object that is used, so keep it short. A class that overrides it
  /// makes the first use of each object a little slower.
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
  /// - Parameter flags: which of these it was.
  open func awakeFromSnapshotEvents(_ flags: NSSnapshotEventType) {}

  /// Called before a save of the object's changes or of its deletion, of the child's save and of the parent's.
  /// Overrides call super.
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
  /// on the context's queue, so keep it short. A batch update calls none.
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
  /// It runs on the context's queue. In a child context it runs after the save into the parent, when the store has
  /// nothing of it yet.
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

  /// Called before the object drops its values in a refresh, and while it still has them. Not called when an object
  /// that nobody holds is freed, nor by a reset. The default does nothing.
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
  /// It runs on the context's queue. Release here what refers to the object's values; whatever stays keeps showing the
  /// former ones. Do not change properties: the changes would be dropped at once.
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
  /// It runs on the context's queue. Otherwise the cache shows the value from before the refresh.
  open func didTurnIntoFault() {}

  /// The property's value, which fires a fault: numbers as NSNumber, to-many relationships as an NSMutableSet or
  /// NSMutableOrderedSet of this moment, whose changes do not change the relationship, nil for no value.
  ///
  /// ```swift
  /// let pages = book.value(forKey: "pages") as? Int
  /// let authorsName = book.value(forKeyPath: "author.name") as? String
  /// ```
  ///
  /// A key that the entity does not have goes to `value(forUndefinedKey:)`, except "objectID", "self", "entity",
  /// "managedObjectContext" and the states such as "isInserted". Key paths, predicates in memory, sort descriptors and
  /// sections call an override; accessors and stores do not. Use `mutableSetValue(forKey:)` for a set whose changes
  /// change the relationship. An access by name costs a look-up that generated accessors do not need.
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
  open func value(forUndefinedKey key: String) -> Any? {
    guard let path = KeyPathNames.keyPath(named: key, of: Self.self) else { unknownKey(key) }
    return computedValue(at: path)
  }

  /// Sets the value for a key that the entity does not have. The default traps, as above.
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
  /// need no code. It runs on the context's queue, in a child's save and in the parent's. Batch requests call none. The
  /// save lists the errors of all objects.
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
  ///     // What was sent does not change any more.
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
  open override var description: String {
    checkQueue()
    return "<\(type(of: self)): \(layout.name) \(objectID)\(isFault ? ", fault" : "")\(isInserted ? ", inserted" : "")"
      + "\(isUpdated ? ", updated" : "")\(isDeleted ? ", deleted" : "")>"
  }
}

/// The reason why an object's values were replaced. Raw values are Apple's.
public struct NSSnapshotEventType: OptionSet, Sendable {
  /// The bits, which are Apple's.
  public let rawValue: UInt
  /// Makes a set of the bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// The object's insertion was undone: it left its context.
  public static let undoInsertion = NSSnapshotEventType(rawValue: 1 << 1)
  /// The object's deletion was undone, or its insertion redone.
  public static let undoDeletion = NSSnapshotEventType(rawValue: 1 << 2)
  /// A change of the object was undone or redone.
  public static let undoUpdate = NSSnapshotEventType(rawValue: 1 << 3)
  /// The context was rolled back.
  public static let rollback = NSSnapshotEventType(rawValue: 1 << 4)
  /// A refresh or a merge read the row again while the object had changes.
  public static let refresh = NSSnapshotEventType(rawValue: 1 << 5)
  /// A merge policy resolved a conflict of the object.
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
class ContextReference: @unchecked Sendable {
  final unowned(unsafe) var context: NSManagedObjectContext?

  init(_ context: NSManagedObjectContext?) { self.context = context }
}
