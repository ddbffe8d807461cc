/// What happened to an object or a section. Raw values are Apple's.
public enum NSFetchedResultsChangeType: UInt, Sendable {
  case insert = 1
  case delete = 2
  case move = 3
  case update = 4
}

/// A section of a controller's results, as it is at the moment.
public protocol NSFetchedResultsSectionInfo {
  /// What the section key path gives for its objects; empty without one.
  var name: String { get }
  /// The title of the section in an index.
  var indexTitle: String? { get }
  var numberOfObjects: Int { get }
  var objects: [Any]? { get }
}

/// Hears of changes to a controller's results, on the context's queue.
///
/// One set of changes is told in one of two forms: by `controller(_:didChangeContentWith:)` where the delegate has that method and
/// there is no section key path, or else, in this order, by `controllerWillChangeContent`, a call for each section, a call for each
/// object, and `controllerDidChangeContent`. Until the first call about a section or an object the controller shows what was, from
/// then on what is. Index paths of what was deleted, updated or moved away are those before all changes; those of what was
/// inserted or moved in are those after all of them.
///
/// All methods are optional. The class that declares the conformance has to have them: Swift does not find those that a subclass adds.
public protocol NSFetchedResultsControllerDelegate: NSObjectProtocol {
  /// All changes, by offset in the results. An update is a removal and an insertion that are associated with each other.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>)

  /// One object came, went, changed its place, or changed. What moved has changed, too.
  ///
  /// - Parameters:
  ///   - indexPath: where it was; nil for an insertion.
  ///   - newIndexPath: where it is; nil for a deletion.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?)

  /// A section came or went.
  ///
  /// - Parameter sectionIndex: where it is, or was if it went.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
    for type: NSFetchedResultsChangeType)

  func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)
  func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)

  /// The title of a section in the index; nil for the name's first letter.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    sectionIndexTitleForSectionName sectionName: String
  ) -> String?
}

extension NSFetchedResultsControllerDelegate {
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
  ) {
    // That this one ran is how the controller learns that the delegate has none of its own.
    controller.results.differenceWasIgnored = true
  }

  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {}

  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
    for type: NSFetchedResultsChangeType
  ) {}

  public func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {}
  public func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {}

  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    sectionIndexTitleForSectionName sectionName: String
  ) -> String? { nil }
}
