internal import Synchronization

/// Selects objects of one entity, and says in which order and form to return them.
///
/// ```swift
/// let request = NSFetchRequest<Book>(entityName: "Book")
/// request.predicate = NSPredicate(format: "author.name == %@ AND pages > %d", "Jane Austen", 200)
/// request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
/// request.fetchLimit = 20
/// request.relationshipKeyPathsForPrefetching = ["author"]
/// let books = try context.fetch(request)
/// ```
///
/// A request belongs to no context or thread until it is executed; do not change it on several threads at once.
/// Contradictory settings throw 134070 when it is executed.
///
/// Source: Apple's documentation of `NSFetchRequest`.
open class NSFetchRequest<ResultType>: NSPersistentStoreRequest {
  final var settings = FetchSettings()

  public override init() { super.init() }

  /// Fetches objects of the entity of a name, which the executing context's model resolves.
  public init(entityName: String) {
    super.init()
    settings.entityName = entityName
  }

  /// Makes a request with these settings.
  convenience init(_ settings: FetchSettings) {
    self.init()
    self.settings = settings
  }

  /// A new request with the settings of another one, and another type of results. An addition to Apple's API, where a
  /// cast does this: here `NSFetchRequest<Person>` and `NSFetchRequest<any NSFetchRequestResult>` are unrelated.
  public convenience init<Other>(_ other: NSFetchRequest<Other>) { self.init(settingsOf: other) }

  /// Makes a request with the settings of another one; the types of their results may differ.
  convenience init(settingsOf other: any AnyFetchRequest) {
    self.init(other.settings)
    affectedStores = other.affectedStores
  }

  open override var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  /// The entity by whose name the request was last executed; it may run in contexts of several models, on any threads.
  private let executedEntity = Mutex<WeakEntity>(WeakEntity())

  /// `@unchecked Sendable`: an entity in use is immutable.
  private struct WeakEntity: @unchecked Sendable { weak var entity: NSEntityDescription? }

  /// Called when the request was executed by its name.
  final func note(executed entity: NSEntityDescription?) {
    guard settings.entity == nil else { return }
    executedEntity.withLock { if $0.entity !== entity { $0.entity = entity } }
  }

  /// The entity to fetch. A request that was made with a name has none before it is executed; then it has that of the
  /// last context's model. Setting it sets `entityName`.
  open var entity: NSEntityDescription? {
    get { settings.entity ?? executedEntity.withLock { $0.entity } }
    set {
      settings.entity = newValue
      settings.entityName = newValue?.name
    }
  }

  /// The name of the entity; nil before one is set.
  open var entityName: String? { settings.entityName }

  /// Selects the objects; nil selects all. SQLite stores take no block predicates. Default: nil.
  open var predicate: NSPredicate? {
    get { settings.predicate }
    set {
      FoundationCompound.teach()
      settings.predicate = newValue
    }
  }

  /// The order of the results, the most significant descriptor first; nil leaves the order open. SQLite stores take no
  /// comparator blocks. Default: nil.
  open var sortDescriptors: [NSSortDescriptor]? {
    get { settings.sortDescriptors }
    set { settings.sortDescriptors = newValue }
  }

  /// The largest number of objects to fetch; 0 means all, and so does a negative number. Default: 0.
  open var fetchLimit: Int {
    get { settings.fetchLimit }
    set { settings.fetchLimit = max(0, newValue) }
  }

  /// The number of matching objects to skip at the beginning; a negative number means none. Default: 0.
  open var fetchOffset: Int {
    get { settings.fetchOffset }
    set { settings.fetchOffset = max(0, newValue) }
  }

  /// The number of objects whose values one query reads when the first of them is used; 0 reads all with the fetch. The
  /// result is a plain array of faults either way. Default: 0.
  open var fetchBatchSize: Int {
    get { settings.fetchBatchSize }
    set { settings.fetchBatchSize = newValue }
  }

  /// The form of the results: objects, IDs, dictionaries or a count. Default: managed objects.
  open var resultType: NSFetchRequestResultType {
    get { settings.resultType }
    set { settings.resultType = newValue }
  }

  /// Whether objects of subentities are fetched too. Default: true.
  open var includesSubentities: Bool {
    get { settings.includesSubentities }
    set { settings.includesSubentities = newValue }
  }

  /// Whether the fetch reads the objects' values; false reads IDs only. Default: true.
  open var includesPropertyValues: Bool {
    get { settings.includesPropertyValues }
    set { settings.includesPropertyValues = newValue }
  }

  /// Whether new objects among the results are faults until they are used. Their values are cached by then, so filling
  /// one costs no query. Default: true.
  open var returnsObjectsAsFaults: Bool {
    get { settings.returnsObjectsAsFaults }
    set { settings.returnsObjectsAsFaults = newValue }
  }

