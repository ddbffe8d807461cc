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
/// The type parameter is the class of the results and belongs to `resultType`: `NSManagedObjectID` for IDs,
/// `NSDictionary` for dictionaries, `NSNumber` for a count. A fetch whose results are of another class throws 134070.
///
/// ```swift
/// let totals = NSFetchRequest<NSDictionary>(entityName: "Book")
/// let sum = NSExpressionDescription()
/// sum.name = "total"
/// sum.expression = NSExpression(format: "sum:(pages)")
/// sum.expressionResultType = .integer64AttributeType
/// totals.resultType = .dictionaryResultType
/// totals.propertiesToFetch = ["author.name", sum]
/// totals.propertiesToGroupBy = ["author.name"]
/// for row in try context.fetch(totals) { print(row["author.name"] ?? "", row["total"] ?? 0) }
/// ```
///
/// A request belongs to no context or thread until it is executed; do not change it on several threads at once.
/// Contradictory settings throw 134070 when it is executed.
///
/// Which result type to take: objects to show or to change them, IDs to hand them to another queue, dictionaries for
/// sums and for many rows of few columns, a count where the number is enough. Dictionaries make no objects, and IDs are
/// fetched without values.
///
/// What happens otherwise: without a limit a fetch makes an object for every row that matches, and a relationship that
/// is read for each of them costs one query each. `fetchLimit`, `fetchBatchSize` and
/// `relationshipKeyPathsForPrefetching` are there for this.
///
/// What each form of result reads and makes:
///
/// | `resultType` | type parameter | reads | makes |
/// | --- | --- | --- | --- |
/// | objects (default) | `Book` | rows | an object for each row |
/// | `.managedObjectIDResultType` | `NSManagedObjectID` | keys | an ID for each row |
/// | `.dictionaryResultType` | `NSDictionary` | the named columns | a dictionary for each row or group |
/// | `.countResultType` | `NSNumber` | nothing, if the store can count | one number, as `count(for:)` |
///
/// Source: Apple's documentation of `NSFetchRequest`.
open class NSFetchRequest<ResultType>: NSPersistentStoreRequest {
  /// A value without the type parameter, so that stores and contexts need not be generic.
  final var settings = FetchSettings()

  /// A request without an entity. Set `entity` before it is executed: a fetch without one throws 134070.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>()
  /// request.entity = Book.entity()
  /// let books = try context.fetch(request)
  /// ```
  ///
  /// Use `init(entityName:)`, which resolves the name in the model of the context that executes it.
  ///
  /// Source: Apple's documentation of `NSFetchRequest`.
  public override init() { super.init() }

  /// Fetches objects of the entity of a name, which the executing context's model resolves. A name that the model lacks
  /// makes the fetch throw 134070.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// let books = try context.fetch(request)
  /// ```
  ///
  /// The result type is part of the request's type: `NSFetchRequest<Book>` gives `[Book]`.
  ///
  /// - Parameter entityName: of an entity, which need not be a class's name.
  ///
  /// Source: Apple's documentation of `init(entityName:)`.
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
  ///
  /// ```swift
  /// let books = NSFetchRequest<Book>(entityName: "Book")
  /// let ids = NSFetchRequest<NSManagedObjectID>(books)
  /// ids.resultType = .managedObjectIDResultType
  /// ```
  ///
  /// The settings are copied: later changes of the one do not show in the other. `resultType` stays as it was, so set
  /// it if the new type needs another.
  public convenience init<Other>(_ other: NSFetchRequest<Other>) { self.init(settingsOf: other) }

  /// Makes a request with the settings of another one; the types of their results may differ.
  convenience init(settingsOf other: any AnyFetchRequest) { self.init(other.settings) }

