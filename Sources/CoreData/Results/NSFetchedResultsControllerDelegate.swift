/// What happened to an object or a section. Raw values are Apple's. Sections are only inserted and deleted.
///
/// ```swift
/// func mark(_ type: NSFetchedResultsChangeType) -> String {
///   switch type {
///   case .insert: "+"
///   case .delete: "-"
///   case .move: "~"
///   case .update: "*"
///   }
/// }
/// ```
///
/// Source: Apple's documentation of `NSFetchedResultsChangeType`.
public enum NSFetchedResultsChangeType: UInt, Sendable {
  /// It is new among the results.
  ///
  /// A new object, or one that now matches the predicate.
  case insert = 1
  /// It is no longer among the results.
  ///
  /// Deleted, or it does not match the predicate any more: ask `NSManagedObject.isDeleted` to tell the two apart.
  case delete = 2
  /// Its values changed, and with them its place.
  ///
  /// Its place among the rows that stayed is another: a row whose index changes because of insertions before it has not
  /// moved. Show its values again too.
  case move = 3
  /// Its values changed, its place did not.
  ///
  /// If only a related object changed, and the row keeps its place, no update is reported.
  case update = 4
}

/// A section of a controller's results, as it is at the moment of access. Keep its `name`, not the section itself, over
/// changes. Use it on the context's queue.
///
/// ```swift
/// func headers(of controller: NSFetchedResultsController<Book>) -> [String] {
///   (controller.sections ?? []).map { "\($0.name) (\($0.numberOfObjects))" }
/// }
/// ```
///
/// Source: Apple's documentation of `NSFetchedResultsSectionInfo`.
public protocol NSFetchedResultsSectionInfo {
  /// The value under the section key path of its objects; empty without a key path.
  ///
  /// Numbers are their digits, other values their description; nil is the empty text.
  var name: String { get }
  /// The section's title in the index; see `sectionIndexTitle(forSectionName:)`.
  ///
  /// Nil for an empty name, unless the delegate gives a title.
  var indexTitle: String? { get }
  /// The number of its objects. Does not read objects that are fetched in batches.
  ///
  /// O(1).
  var numberOfObjects: Int { get }
  /// Its objects in order.
  ///
  /// Never nil here. O(n) at the first access after a change, then kept. `NSFetchedResultsController.object(at:)` gives
  /// one without the array.
  var objects: [Any]? { get }
}

/// Receives changes to a controller's results, on the context's queue.
///
/// The controller reports a set of changes in one of three forms. A delegate that implements
/// `controller(_:didChangeContentWith:)` for snapshots gets that call alone, after each `performFetch()` too. One that
/// implements it for differences gets that call if there is no section key path. Otherwise it gets, in this
/// order, `controllerWillChangeContent`, a call for each section, a call for each object, and
/// `controllerDidChangeContent`.
///
/// The controller shows the old results until the first call about a section or an object, and the new ones from then
/// on. Index paths of deleted and updated objects, and the old paths of moved ones, count before all changes; those of
/// inserted objects and the new paths of moved ones count after them. Inserted sections come first and deleted ones
/// last. In between, objects are deleted, inserted, moved and updated, in this order. Apple does not document its
/// order.
///
/// All methods are optional. The class that declares the conformance has to implement them: Swift does not find methods
/// that a subclass adds.
///
/// ```swift
/// final class List: NSObject, NSFetchedResultsControllerDelegate {
///   func controller(
///     _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
///     at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
///   ) {
///     switch type {
///     case .insert: print("new at", newIndexPath?.item ?? 0)
///     case .delete: print("gone from", indexPath?.item ?? 0)
///     case .move: print("from", indexPath?.item ?? 0, "to", newIndexPath?.item ?? 0)
///     case .update: print("changed at", indexPath?.item ?? 0)
///     }
///   }
/// }
/// ```
///
/// The same change, one book inserted at the front and one deleted at 5, in the three forms:
///
/// ```text
/// snapshot      didChangeContentWith snapshot: all IDs, in order
/// difference    didChangeContentWith diff: remove offset 5, insert offset 0
/// single calls  willChangeContent
///               didChange book, at [0, 5], .delete, nil
///               didChange book, at nil, .insert, [0, 0]
///               didChangeContent
/// ```
///
/// Take the snapshot for a list that compares by itself, the difference for an array that is kept, single calls for
/// code that was written for tables. A method runs inside of the context's notification: a change that it makes belongs
/// to the next event, and a long one delays the context's queue.
public protocol NSFetchedResultsControllerDelegate: NSObjectProtocol {
  /// The whole results after a change or a fetch: sections by name, objects by ID. Changed objects that stay are among
  /// `reloadedItemIdentifiers`.
  ///
  /// O(n) for each change: all IDs are listed. The snapshot is the delegate's own, which it may keep and change.
  ///
  /// ```swift
  /// final class List: NSObject, NSFetchedResultsControllerDelegate {
  ///   private var shown = NSDiffableDataSourceSnapshotReference()
  ///
  ///   func controller(
  ///     _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
  ///     didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference
  ///   ) {
  ///     shown = snapshot
  ///     print(shown.numberOfItems, "items,", shown.reloadedItemIdentifiers.count, "changed")
  ///   }
  /// }
  /// ```
  ///
  /// Source: Apple's documentation of `controller(_:didChangeContentWith:)`.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference)

