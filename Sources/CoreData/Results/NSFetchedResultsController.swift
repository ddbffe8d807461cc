/// The results of a fetch, sorted and in sections, kept up to date while their context changes.
///
/// Use it on its context's queue. It follows changes from `performFetch()` on if it has a delegate; without one the
/// results stay as that fetch found them. The controller retains the context.
///
/// ```swift
/// let request = NSFetchRequest<Book>(entityName: "Book")
/// request.sortDescriptors = [
///   NSSortDescriptor(key: "author.name", ascending: true), NSSortDescriptor(key: "title", ascending: true),
/// ]
/// let controller = NSFetchedResultsController(
///   fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "author.name", cacheName: nil)
/// controller.delegate = delegate
/// try controller.performFetch()
/// for section in controller.sections ?? [] { print(section.name, section.numberOfObjects) }
/// ```
///
/// A change of an object behind a relationship moves rows if the relationship has an inverse. A predicate that crosses
/// relationships does not notice such a change, as on Apple's platforms. With a limit or an offset each change fetches
/// again.
///
/// Keep a controller as long as its results are shown: it follows nothing once it is freed. Results that other contexts
/// and processes save appear when they are merged into its context, so set `automaticallyMergesChangesFromParent`. In a
/// private-queue context changes made by `performAndWait` appear with the next `processPendingChanges()` or save. Each
/// change costs a look at the changed objects, not at all results, unless there is a limit or an offset.
///
/// Take it for a list that has to stay right while others save. A list that is shown once needs a fetch only, and one
/// object needs `NSManagedObjectContextObjectsDidChange`. `NSManagedObjectContext.values(for:)` gives the same results
/// to an asynchronous loop, without a delegate.
///
/// What happens for one save elsewhere, until a row moves on a screen:
///
/// ```text
/// other context      save                     posts DidSave
/// this context       merge                    objects are refreshed, new faults registered
///                    the event ends           posts ObjectsDidChange
/// controller         contextDidChange         which changed objects match, which rows move
/// delegate           its methods              the screen
/// ```
///
/// Source: Apple's documentation of `NSFetchedResultsController`.
///
/// Delegates get the same object under the type `NSFetchedResultsController<any NSFetchRequestResult>`, as with
/// Objective-C's generics: compare with `===`, do not cast. Therefore no stored property and no overridable method
/// depends on `ResultType`, and the members that return results exist a second time in an extension for that type.
open class NSFetchedResultsController<ResultType>: NSObject {
  /// All state is in this class without the type parameter: the layout of the controller must not depend on
  /// `ResultType`, since delegates get it under another type (`reinterpreted`).
  final let results: FetchedResults

  /// A controller for a request. It has no results before `performFetch()`.
  ///
  /// Making it reads nothing and costs nothing. The request is kept, not copied: a change of it takes effect with the
  /// next `performFetch()`.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
  /// let controller = NSFetchedResultsController(
  ///   fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
  /// print(controller.fetchedObjects == nil)  // true: nothing was fetched yet
  /// ```
  ///
  /// Source: Apple's documentation of `init(fetchRequest:managedObjectContext:sectionNameKeyPath:cacheName:)`.
  ///
  /// - Parameters:
  ///   - fetchRequest: must have sort descriptors, an empty array at least; traps if they are nil.
  ///   - sectionNameKeyPath: the key path of an object's section name; nil makes one section. The first sort descriptor
  ///     must sort the objects by section. Use an attribute or transient attribute of the model: other Swift properties
  ///     are not found, and make `performFetch()` throw.
  ///   - name: the name of a file that caches the sections until the store changes; nil for none. Use a name for one
  ///     configuration only.
  public init(
    fetchRequest: NSFetchRequest<ResultType>, managedObjectContext context: NSManagedObjectContext,
    sectionNameKeyPath: String?, cacheName name: String?
  ) {
    require(
      fetchRequest.sortDescriptors != nil,
      "NSFetchedResultsController needs a fetch request with sort descriptors, that of "
        + "\(fetchRequest.entityName ?? "") has none.")
    results = FetchedResults(
      fetchRequest, resultClass: ResultType.self as? AnyClass, context: context, sectionNameKeyPath: sectionNameKeyPath,
      cacheName: name)
    super.init()
    results.controller = erased
  }

  /// The object to tell of changes: from the next `performFetch()` on, or at once if one was done.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
  /// let controller = NSFetchedResultsController(
  ///   fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
  /// controller.delegate = delegate
  /// try controller.performFetch()
  /// ```
  ///
  /// Weak: the program has to retain the delegate. Its methods run on the context's queue, when an event of the context
  /// ends. Default: nil, with which no change is followed and none costs anything.
  ///
  /// With nil the results stay as they are, and a delegate that is set later hears of later changes only. Call
  /// `performFetch()` after such a gap.
  ///
  /// Source: Apple's documentation of `delegate`.
  open var delegate: (any NSFetchedResultsControllerDelegate)? {
    get { results.delegate }
    set { results.delegate = newValue }
  }

