/// The results of a fetch, in order and in sections, kept up to date while their context changes.
///
/// Belongs to its context's queue, as the objects do. Results are tracked from `performFetch()` on as long as there is a delegate;
/// without one they stay what that fetch gave.
///
/// Source: Apple's documentation of `NSFetchedResultsController`.
///
/// Delegates get the controller as one of `any NSFetchRequestResult`: the same object under another type, as with
/// Objective-C's generics. So nothing stored and nothing overridable here depends on `ResultType`, and whatever gives results
/// stands a second time in an extension for that type.
open class NSFetchedResultsController<ResultType>: NSObject {
  final let results: FetchedResults

  /// - Parameters:
  ///   - fetchRequest: needs a sort descriptor; traps without.
  ///   - sectionNameKeyPath: what gives the name of an object's section; nil for one section. The first sort descriptor has to
  ///     put objects into the order of their sections.
  ///   - name: of the file that keeps the sections until the store changes; nil for none. One for each configuration.
  public init(
    fetchRequest: NSFetchRequest<ResultType>, managedObjectContext context: NSManagedObjectContext,
    sectionNameKeyPath: String?, cacheName name: String?
  ) {
    require(
      !(fetchRequest.sortDescriptors ?? []).isEmpty,
      "NSFetchedResultsController needs a fetch request with sort descriptors, that of \(fetchRequest.entityName ?? "") has none."
    )
    results = FetchedResults(
      fetchRequest, resultClass: ResultType.self as? AnyClass, context: context, sectionNameKeyPath: sectionNameKeyPath,
      cacheName: name)
    super.init()
    results.controller = erased
  }

  /// Hears of changes from the next `performFetch()` on, or from now on if that was done.
  ///
  /// Not kept alive.
  open var delegate: (any NSFetchedResultsControllerDelegate)? {
    get { results.delegate }
    set { results.delegate = newValue }
  }

  /// What to fetch. After a change of it, and `deleteCache(withName:)` where there is a cache, call `performFetch()`.
  public final var fetchRequest: NSFetchRequest<ResultType> {
    // It is the one that init got.
    unsafeDowncast(results.request, to: NSFetchRequest<ResultType>.self)
  }

  open var managedObjectContext: NSManagedObjectContext { results.context }
  open var sectionNameKeyPath: String? { results.sectionNameKeyPath }
  open var cacheName: String? { results.cacheName }

  /// Fetches; the delegate hears nothing of it. Called elsewhere than on the context's queue it goes there and waits.
  ///
  /// Throws the fetch's errors, 134060 where an object's section does not fit the order of the others, and 134060 where the
  /// request was changed and the cache was not deleted.
  open func performFetch() throws {
    let context = results.context
    if context.isOnItsQueue || context.concurrencyType == .confinementConcurrencyType { return try results.fetch() }
    try context.performAndWait { try results.fetch() }
  }

  /// Removes the cache of the name, or all of this program for nil.
  open class func deleteCache(withName name: String?) { SectionCache.delete(name) }

  // MARK: Results

  /// The results in order; nil before the first `performFetch()`.
  public final var fetchedObjects: [ResultType]? { results.array(of: ResultType.self) }

  /// The result at a section and a position in it. Traps where there is none.
  public final func object(at indexPath: IndexPath) -> ResultType {
    // The fetch has seen to it that results are of the type.
    results.row(at: indexPath) as! ResultType
  }

  /// Where the object is; nil if it is not among the results.
  public final func indexPath(forObject object: ResultType) -> IndexPath? { results.indexPath(of: object as AnyObject) }

  // MARK: Sections

  /// The sections in order; nil before the first `performFetch()`. Without a key path there is one, also without results.
  open var sections: [any NSFetchedResultsSectionInfo]? { results.sections }

  /// The titles for an index of the sections, each once.
  open var sectionIndexTitles: [String] { results.sectionIndex.titles }

  /// The title of a section in the index: what the delegate says, else the name's first letter in upper case.
  open func sectionIndexTitle(forSectionName sectionName: String) -> String? {
    if let delegate, let title = delegate.controller(erased, sectionIndexTitleForSectionName: sectionName) {
      return title
    }
    return sectionName.first.map { String($0).uppercased() }
  }

  /// The first section of a title in the index. Traps where `sectionIndexTitles` has another title there.
  open func section(forSectionIndexTitle title: String, at sectionIndex: Int) -> Int {
    let index = results.sectionIndex
    require(
      index.titles.indices.contains(sectionIndex) && index.titles[sectionIndex] == title,
      "The section index has no title \"\(title)\" at \(sectionIndex).")
    return index.sections[sectionIndex]
  }

  /// This object under the type that delegates know.
  private final var erased: NSFetchedResultsController<any NSFetchRequestResult> {
    // See above: nothing of the object's memory or method table depends on the parameter.
    reinterpreted(self)
  }
}

/// The same object under a type that differs in its generic parameter only. Casts, checked or not, would ask for the parameter.
private func reinterpreted<T: AnyObject>(_ object: AnyObject) -> T {
  Unmanaged<T>.fromOpaque(Unmanaged.passUnretained(object).toOpaque()).takeUnretainedValue()
}

/// What gives results, for controllers as delegates get them.
extension NSFetchedResultsController where ResultType == any NSFetchRequestResult {
  public final var fetchRequest: NSFetchRequest<any NSFetchRequestResult> {
    // As with the controller itself.
    reinterpreted(results.request)
  }

  public final var fetchedObjects: [any NSFetchRequestResult]? { results.array(of: (any NSFetchRequestResult).self) }

  public final func object(at indexPath: IndexPath) -> any NSFetchRequestResult {
    // Nothing else can be fetched.
    results.row(at: indexPath) as! any NSFetchRequestResult
  }

  public final func indexPath(forObject object: any NSFetchRequestResult) -> IndexPath? {
    results.indexPath(of: object)
  }
}
