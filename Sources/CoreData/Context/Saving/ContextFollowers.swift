/// Who shows a context's objects, and has to know of changes to some that the context does not have.
protocol ContextFollower: AnyObject {
  /// The objects to register before a merge, so that it tells of them: those that may belong to what is shown now.
  func objectsToMerge(updated: [NSManagedObjectID], deleted: [NSManagedObjectID]) -> [NSManagedObject]
}

/// The followers of one context, which it does not keep alive.
struct ContextFollowers {
  private struct Entry { weak var follower: (any ContextFollower)? }

  private var entries: [Entry] = []

  mutating func add(_ follower: any ContextFollower) { entries.append(Entry(follower: follower)) }

  /// Takes a follower out, and those that are gone.
  mutating func remove(_ follower: any ContextFollower) {
    entries.removeAll { $0.follower == nil || $0.follower === follower }
  }

  /// The objects that a merge needs to tell of.
  func objectsToMerge(updated: [NSManagedObjectID], deleted: [NSManagedObjectID]) -> [NSManagedObject] {
    entries.flatMap { $0.follower?.objectsToMerge(updated: updated, deleted: deleted) ?? [] }
  }
}