  /// The stores to ask, each once, in this order; nil asks all that hold the entity. Default: nil. Stores that are not
  /// open in the executing context's coordinator are passed over.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.affectedStores = coordinator.persistentStore(for: url).map { [$0] }
  /// ```
  ///
  /// An unsaved new object counts for the store to which the next save writes it: the one that
  /// `assign(_:to:)` names, or the first writable one with its entity.
  ///
  /// Source: Apple's documentation of `affectedStores`.
  open override var affectedStores: [NSPersistentStore]? {
    get { settings.affectedStores }
    set { settings.affectedStores = newValue }
  }

  open override var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  /// The entity by whose name the request was last executed; it may run in contexts of several models, on any threads.
  ///
  /// It is not kept, because a request may outlive the model of the context that executed it.
  private let executedEntity = Mutex<ExecutedEntity>(ExecutedEntity())

  /// The anchor is followed only while the model is held, as `EntityAnchor` demands.
  ///
  /// `@unchecked Sendable`: an entity in use is immutable.
  private struct ExecutedEntity: @unchecked Sendable {
    weak var model: NSManagedObjectModel?
    var anchor: EntityAnchor?

    var entity: NSEntityDescription? { model.flatMap { model in withExtendedLifetime(model) { anchor?.entity } } }
  }

  /// Called when the request was executed. A request with an entity of its own keeps that.
  final func note(executed entity: NSEntityDescription?) {
    guard settings.entity == nil else { return }
    executedEntity.withLock { executed in
      if executed.anchor === entity?.anchor, executed.model != nil { return }
      executed = ExecutedEntity(model: entity?.model, anchor: entity?.anchor)
    }
  }

  /// The entity to fetch. A request that was made with a name has none before it is executed; afterwards it has the
  /// entity of the last executing context's model. Setting it sets `entityName`.
  ///
  /// Set it to an entity of the executing context's model. The stores find one of another model by its name too, but
  /// unsaved changes are compared with the description itself and would not take part.
  ///
  /// Source: Apple's documentation of `entity`.
  open var entity: NSEntityDescription? {
    get { settings.entity ?? executedEntity.withLock { $0.entity } }
    set {
      settings.entity = newValue
      settings.entityName = newValue?.name
    }
  }

  /// The name of the entity; nil before one is set.
  ///
  /// Source: Apple's documentation of `entityName`.
  open var entityName: String? { settings.entityName }

  /// Selects the objects; nil selects all. Default: nil.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Author>(entityName: "Author")
  /// request.predicate = NSPredicate(format: "ANY books.pages > %d", 500)
  /// ```
  ///
  /// SQL stores evaluate it in the database, so they take no block predicates and no transient or computed properties:
  /// the fetch throws 134070 with a sentence that names the part. A PostgreSQL store tests in memory what SQLite could
  /// evaluate and its server cannot, such as `MATCHES` with options. Stores in memory, binary and XML stores evaluate
  /// anything. A fetch index on a compared attribute spares reading the whole table.
  ///
  /// Pass what users type as an argument, `%@`, never as a part of the format. `==`, `<`, `>`, `IN` and `BEGINSWITH`
  /// can use an index; `CONTAINS`, `ENDSWITH`, and comparisons with `[c]` or `[d]` test every row.
  ///
  /// Source: Apple's documentation of `predicate`; the syntax is that of `NSPredicate(format:)`.
  open var predicate: NSPredicate? {
    get { settings.predicate }
    set {
      FoundationCompound.teach()
      settings.predicate = newValue
    }
  }

  /// The order of the results, the most significant descriptor first; nil leaves the order open. Default: nil.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.sortDescriptors = [
  ///   NSSortDescriptor(key: "author.name", ascending: true),
  ///   NSSortDescriptor(key: "title", ascending: true, selector: Selector("localizedStandardCompare:")),
  /// ]
  /// ```
  ///
  /// Nil values come first in ascending order. Strings are compared by their bytes unless the descriptor has a selector
  /// such as `localizedStandardCompare:`. SQL stores take key paths through to-one relationships, and no comparator
  /// closures (134070). Where pages are fetched with `fetchOffset`, end with a descriptor of a unique property: objects
  /// that compare equal come in no fixed order.
  ///
  /// Without sort descriptors the order may differ from one fetch to the next: do not rely on it, not even where it
  /// looks like the order of insertion. A fetched results controller traps without them.
  ///
  /// Source: Apple's documentation of `sortDescriptors`.
  open var sortDescriptors: [NSSortDescriptor]? {
    get { settings.sortDescriptors }
    set { settings.sortDescriptors = newValue }
  }

