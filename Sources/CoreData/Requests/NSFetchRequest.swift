/// Which objects of an entity to fetch, in which order and form.
///
/// Source: Apple's documentation of `NSFetchRequest`.
open class NSFetchRequest<ResultType>: NSPersistentStoreRequest {
  final var settings = FetchSettings()

  public override init() { super.init() }

  public init(entityName: String) {
    super.init()
    settings.entityName = entityName
  }

  open override var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  /// The entity to fetch; found by `entityName` in the context's model where it is not set.
  open var entity: NSEntityDescription? {
    get { settings.entity }
    set {
      settings.entity = newValue
      settings.entityName = newValue?.name
    }
  }

  open var entityName: String? { settings.entityName }

  /// Which objects; nil for all.
  open var predicate: NSPredicate? {
    get { settings.predicate }
    set { settings.predicate = newValue }
  }

  open var sortDescriptors: [NSSortDescriptor]? {
    get { settings.sortDescriptors }
    set { settings.sortDescriptors = newValue }
  }

  /// The most objects to fetch; 0 for all.
  open var fetchLimit: Int {
    get { settings.fetchLimit }
    set { settings.fetchLimit = newValue }
  }

  /// How many matching objects to leave out at the beginning.
  open var fetchOffset: Int {
    get { settings.fetchOffset }
    set { settings.fetchOffset = newValue }
  }

  /// How many objects to fill at once when one of the results is first used; 0 to fill all with the fetch.
  open var fetchBatchSize: Int {
    get { settings.fetchBatchSize }
    set { settings.fetchBatchSize = newValue }
  }

  /// Default: managed objects.
  open var resultType: NSFetchRequestResultType {
    get { settings.resultType }
    set { settings.resultType = newValue }
  }

  /// Whether objects of sub-entities count. Default: true.
  open var includesSubentities: Bool {
    get { settings.includesSubentities }
    set { settings.includesSubentities = newValue }
  }

  /// Whether the values are read with the fetch. Default: true.
  open var includesPropertyValues: Bool {
    get { settings.includesPropertyValues }
    set { settings.includesPropertyValues = newValue }
  }

  /// Whether results stay faults, whose firing costs nothing, until they are used. Default: true.
  open var returnsObjectsAsFaults: Bool {
    get { settings.returnsObjectsAsFaults }
    set { settings.returnsObjectsAsFaults = newValue }
  }

  /// Whether what is changed in the context and not saved counts. Default: true.
  open var includesPendingChanges: Bool {
    get { settings.includesPendingChanges }
    set { settings.includesPendingChanges = newValue }
  }

  /// Relationships to load along, each by one query for all results.
  open var relationshipKeyPathsForPrefetching: [String]? {
    get { settings.prefetchedKeyPaths }
    set { settings.prefetchedKeyPaths = newValue }
  }

  /// Columns of a dictionary result: names or property descriptions; nil for all attributes.
  ///
  /// Managed objects come as faults that have the attributes and to-one relationships named here; reading any other property reads the
  /// whole row. Where `returnsObjectsAsFaults` is false, there is a batch size, the context has a parent, or it has changes that are to
  /// be included, this has no effect on objects.
  open var propertiesToFetch: [Any]? {
    get { settings.propertiesToFetch }
    set { settings.propertiesToFetch = newValue }
  }

  /// Whether equal dictionaries come once. Default: false.
  open var returnsDistinctResults: Bool {
    get { settings.returnsDistinctResults }
    set { settings.returnsDistinctResults = newValue }
  }

  open var propertiesToGroupBy: [Any]? {
    get { settings.propertiesToGroupBy }
    set { settings.propertiesToGroupBy = newValue }
  }

  open var havingPredicate: NSPredicate? {
    get { settings.havingPredicate }
    set { settings.havingPredicate = newValue }
  }

  /// Kept and without effect: objects whose values were read stay as they are, as on Apple's platforms. Use
  /// `refresh(_:mergeChanges:)`. Default: false.
  open var shouldRefreshRefetchedObjects: Bool {
    get { settings.shouldRefreshRefetchedObjects }
    set { settings.shouldRefreshRefetchedObjects = newValue }
  }

  /// Fetches in the context whose `perform` block this is called from.
  open func execute() throws -> [ResultType] {
    guard let context = PerformScope.currentContext else {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "NSFetchRequest.execute() was called outside a context's perform block.")
    }
    return try context.fetch(self)
  }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSFetchRequest<ResultType>()
    copy.settings = settings
    copy.affectedStores = affectedStores
    return copy
  }
}

/// What a fetch request says, without its result type.
struct FetchSettings {
  var entity: NSEntityDescription?
  var entityName: String?
  var predicate: NSPredicate?
  var sortDescriptors: [NSSortDescriptor]?
  var fetchLimit = 0
  var fetchOffset = 0
  var fetchBatchSize = 0
  var resultType: NSFetchRequestResultType = .managedObjectResultType
  var includesSubentities = true
  var includesPropertyValues = true
  var returnsObjectsAsFaults = true
  var includesPendingChanges = true
  var prefetchedKeyPaths: [String]?
  var propertiesToFetch: [Any]?
  var returnsDistinctResults = false
  var propertiesToGroupBy: [Any]?
  var havingPredicate: NSPredicate?
  var shouldRefreshRefetchedObjects = false

  /// The properties that objects are to have; nil for all.
  func partialProperties(of entity: NSEntityDescription) -> Set<String>? {
    guard returnsObjectsAsFaults, let propertiesToFetch, !propertiesToFetch.isEmpty else { return nil }
    let names = propertiesToFetch.compactMap { $0 as? String ?? ($0 as? NSPropertyDescription)?.name }
    let known = Set(names).intersection(entity.propertiesByName.keys)
    return known.isEmpty ? nil : known
  }

  /// Throws for settings that contradict each other.
  func check() throws {
    let isGrouped = !(propertiesToGroupBy ?? []).isEmpty
    if isGrouped && resultType != .dictionaryResultType {
      throw CoreDataErrors.error(
        .persistentStoreOperation,
        "The fetch of \(entityName ?? "") groups its results, which only dictionaries can be.")
    }
    if havingPredicate != nil && !isGrouped {
      throw CoreDataErrors.error(
        .persistentStoreOperation,
        "The fetch of \(entityName ?? "") has a havingPredicate and no propertiesToGroupBy that it could be about.")
    }
  }
}

/// A fetch request whatever its result type.
protocol AnyFetchRequest: NSPersistentStoreRequest {
  var settings: FetchSettings { get }
}

extension NSFetchRequest: AnyFetchRequest {}
