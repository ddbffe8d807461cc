/// An object of a context: one row of a store, or one that is not saved yet.
///
/// Belongs to its context and is used on that context's queue only; what crosses queues is `objectID`. A clean object
/// that nobody else holds may leave its context at any time.
///
/// Source: Apple's documentation of `NSManagedObject`.
open class NSManagedObject: NSObject, NSFetchRequestResult {
  final let layout: EntityLayout
  /// The entity in the store that holds the object, or in none.
  final var home: EntityHome {
    get { savedHome ?? layout.temporaryHome }
    set { savedHome = newValue }
  }
  /// The key of the object's ID; 0 while it has none. IDs are made when they are asked for.
  final var key: Int64 = 0
  private final var identifier: NSManagedObjectID?
  private final var savedHome: EntityHome?
  /// The values as they are now; nil in a fault whose row has not been read.
  final var snapshot: Snapshot? { didSet { slots = snapshot?.slots } }
  /// The slots of `snapshot`.
  final private(set) var slots: UnsafeMutablePointer<SnapshotSlot>?
  /// The values as last fetched or saved, while `snapshot` holds changes.
  final var committed: Snapshot?
  final var state: State
  final var reference: ContextReference?
  /// One for each to-many relationship; empty until the first is touched.
  final var toManys: [ToMany?] = []
  /// What a fetch left with this fault: its neighbours in a batch, or some of its values.
  final var batch: FetchBatch?

  struct State: OptionSet {
    let rawValue: UInt16
    /// The next access to a property must first fill or check something.
    static let fault = State(rawValue: 1 << 0)
    /// Accesses are checked for the right queue.
    static let isChecked = State(rawValue: 1 << 1)
    static let inserted = State(rawValue: 1 << 2)
    static let updated = State(rawValue: 1 << 3)
    static let deleted = State(rawValue: 1 << 4)
    /// `snapshot` is this object's own and may be written.
    static let ownsSnapshot = State(rawValue: 1 << 5)
    /// Changes are not recorded: `awakeFromFetch` runs, or a row is being put in.
    static let isQuiet = State(rawValue: 1 << 6)
    /// Was deleted and saved, or its row turned out to be missing.
    static let gone = State(rawValue: 1 << 7)
    /// Made without a context: the first access gives it default values.
    static let unborn = State(rawValue: 1 << 8)
    /// The current event has noted a change of this object.
    static let isNoted = State(rawValue: 1 << 9)
    /// Somebody may observe a property of this object.
    static let isObserved = State(rawValue: 1 << 10)
  }