  /// The largest number of objects to fetch; 0 means all, and so does a negative number. Default: 0.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: false)]
  /// request.fetchLimit = 1
  /// let longest = try context.fetch(request).first
  /// ```
  ///
  /// The store applies it, unless the context has unsaved changes that count, has a parent, or several stores hold the
  /// entity: then all matching rows are read first.
  ///
  /// Set it wherever a program uses the first results only: the others are neither read nor made. Give sort descriptors
  /// with it: without them the store may return any of the matching objects. Set `includesPendingChanges` to false
  /// where unsaved changes do not matter and the table is large.
  ///
  /// Source: Apple's documentation of `fetchLimit`.
  open var fetchLimit: Int {
    get { settings.fetchLimit }
    set { settings.fetchLimit = max(0, newValue) }
  }

  /// The number of matching objects to skip at the beginning; a negative number means none. Default: 0.
  ///
  /// ```swift
  /// let page = NSFetchRequest<Book>(entityName: "Book")
  /// page.sortDescriptors = [
  ///   NSSortDescriptor(key: "title", ascending: true), NSSortDescriptor(key: "objectID", ascending: true),
  /// ]
  /// page.fetchLimit = 50
  /// page.fetchOffset = 100  // the third page
  /// ```
  ///
  /// The store still steps over the skipped rows: to read on from a known object of a large table, compare with its
  /// value instead, as in `title > %@`. Beyond the end the result is empty.
  ///
  /// It needs sort descriptors: without them one object may be on two pages and another on none. Rows that are written
  /// between two fetches move the later rows. The store applies it unless unsaved changes count, the context
  /// has a parent, or several stores hold the entity.
  ///
  /// Source: Apple's documentation of `fetchOffset`.
  open var fetchOffset: Int {
    get { settings.fetchOffset }
    set { settings.fetchOffset = max(0, newValue) }
  }

  /// The number of objects whose values one query reads when the first of them is used; 0 reads all with the fetch,
  /// and so does a negative number. Default: 0.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
  /// request.fetchBatchSize = 100
  /// for book in try context.fetch(request).prefix(10) { print(book.title ?? "") }  // two queries
  /// ```
  ///
  /// With a batch size the fetch reads IDs only. Use it for long lists of which few objects are looked at; a program
  /// that uses them all is faster without. The result is a plain array of faults either way, where Apple's is an array
  /// that makes its elements at their first use.
  ///
  /// Take a number a little above what is visible at once: a smaller one costs more queries, a larger one reads rows
  /// that are not shown. It has no effect on IDs, dictionaries and counts. A row that is deleted between the fetch
  /// and its batch is a missing row: see `NSManagedObjectContext.shouldDeleteInaccessibleFaults`.
  ///
  /// Source: Apple's documentation of `fetchBatchSize`.
  open var fetchBatchSize: Int {
    get { settings.fetchBatchSize }
    set { settings.fetchBatchSize = max(0, newValue) }
  }

  /// The form of the results: objects, IDs, dictionaries or a count. Default: managed objects. The request's type
  /// parameter has to fit.
  ///
  /// ```swift
  /// let request = NSFetchRequest<NSManagedObjectID>(entityName: "Book")
  /// request.resultType = .managedObjectIDResultType
  /// let ids = try context.fetch(request)
  /// await container.performBackgroundTask { context in
  ///   for id in ids { print(context.object(with: id).isFault) }
  /// }
  /// ```
  ///
  /// A type parameter that does not fit makes a fetch with results throw 134070. Dictionaries come from the stores and
  /// do not have unsaved changes; IDs and counts do, if `includesPendingChanges` is true.
  ///
  /// Source: Apple's documentation of `resultType`.
  open var resultType: NSFetchRequestResultType {
    get { settings.resultType }
    set { settings.resultType = newValue }
  }

