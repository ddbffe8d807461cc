/// Fetched results and objects as asynchronous sequences.
///
/// Three forms: values of many objects for any context, the objects themselves for the main actor, and the value of one
/// object. All follow the context, not the store: saves of other contexts appear when they are merged.
extension NSManagedObjectContext {
  /// The results of a request, now and after each change that touches them. An addition to Apple's API.
  ///
  /// ```swift
  /// container.viewContext.automaticallyMergesChangesFromParent = true
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.predicate = NSPredicate(format: "isRead == NO")
  /// request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
  /// let unread = container.viewContext.values(for: request, every: .milliseconds(100)) { $0.title ?? "" }
  /// for try await titles in unread {
  ///   print(titles.count, titles.first ?? "")
  ///   print(titles.difference.count, titles.updatedIDs.count)
  /// }
  /// ```
  ///
  /// The closure makes the values on the context's queue, so the loop may be anywhere: values are `Sendable`, which
  /// managed objects are not. Take from an object what the loop needs, its `objectID` included.
  ///
  /// A fetched results controller does the work, so a change is what it sees: changes and saves of this context, and
  /// merges into it. Saves of other contexts are merged with `automaticallyMergesChangesFromParent`, those of other
  /// processes as the page "Merging the saves of other processes" shows. A predicate that crosses relationships does
  /// not notice changes behind them. After a `reset()` the results are fetched again.
  ///
  /// A loop that is slower than the changes gets the newest results only. See `ContextValues` for the end of an
  /// observation.
  ///
  /// Each element costs a call of the closure for each result; a change without an element costs a test of the changed
  /// objects. Any thread may call it; nothing is fetched before the loop begins. Traps for a confinement context.
  ///
  /// What happens otherwise: a closure that returns an object does not compile, since objects are not `Sendable`; one
  /// that reads relationships reads them for all results at each element, so name them in
  /// `relationshipKeyPathsForPrefetching`.
  ///
  /// - Parameters:
  ///   - request: copied, so later changes of it have no effect. Its results are objects whatever its `resultType` is.
  ///     Without sort descriptors the order is open.
  ///   - interval: the shortest time between two elements; nil for none. Default: nil.
  ///   - transform: makes a value of an object, on the context's queue. It must not change objects.
  /// - Returns: a sequence that throws the errors of the fetch and of the closure, and ends with them.
  public final func values<Object: NSManagedObject, Value: Sendable>(
    for request: NSFetchRequest<Object>, every interval: Duration? = nil,
    _ transform: @escaping @Sendable (Object) throws -> Value
  ) -> ContextValues<FetchedSnapshot<Value>> {
    snapshots(request, interval, transform)
  }

  /// The objects that a request finds, now and after each change, for a main-queue context and the main actor. An
  /// addition to Apple's API.
  ///
  /// ```swift
  /// @MainActor func show(_ request: NSFetchRequest<Book>, in container: NSPersistentContainer) async throws {
  ///   for try await books in container.viewContext.values(for: request) {
  ///     print(books.count, books.first?.title ?? "")
  ///   }
  /// }
  /// ```
  ///
  /// The elements are the context's objects themselves, which the compiler keeps on the main actor. Otherwise it
  /// behaves as the form with a closure, which is for all contexts. Traps for a context of another queue.
  ///
  /// - Parameters:
  ///   - request: copied, so later changes of it have no effect.
  ///   - interval: the shortest time between two elements; nil for none. Default: nil.
  /// - Returns: a sequence whose elements stay on the main actor. Objects of a former element that were deleted since
  ///   have no context any more.
  @MainActor public final func values<Object: NSManagedObject>(
    for request: NSFetchRequest<Object>, every interval: Duration? = nil
  ) -> ContextValues<FetchedSnapshot<Object>> {
    require(
      concurrencyType == .mainQueueConcurrencyType,
      "The context \(label) is not the main queue's: give values(for:) a closure that makes values of its objects.")
    return snapshots(request, interval) { $0 }
  }

  /// The copy gets sort descriptors, an empty array at least, because a fetched results controller traps without.
  private final func snapshots<Object: NSManagedObject, Value>(
    _ request: NSFetchRequest<Object>, _ interval: Duration?, _ transform: @escaping @Sendable (Object) throws -> Value
  ) -> ContextValues<FetchedSnapshot<Value>> {
    let copy = NSFetchRequest<Object>(settingsOf: request)
    copy.resultType = .managedObjectResultType
    copy.sortDescriptors = copy.sortDescriptors ?? []
    // `nonisolated(unsafe)`: only this sequence has the copy, and nothing changes it.
    nonisolated(unsafe) let constant = copy
    return ContextValues(context: self, interval: interval) { signal in
      FetchedSource(NSFetchRequest<Object>(settingsOf: constant), self, signal, transform)
    }
  }

  /// What a closure makes of one object, now and after each change of it. An addition to Apple's API.
  ///
  /// ```swift
  /// for try await title in context.values(of: book.objectID, as: Book.self, { $0.title ?? "" }) {
  ///   print(title)
  /// }
  /// print("deleted")
  /// ```
  ///
  /// The sequence ends when the object is deleted in this context, by its code or by a merge, and has no element for an
  /// object without a row. It follows what `values(for:)` follows, and a refresh counts as a change: two elements may
  /// be equal.
  ///
  /// Take it for a view of one object; a request with `self == %@` would evaluate a predicate at each change. The
  /// object is read at the first element, and retained as long as the loop runs.
  ///
  /// - Parameters:
  ///   - interval: the shortest time between two elements; nil for none. Default: nil.
  ///   - transform: makes the value, on the context's queue. It must not change objects.
  /// - Returns: a sequence that throws 134070 if the object is of another class, the errors of reading it and those of
  ///   the closure, and ends with them.
  public final func values<Object: NSManagedObject, Value: Sendable>(
    of objectID: NSManagedObjectID, as type: Object.Type, every interval: Duration? = nil,
    _ transform: @escaping @Sendable (Object) throws -> Value
  ) -> ContextValues<Value> {
    ContextValues(context: self, interval: interval) { ObjectSource(objectID, self, $0, transform) }
  }
}