  /// The request, which may be changed. Then call `deleteCache(withName:)` if there is a cache, and `performFetch()`.
  ///
  /// Changing the predicate or the order shows nothing before `performFetch()`; until then the controller follows the
  /// settings of the last fetch.
  ///
  /// Source: Apple's documentation of `fetchRequest`.
  public final var fetchRequest: NSFetchRequest<ResultType> {
    // `init` got a request of this type.
    unsafeDowncast(results.request, to: NSFetchRequest<ResultType>.self)
  }

  /// The context in which the request is fetched.
  ///
  /// The controller retains it, so its objects stay usable.
  open var managedObjectContext: NSManagedObjectContext { results.context }
  /// The key path by which objects are put into sections, as it was given; nil for one section.
  ///
  /// It cannot be changed: make another controller.
  open var sectionNameKeyPath: String? { results.sectionNameKeyPath }
  /// The name of the file that caches the sections, as it was given; nil for none.
  ///
  /// The file lies in the user's folder for caches, under the program's name: two programs do not disturb each other.
  open var cacheName: String? { results.cacheName }

  /// Fetches the results and starts to follow changes. On another thread than the context's it runs on the context's
  /// queue and waits.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
  /// let controller = NSFetchedResultsController(
  ///   fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
  /// try controller.performFetch()
  /// controller.fetchRequest.predicate = NSPredicate(format: "isRead == NO")
  /// try controller.performFetch()  // with the new predicate
  /// print(controller.fetchedObjects?.count ?? 0)
  /// ```
  ///
  /// Call it again after a change of the request. Without a limit, objects are fetched in the batches of
  /// `fetchBatchSize`.
  ///
  /// It ends the context's event first, and costs the fetch and, with sections, a reading of the section's name for
  /// each object.
  ///
  /// The delegate hears nothing of it, except one that takes snapshots, which gets the new one.
  ///
  /// Source: Apple's documentation of `performFetch()`.
  ///
  /// - Throws: the fetch's errors; 134060 if the section key path leads to no property, if an object's section does not
  ///   fit the order, or if the request was changed and the cache was not deleted.
  open func performFetch() throws {
    let context = results.context
    if context.isOnItsQueue || context.concurrencyType == .confinementConcurrencyType { return try results.fetch() }
    try context.performAndWait { try results.fetch() }
  }

  /// Removes the cache of a name; nil removes all caches of this program. Any thread.
  ///
  /// ```swift
  /// NSFetchedResultsController<Book>.deleteCache(withName: "books by author")
  /// ```
  ///
  /// Call it before the request of a controller with a cache is changed: `performFetch()` throws 134060 otherwise.
  ///
  /// The next `performFetch()` writes a new cache. A file that cannot be removed does no harm: a cache whose store has
  /// been written since is not used.
  ///
  /// Source: Apple's documentation of `deleteCache(withName:)`.
  open class func deleteCache(withName name: String?) { SectionCache.delete(name) }

  // MARK: Results

  /// The results in order; nil before the first `performFetch()`. It makes an array of all results: use `object(at:)`
  /// and `sections` to show a few.
  ///
  /// ```swift
  /// func titles(of controller: NSFetchedResultsController<Book>) -> [String] {
  ///   (controller.fetchedObjects ?? []).compactMap(\.title)
  /// }
  /// ```
  ///
  /// O(n) at the first access after a change, then O(1) until the next. With `fetchBatchSize` the objects are faults,
  /// so only those that are used are read.
  ///
  /// Source: Apple's documentation of `fetchedObjects`.
  public final var fetchedObjects: [ResultType]? { results.array(of: ResultType.self) }

  /// The result at an index path of a section and a position in it. Traps if there is none.
  ///
  /// ```swift
  /// func firstTitle(of controller: NSFetchedResultsController<Book>) -> String? {
  ///   controller.object(at: IndexPath(item: 0, section: 0)).title
  /// }
  /// ```
  ///
  /// It costs no search. With `fetchBatchSize` the first use of the object reads its batch.
  ///
  /// An index path that a delegate's method got belongs to the moment before or after the changes: use it inside of
  /// that call only.
  ///
  /// Source: Apple's documentation of `object(at:)`.
  public final func object(at indexPath: IndexPath) -> ResultType {
    // The fetch checked that all results are of the type.
    results.row(at: indexPath) as! ResultType
  }

  /// Where a result is, as section and item; nil if the object is not among the results.
  ///
  /// ```swift
  /// func show(_ book: Book, in controller: NSFetchedResultsController<Book>) {
  ///   guard let place = controller.indexPath(forObject: book) else { return }
  ///   print("section", place.section, "item", place.item)
  /// }
  /// ```
  ///
  /// The first call after a fetch makes a table of all rows, O(n); a call then costs a look-up and a search of its
  /// block of at most 512 rows.
  ///
  /// Source: Apple's documentation of `indexPath(forObject:)`.
  public final func indexPath(forObject object: ResultType) -> IndexPath? { results.indexPath(of: object as AnyObject) }