  /// Whether objects of subentities are fetched too. Default: true. False fetches objects of exactly this entity.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.includesSubentities = false  // no entity below Book
  /// ```
  ///
  /// The SQL is a condition on the column `Z_ENT`, since a table holds an entity with its subentities: false costs
  /// nothing and saves the other rows.
  ///
  /// Source: Apple's documentation of `includesSubentities`.
  open var includesSubentities: Bool {
    get { settings.includesSubentities }
    set { settings.includesSubentities = newValue }
  }

  /// Whether the fetch reads the objects' values; false reads IDs only, and each object's first use reads its row.
  /// Default: true.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.includesPropertyValues = false
  /// for book in try context.fetch(request) { print(book.objectID) }  // needs no values
  /// ```
  ///
  /// Use it to delete objects, to count them by another property, or to know which exist. A program that reads a
  /// property of each object then costs a query for each: leave the default there. With sort descriptors or a predicate
  /// the store still reads the columns that these name.
  ///
  /// Source: Apple's documentation of `includesPropertyValues`.
  open var includesPropertyValues: Bool {
    get { settings.includesPropertyValues }
    set { settings.includesPropertyValues = newValue }
  }

  /// Whether new objects among the results are faults until they are used. Default: true.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.returnsObjectsAsFaults = false
  /// let books = try context.fetch(request)
  /// print(books.contains { $0.isFault })  // false
  /// ```
  ///
  /// The values have been read with the fetch either way, unless `includesPropertyValues` is false or there is a batch
  /// size, so filling such a fault costs no query. With false the objects wake at once (`awakeFromFetch()`), and a row
  /// that cannot be read makes the fetch throw, where a later use would end the process.
  ///
  /// Set false where a class computes something in `awakeFromFetch()` that is needed for every object, or where a
  /// failure to read must be an error of the fetch. It is no way to save queries: the default reads the same rows.
  ///
  /// Source: Apple's documentation of `returnsObjectsAsFaults`.
  open var returnsObjectsAsFaults: Bool {
    get { settings.returnsObjectsAsFaults }
    set { settings.returnsObjectsAsFaults = newValue }
  }

  /// Whether unsaved changes of the context take part: fetched objects that changed are tested again in memory, unsaved
  /// new ones are added, deleted ones left out. Default: true.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.includesPendingChanges = false
  /// let stored = try context.count(for: request)  // as the store has it
  /// ```
  ///
  /// With unsaved changes it costs a test of each changed object, and the store cannot apply limit and offset. It has
  /// no effect on dictionaries, which always come from the stores.
  ///
  /// Only objects of the fetched entity that changed themselves are tested again. `author.name == "Austen"` finds books
  /// by the stored names, also while a new name of an author is unsaved; a book with changes is tested with the name
  /// that its author has in the context.
  ///
  /// In a child context, unsaved changes of the parents take part too: the parent fetches with the same setting.
  ///
  /// Source: Apple's documentation of `includesPendingChanges`.
  open var includesPendingChanges: Bool {
    get { settings.includesPendingChanges }
    set { settings.includesPendingChanges = newValue }
  }

