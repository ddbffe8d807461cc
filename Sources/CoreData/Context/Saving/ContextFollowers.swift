/// A list of objects, such as fetched results, that needs to know changes of objects that the context does not have.
///
///     this context: shows unread books    another context
///                                         makes a book unread that this context does not have
///     merges the save: the book is not registered, so the merge has nothing to report
///     with a follower: the book is registered first, is refreshed, and enters the list
protocol ContextFollower: AnyObject {
  /// The objects to register before a merge, so that it reports them: those that may now belong to the list.
  func objectsToMerge(updated: [NSManagedObjectID], deleted: [NSManagedObjectID]) -> [NSManagedObject]
}

/// Weak references to the followers of one context: a list that the program releases stops following. Used on the
/// context's queue.
struct ContextFollowers {
  private struct Entry { weak var follower: (any ContextFollower)? }

  private var entries: [Entry] = []

  mutating func add(_ follower: any ContextFollower) { entries.append(Entry(follower: follower)) }

  /// Removes a follower, and those that were freed.
  mutating func remove(_ follower: any ContextFollower) {
    entries.removeAll { $0.follower == nil || $0.follower === follower }
  }

  /// The objects that a merge has to report.
  func objectsToMerge(updated: [NSManagedObjectID], deleted: [NSManagedObjectID]) -> [NSManagedObject] {
    entries.flatMap { $0.follower?.objectsToMerge(updated: updated, deleted: deleted) ?? [] }
  }
}