  /// Whether unsaved changes of the context take part: fetched objects are tested again and unsaved new ones are added.
  /// Has no effect on dictionaries. Default: true.
  open var includesPendingChanges: Bool {
    get { settings.includesPendingChanges }
    set { settings.includesPendingChanges = newValue }
  }

  /// Key paths of relationships whose objects are read too, with one query for each step and all results. Default: nil.
  open var relationshipKeyPathsForPrefetching: [String]? {
    get { settings.prefetchedKeyPaths }
    set { settings.prefetchedKeyPaths = newValue }
  }

  /// The columns of a dictionary result: names, key paths or property descriptions; nil for all attributes. A to-one
  /// relationship gives an object ID.
  ///
  /// A fetch of objects gives faults that have the attributes and to-one relationships named here; reading any other
  /// property reads the whole row. It has no effect on objects if `returnsObjectsAsFaults` is false, there is a batch
  /// size, the context has a parent, or unsaved changes take part.
  open var propertiesToFetch: [Any]? {
    get { settings.propertiesToFetch }
    set { settings.propertiesToFetch = newValue }
  }

  /// Whether equal dictionaries are returned once. Default: false.
  open var returnsDistinctResults: Bool {
    get { settings.returnsDistinctResults }
    set { settings.returnsDistinctResults = newValue }
  }

  /// The columns by which a dictionary result is grouped: names or property descriptions. Aggregates are computed for
  /// each group. Any other result type throws 134070. Names are read as descriptions once the entity is known. Default:
  /// nil.
  open var propertiesToGroupBy: [Any]? {
    get {
      guard let entity else { return settings.propertiesToGroupBy }
      let properties = entity.propertiesByName
      return settings.propertiesToGroupBy?.map { property in
        (property as? String).flatMap { properties[$0] } ?? property
      }
    }
    set { settings.propertiesToGroupBy = newValue }
  }

  /// Selects groups; it may use aggregates. Without `propertiesToGroupBy` it throws 134070. Default: nil.
  open var havingPredicate: NSPredicate? {
    get { settings.havingPredicate }
    set { settings.havingPredicate = newValue }
  }

  /// Whether objects whose values were read get those that the store has now, as by `refresh(_:mergeChanges:)` with
  /// `mergeChanges`: unsaved changes stay. Otherwise they stay as they are. Default: false.
  open var shouldRefreshRefetchedObjects: Bool {
    get { settings.shouldRefreshRefetchedObjects }
    set { settings.shouldRefreshRefetchedObjects = newValue }
  }

  /// Fetches in the context whose `perform` block calls this. Throws 134070 outside such a block, and the fetch's
  /// errors.
  open func execute() throws -> [ResultType] {
    guard let context = PerformScope.currentContext else {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "NSFetchRequest.execute() was called outside a context's perform block.")
    }
    return try context.fetch(self)
  }

  open override func copy(with zone: NSZone? = nil) -> Any {
    NSFetchRequest<ResultType>(settingsOf: self)
  }
}

/// The settings of a fetch request, without its result type.
package struct FetchSettings {
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
  package var propertiesToFetch: [Any]?
  var returnsDistinctResults = false
  package var propertiesToGroupBy: [Any]?
  package var havingPredicate: NSPredicate?
  var shouldRefreshRefetchedObjects = false

  /// The properties that fetched objects have; nil for all.
  func partialProperties(of entity: NSEntityDescription) -> Set<String>? {
    guard returnsObjectsAsFaults, let propertiesToFetch, !propertiesToFetch.isEmpty else { return nil }
    let names = propertiesToFetch.compactMap { $0 as? String ?? ($0 as? NSPropertyDescription)?.name }
    let known = Set(names).intersection(entity.propertiesByName.keys)
    return known.isEmpty ? nil : known
  }

  /// Throws 134070 for settings that contradict each other.
  func check() throws {
    let isGrouped = !(propertiesToGroupBy ?? []).isEmpty
    if isGrouped && resultType != .dictionaryResultType {
      throw CoreDataErrors.error(
        .persistentStoreOperation,
        "The fetch of \(entityName ?? "") groups its results, and only dictionaries can be grouped: "
          + "set resultType to dictionaryResultType.")
    }
    if havingPredicate != nil && !isGrouped {
      throw CoreDataErrors.error(
        .persistentStoreOperation,
        "The fetch of \(entityName ?? "") has a havingPredicate and no propertiesToGroupBy, which it needs.")
    }
  }
}

/// A fetch request of any result type.
protocol AnyFetchRequest: NSPersistentStoreRequest {
  var settings: FetchSettings { get }
}

extension NSFetchRequest: AnyFetchRequest {}