  /// Key paths of relationships whose objects are read too, many in one query. Default: nil.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Author>(entityName: "Author")
  /// request.relationshipKeyPathsForPrefetching = ["books"]
  /// for author in try context.fetch(request) { print(author.name ?? "", author.books?.count ?? 0) }
  /// ```
  ///
  /// Without it each object's relationship is a query of its own at its first use: a thousand authors cost a thousand
  /// and one. With it a SQLite store reads the books of 256 authors in one query, so they cost five. A path of several
  /// steps, "author.books", reads each step. Names that are no relationships are passed over. Has no effect in a
  /// context with a parent.
  ///
  /// Name the relationships that the program reads for most of the results, and no others: each named one is read for
  /// all results. The objects stay faults whose rows are in memory.
  ///
  /// Source: Apple's documentation of `relationshipKeyPathsForPrefetching`.
  open var relationshipKeyPathsForPrefetching: [String]? {
    get { settings.prefetchedKeyPaths }
    set { settings.prefetchedKeyPaths = newValue }
  }

  /// The columns of a dictionary result: names, key paths or property descriptions, an `NSExpressionDescription` for a
  /// computed one; nil for all attributes. A to-one relationship gives an object ID; a nil value has no entry in the
  /// dictionary. Default: nil.
  ///
  /// ```swift
  /// let rows = NSFetchRequest<NSDictionary>(entityName: "Book")
  /// rows.resultType = .dictionaryResultType
  /// rows.propertiesToFetch = ["title", "author.name"]
  /// for row in try context.fetch(rows) { print(row["title"] ?? "", row["author.name"] ?? "") }
  ///
  /// let titles = NSFetchRequest<Book>(entityName: "Book")
  /// titles.propertiesToFetch = ["title"]
  /// for book in try context.fetch(titles) { print(book.title ?? "") }  // the query reads this column only
  /// ```
  ///
  /// A fetch of objects gives faults that have the attributes and to-one relationships named here; reading any other
  /// property reads the whole row. It has no effect on objects if `returnsObjectsAsFaults` is false, there is a batch
  /// size, the context has a parent, or unsaved changes take part.
  ///
  /// Use it for wide rows of which few columns are needed, such as a list without its large texts. A program that then
  /// reads another property of each object costs a query for each. A name that the entity does not have throws 134070
  /// in a dictionary fetch, and is passed over in a fetch of objects.
  ///
  /// One store evaluates columns, groups and aggregates by itself. Where several stores hold the entity, all matching
  /// rows of all of them come into memory and are evaluated there, with a query for each row behind a relationship:
  /// name one store in `affectedStores` where the rows are many.
  ///
  /// Source: Apple's documentation of `propertiesToFetch`.
  open var propertiesToFetch: [Any]? {
    get { settings.propertiesToFetch }
    set { settings.propertiesToFetch = newValue }
  }

  /// Whether equal dictionaries are returned once. Default: false. Has no effect on other result types.
  ///
  /// ```swift
  /// let names = NSFetchRequest<NSDictionary>(entityName: "Book")
  /// names.resultType = .dictionaryResultType
  /// names.propertiesToFetch = ["author.name"]
  /// names.returnsDistinctResults = true
  /// ```
  ///
  /// It is `SELECT DISTINCT` over the columns of `propertiesToFetch`, so name few: rows that differ in one column are
  /// different. Grouping gives the same and can count.
  ///
  /// Source: Apple's documentation of `returnsDistinctResults`.
  open var returnsDistinctResults: Bool {
    get { settings.returnsDistinctResults }
    set { settings.returnsDistinctResults = newValue }
  }

  /// The columns by which a dictionary result is grouped: names or property descriptions. Aggregates are computed for
  /// each group. Any other result type throws 134070. Once the entity is known, the getter returns property
  /// descriptions in place of names. Default: nil.
  ///
  /// ```swift
  /// let count = NSExpressionDescription()
  /// count.name = "count"
  /// count.expression = NSExpression(format: "count:(title)")
  /// count.expressionResultType = .integer64AttributeType
  /// let request = NSFetchRequest<NSDictionary>(entityName: "Book")
  /// request.resultType = .dictionaryResultType
  /// request.propertiesToFetch = ["author.name", count]
  /// request.propertiesToGroupBy = ["author.name"]
  /// request.havingPredicate = NSPredicate(format: "count:(title) > 1")
  /// for row in try context.fetch(request) { print(row["author.name"] ?? "", row["count"] ?? 0) }
  /// ```
  ///
  /// Every other column of `propertiesToFetch` has to be an aggregate, since the rows of a group have different values:
  /// the fetch throws 134070 otherwise. A SQL database groups by itself; no row of the table comes into memory.
  ///
  /// Source: Apple's documentation of `propertiesToGroupBy`.
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

