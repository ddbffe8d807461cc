/// What happened to an object or a section. Raw values are Apple's. Sections are only inserted and deleted.
public enum NSFetchedResultsChangeType: UInt, Sendable {
  /// It is new among the results.
  case insert = 1
  /// It is no longer among the results.
  case delete = 2
  /// Its values changed, and with them its place.
  case move = 3
  /// Its values changed, its place did not.
  case update = 4
}

/// A section of a controller's results, as it is at the moment of access. Keep its `name`, not the section itself, over
/// changes. Use it on the context's queue.
public protocol NSFetchedResultsSectionInfo {
  /// The value under the section key path of its objects; empty without a key path.
  var name: String { get }
  /// The section's title in the index; see `sectionIndexTitle(forSectionName:)`.
  var indexTitle: String? { get }
  /// The number of its objects. Does not read objects that are fetched in batches.
  var numberOfObjects: Int { get }
  /// Its objects in order.
  var objects: [Any]? { get }
}

/// Is told of changes to a controller's results, on the context's queue.
///
/// The controller tells one set of changes in one of three forms. A delegate that implements
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
public protocol NSFetchedResultsControllerDelegate: NSObjectProtocol {
  /// The whole results after a change or a fetch: sections by name, objects by ID. Changed objects that stay are among
  /// `reloadedItemIdentifiers`.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference)

  /// All changes, by offset in the results. An update is a removal and an insertion that are associated with each
  /// other.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>)

  /// One object was inserted, deleted, moved or updated. A moved object was updated as well.
  ///
  /// - Parameters:
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
  func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)
  /// Comes after all other calls about a set of changes: the results are complete.
  func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)

  /// The title of a section in the index. Nil gives the first letter of the name in upper case.
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