  /// All changes, by offset in the results. An update is a removal and an insertion that are associated with each
  /// other.
  ///
  /// A controller with sections makes the single calls instead. The controller has its new results already.
  ///
  /// ```swift
  /// final class Titles: NSObject, NSFetchedResultsControllerDelegate {
  ///   /// Those of `fetchedObjects`, set after `performFetch()`.
  ///   var ids: [NSManagedObjectID] = []
  ///
  ///   func controller(
  ///     _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
  ///     didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
  ///   ) {
  ///     ids = ids.applying(diff) ?? ids
  ///   }
  /// }
  /// ```
  ///
  /// Source: Apple's documentation of `controller(_:didChangeContentWith:)`.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>)

  /// One object was inserted, deleted, moved or updated. A moved object was updated as well.
  ///
  /// Source: Apple's documentation of `controller(_:didChange:at:for:newIndexPath:)`.
  ///
  /// - Parameters:
  ///   - anObject: the row, a managed object.
  ///   - indexPath: the old place; nil for an insertion.
  ///   - newIndexPath: the new place; nil for a deletion.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?)

  /// A section was inserted or deleted.
  ///
  /// - Parameter sectionIndex: its index after the changes, or before them if it was deleted.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
    for type: NSFetchedResultsChangeType)

  /// Comes before all other calls about a set of changes.
  ///
  /// Not called after `performFetch()`, and not with the two other forms.
  ///
  /// Source: Apple's documentation of `controllerWillChangeContent(_:)`.
  func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)
  /// Comes after all other calls about a set of changes: the results are complete.
  ///
  /// Show here what depends on all results, such as a count.
  ///
  /// Source: Apple's documentation of `controllerDidChangeContent(_:)`.
  func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)

  /// The title of a section in the index. Nil gives the first letter of the name in upper case.
  ///
  /// Called for each section at each access to `sectionIndexTitles`: keep it short.
  ///
  /// Source: Apple's documentation of `controller(_:sectionIndexTitleForSectionName:)`.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    sectionIndexTitleForSectionName sectionName: String
  ) -> String?
}

extension NSFetchedResultsControllerDelegate {
  /// Does nothing. The controller notices that this ran, and makes the other calls instead.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference
  ) {
    // The controller reads it: this delegate has no such method of its own.
    controller.results.snapshotWasIgnored = true
  }

  /// Does nothing. The controller notices that this ran, and makes the single calls instead.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
  ) {
    // The controller reads it: this delegate has no such method of its own.
    controller.results.differenceWasIgnored = true
  }

  /// Does nothing.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {}

  /// Does nothing.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
    for type: NSFetchedResultsChangeType
  ) {}

  /// Does nothing.
  public func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {}
  /// Does nothing.
  public func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {}

  /// Nil: the first letter of the name in upper case.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    sectionIndexTitleForSectionName sectionName: String
  ) -> String? { nil }
}