  /// Selects groups; it may use aggregates. Default: nil. Without `propertiesToGroupBy` the fetch throws 134070.
  ///
  /// See `propertiesToGroupBy` for an example. `$NAME` stands for a column of the result by its name: `$count > 1`.
  ///
  /// `predicate` selects rows before they are grouped, and is faster where both would do: a condition on a grouped
  /// column belongs there.
  ///
  /// Source: Apple's documentation of `havingPredicate`.
  open var havingPredicate: NSPredicate? {
    get { settings.havingPredicate }
    set { settings.havingPredicate = newValue }
  }

  /// Whether the fetch also refreshes fetched objects that have values already, as `refresh(_:mergeChanges:)` with true
  /// does: they get the store's present values, and unsaved changes stay. Default: false, which leaves them as they
  /// are.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.shouldRefreshRefetchedObjects = true
  /// let books = try context.fetch(request)  // with what other processes have saved
  /// ```
  ///
  /// Each object with values is reported as refreshed when the event ends, whether it changed or not. Merging the saves
  /// of other contexts (`automaticallyMergesChangesFromParent`) reports only what changed, and costs less.
  ///
  /// Source: Apple's documentation of `shouldRefreshRefetchedObjects`.
  open var shouldRefreshRefetchedObjects: Bool {
    get { settings.shouldRefreshRefetchedObjects }
    set { settings.shouldRefreshRefetchedObjects = newValue }
  }

  /// Fetches in the context whose `perform` block calls this.
  ///
  /// ```swift
  /// let titles = try context.performAndWait {
  ///   try NSFetchRequest<Book>(entityName: "Book").execute().compactMap(\.title)
  /// }
  /// ```
  ///
  /// The context is that of the innermost `perform(_:)` or `performAndWait(_:)` on this thread. Prefer
  /// `NSManagedObjectContext.fetch(_:)`, which names its context.
  ///
  /// Source: Apple's documentation of `execute()`.
  ///
  /// - Throws: 134070 outside such a block, on the main thread too, and what `fetch(_:)` throws.
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
///
/// A value: a context that takes one and changes it, such as for an offset that is applied later, leaves the request as
/// it is. Fetches, batch deletions and history requests share it.
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
  var affectedStores: [NSPersistentStore]?

  /// The properties that fetched objects have; nil for all.
  ///
  /// With `returnsObjectsAsFaults` false the objects are filled anyway. Names that the entity lacks are passed over, as
  /// on Apple's platforms.
  func partialProperties(of entity: NSEntityDescription) -> Set<String>? {
    guard returnsObjectsAsFaults, let propertiesToFetch, !propertiesToFetch.isEmpty else { return nil }
    let names = propertiesToFetch.compactMap { $0 as? String ?? ($0 as? NSPropertyDescription)?.name }
    let propertyNames = Set(names).intersection(entity.propertiesByName.keys)
    return propertyNames.isEmpty ? nil : propertyNames
  }

  /// Throws 134070 for settings that contradict each other.
  ///
  /// Called by the context before any store is asked, so that all stores refuse the same.
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
///
/// Without Objective-C `NSFetchRequest<Book>` and `NSFetchRequest<any NSFetchRequestResult>` are unrelated classes:
/// code for all of them takes this, and makes a request of its own type by `init(settingsOf:)`.
protocol AnyFetchRequest: NSPersistentStoreRequest {
  var settings: FetchSettings { get }
}

extension NSFetchRequest: AnyFetchRequest {}