  /// Makes an object of an entity and puts it into a context, as a new object with the model's default values; without
  /// a context it belongs nowhere until `NSManagedObjectContext.insert(_:)`.
  public init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    layout = entity.layout
    state = [.fault, .unborn]
    super.init()
    context?.insert(self)
  }

  /// Makes a new object of the entity whose class this is, in the model of the context.
  public required convenience init(context: NSManagedObjectContext) {
    guard let entity = context.entity(for: Self.self) else {
      fatalError("No entity of the context's model has the class \(Self.self).")
    }
    self.init(entity: entity, insertInto: context)
  }

  /// Makes an object without a context for the context to fill: how Core Data instantiates the class that a model
  /// names.
  public required convenience init(unborn entity: NSEntityDescription) {
    self.init(entity: entity, insertInto: nil)
  }

  // MARK: Identity and state

  /// The object's identity; temporary until it is saved.
  public final var objectID: NSManagedObjectID {
    if let identifier {
      if identifier.key > 0 { return identifier }
      // The ID of an object that was saved into a parent becomes permanent with the parent's own save.
      if let context = reference?.context, context.permanentIDs.isAwaitingSome, context.isOnItsQueue {
        context.adoptPermanentIDs()
      }
      return self.identifier ?? identifier
    }
    if key == 0 { key = NSManagedObjectID.nextTemporaryKey() }
    let made = NSManagedObjectID(home: home, key: key)
    identifier = made
    return made
  }

  /// Gives the object another identity: that of its row.
  final func become(_ id: NSManagedObjectID) {
    identifier = id
    home = id.home
    key = id.key
  }

  /// The entity of the object itself, also where it was fetched through a parent entity.
  public final var entity: NSEntityDescription { layout.entity }

  /// The context that the object belongs to; nil after its deletion was saved, or when the context is gone.
  public final var managedObjectContext: NSManagedObjectContext? { reference?.context }

  /// In the context but not in the store.
  public final var isInserted: Bool { state.contains(.inserted) }

  /// Changed since it was fetched or saved.
  public final var isUpdated: Bool { state.contains(.updated) }

  /// To be deleted by the next save.
  public final var isDeleted: Bool { state.contains(.deleted) }

  /// Whether the object's values have yet to be asked for.
  public final var isFault: Bool { state.contains(.fault) && !state.contains(.unborn) }

  /// 0 for an object with values, and something else for a fault.
  public final var faultingState: Int { isFault ? 1 : 0 }

  /// Inserted, changed or deleted since the last save.
  public final var hasChanges: Bool { !state.isDisjoint(with: [.inserted, .updated, .deleted]) }

  /// The entity of the class in the models that are in use. Traps where there is none or several.
  open class func entity() -> NSEntityDescription {
    guard let entity = LoadedModels.entity(for: self) else {
      fatalError("No model in use, or more than one, has an entity of the class \(self).")
    }
    return entity
  }

  /// A fetch request for the class's entity.
  @_disfavoredOverload
  open class func fetchRequest() -> NSFetchRequest<any NSFetchRequestResult> {
    NSFetchRequest<any NSFetchRequestResult>(entityName: entity().name ?? "")
  }

  /// Whether a change of a property that the model does not have leaves the object unchanged: always true, since such
  /// properties are no concern of the context here.
  open class var contextShouldIgnoreUnmodeledPropertyChanges: Bool { true }

  // MARK: For subclasses

  /// Called once, when the object is made in a context, after the default values are set. Call super.
  open func awakeFromInsert() {}

  /// Called each time the object's values come from the store. Changes made here are not recorded. Call super.
  open func awakeFromFetch() {}

  /// Called after the object's values were replaced by something other than a fetch. Changes made here are not
  /// recorded. Call super.
  open func awakeFromSnapshotEvents(_ flags: NSSnapshotEventType) {}

  /// Called before the object is saved or its deletion is; changes made here are saved too.
  open func willSave() {}

  /// Called after the save.
  open func didSave() {}

  /// Called by `NSManagedObjectContext.delete(_:)`, before the object counts as deleted.
  open func prepareForDeletion() {}

  /// Called before the object gives up its values.
  open func willTurnIntoFault() {}

  /// Called after the object gave up its values.
  open func didTurnIntoFault() {}

  /// Throws if a value is not one that the property may be saved with. The default asks the model. `value` may be
  /// replaced.
  open func validateValue(_ value: inout Any?, forKey key: String) throws {
    try validateAgainstModel(value, key: key)
  }

  /// Throws if the object cannot be saved as a new one. Overrides call super first.
  open func validateForInsert() throws { try validateProperties() }

  /// Throws if the object's changes cannot be saved. Overrides call super first.
  open func validateForUpdate() throws { try validateProperties() }

  /// Throws if the object cannot be deleted. Overrides call super first.
  open func validateForDelete() throws { try validateDenyRules() }

  // MARK: Identity, not values

  public final override var hash: Int { Int(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }
  public final override func isEqual(_ object: Any?) -> Bool { (object as AnyObject?) === self }

  /// Entity, ID and state; never fires a fault.
  open override var description: String {
    checkQueue()
    return "<\(type(of: self)): \(layout.name) \(objectID)\(isFault ? ", fault" : "")\(isInserted ? ", inserted" : "")"
      + "\(isUpdated ? ", updated" : "")\(isDeleted ? ", deleted" : "")>"
  }
}

/// Why an object's values were replaced. Raw values are Apple's.
public struct NSSnapshotEventType: OptionSet, Sendable {
  /// The bits, which are Apple's.
  public let rawValue: UInt
  /// Makes a set of the bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// The object's insertion was undone: it is in its context no more.
  public static let undoInsertion = NSSnapshotEventType(rawValue: 1 << 1)
  /// The object's deletion was undone, or its insertion redone.
  public static let undoDeletion = NSSnapshotEventType(rawValue: 1 << 2)
  /// A change of the object was undone or redone.
  public static let undoUpdate = NSSnapshotEventType(rawValue: 1 << 3)
  /// The context was rolled back.
  public static let rollback = NSSnapshotEventType(rawValue: 1 << 4)
  /// Its row was read anew, by a refresh or a merge, while it had changes.
  public static let refresh = NSSnapshotEventType(rawValue: 1 << 5)
  /// A merge policy resolved a conflict of the object.
  public static let mergePolicy = NSSnapshotEventType(rawValue: 1 << 6)
}

/// Managed objects stay on their context's queue: hand over `objectID`.
@available(*, unavailable)
extension NSManagedObject: @unchecked Sendable {}

/// The tie from an object to its context, which does not keep the context alive.
///
/// `@unchecked Sendable`: set on the context's queue; cleared by the context's `deinit`, when nothing runs on it any
/// more.
final class ContextReference: @unchecked Sendable {
  unowned(unsafe) var context: NSManagedObjectContext?

  init(_ context: NSManagedObjectContext?) { self.context = context }
}