  // MARK: Sections

  /// The sections in order; nil before the first `performFetch()`. Without a section key path there is always one, even
  /// without results.
  ///
  /// ```swift
  /// func printSections(of controller: NSFetchedResultsController<Book>) {
  ///   for section in controller.sections ?? [] { print(section.name, section.numberOfObjects) }
  /// }
  /// ```
  ///
  /// A section object is valid until the next change. Names come from the objects, so a section without objects does
  /// not exist.
  ///
  /// Source: Apple's documentation of `sections`.
  open var sections: [any NSFetchedResultsSectionInfo]? { results.sections }

  /// The titles of an index of the sections, each once, in the order of the sections.
  ///
  /// ```swift
  /// func letters(of controller: NSFetchedResultsController<Book>) -> [String] {
  ///   controller.sectionIndexTitles  // ["A", "B", "D"]
  /// }
  /// ```
  ///
  /// It asks the delegate, or takes the first letter, for each section: O(sections) at each access. Empty before the
  /// first fetch.
  ///
  /// Source: Apple's documentation of `sectionIndexTitles`.
  open var sectionIndexTitles: [String] { results.sectionIndex.titles }

  /// The title of a section in the index: the delegate's, else the first letter of the name in upper case. Nil for an
  /// empty name.
  ///
  /// Override it in a subclass, or implement the delegate's method, where the first letter is not what people look for:
  /// "St. Gallen" under "Sankt".
  ///
  /// - Parameter sectionName: as `NSFetchedResultsSectionInfo.name` has it.
  ///
  /// Source: Apple's documentation of `sectionIndexTitle(forSectionName:)`.
  open func sectionIndexTitle(forSectionName sectionName: String) -> String? {
    if let delegate, let title = delegate.controller(erased, sectionIndexTitleForSectionName: sectionName) {
      return title
    }
    return sectionName.first.map { String($0).uppercased() }
  }

  /// The first section that has a title in the index. Traps if `sectionIndexTitles[sectionIndex]` is another title.
  ///
  /// ```swift
  /// func jump(to letter: Int, in controller: NSFetchedResultsController<Book>) -> IndexPath {
  ///   let title = controller.sectionIndexTitles[letter]
  ///   return IndexPath(item: 0, section: controller.section(forSectionIndexTitle: title, at: letter))
  /// }
  /// ```
  ///
  /// Several sections may share a title; the first one is meant.
  ///
  /// - Parameters:
  ///   - title: an element of `sectionIndexTitles`.
  ///   - sectionIndex: its position there.
  ///
  /// Source: Apple's documentation of `section(forSectionIndexTitle:at:)`.
  open func section(forSectionIndexTitle title: String, at sectionIndex: Int) -> Int {
    let index = results.sectionIndex
    require(
      index.titles.indices.contains(sectionIndex) && index.titles[sectionIndex] == title,
      "The section index has no title \"\(title)\" at \(sectionIndex).")
    return index.sections[sectionIndex]
  }

  /// This controller under the type that delegates know.
  private final var erased: NSFetchedResultsController<any NSFetchRequestResult> {
    // Safe because neither memory layout nor method table depends on the parameter.
    reinterpreted(self)
  }
}

/// The same object under a type that differs in its generic parameter only. A cast would check the parameter and fail.
///
/// Swift's generics are not erased: `NSFetchedResultsController<Book>` and the type that delegates know are two classes
/// to the runtime. Both have the same stored property and the same methods, so the pointer can be used as either;
/// members that return results exist for both types.
private func reinterpreted<T: AnyObject>(_ object: AnyObject) -> T {
  Unmanaged<T>.fromOpaque(Unmanaged.passUnretained(object).toOpaque()).takeUnretainedValue()
}

/// The members that return results, for controllers as delegates get them.
extension NSFetchedResultsController where ResultType == any NSFetchRequestResult {
  /// The request, which may be changed. See `fetchRequest` of the generic controller.
  public final var fetchRequest: NSFetchRequest<any NSFetchRequestResult> {
    // Safe as `erased` is.
    reinterpreted(results.request)
  }

  /// The results in order; nil before the first `performFetch()`.
  ///
  /// For delegates, which get the controller under this type.
  public final var fetchedObjects: [any NSFetchRequestResult]? { results.array(of: (any NSFetchRequestResult).self) }

  /// The result at an index path of a section and a position in it. Traps if there is none.
  ///
  /// See `object(at:)` of the generic controller.
  public final func object(at indexPath: IndexPath) -> any NSFetchRequestResult {
    // Every fetched value is of a possible result type.
    results.row(at: indexPath) as! any NSFetchRequestResult
  }

  /// The index path of a result; nil if the object is not among the results.
  ///
  /// See `indexPath(forObject:)` of the generic controller.
  public final func indexPath(forObject object: any NSFetchRequestResult) -> IndexPath? {
    results.indexPath(of: object)
  }
}
