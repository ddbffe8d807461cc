internal import Synchronization

/// What becomes of the temporary IDs of one context's new objects.
///
/// A save to a store makes IDs permanent at once. Objects that were saved into a parent wait until the context at the
/// root of the chain saves; then each child takes the IDs over when it next needs them.
///
/// Used on the context's queue, but for `expectChildren()` and the count of the root, which other contexts of the chain
/// use.
final class PermanentIDs {
  /// The permanent IDs by temporary key, as long as somebody may still refer to an object by that.
  private(set) var byKey: [Int64: NSManagedObjectID] = [:]
  /// The temporary keys of objects that are new in the parent.
  private(set) var awaited: Set<Int64> = []
  /// The root's count when this context last took over permanent IDs.
  private var seenCount = 0
  /// Of the context at the root: how often IDs became permanent in its chain.
  private let count = Atomic<Int>(0)
  private let hasHadChildren = Atomic<Bool>(false)

  /// Whether a context has had this one as its parent: then permanent IDs are kept for it. Children may be made on any
  /// thread.
  var isForChildren: Bool { hasHadChildren.load(ordering: .relaxed) }

  func expectChildren() { hasHadChildren.store(true, ordering: .relaxed) }

  @inline(__always)
  var isAwaitingSome: Bool { !awaited.isEmpty }

  subscript(key: Int64) -> NSManagedObjectID? { byKey[key] }

  /// Notes that the object with this temporary key is new in the parent.
  func noteAwaited(_ key: Int64) { awaited.insert(key) }

  /// Notes what a temporary ID became.
  func note(_ key: Int64, became id: NSManagedObjectID) {
    awaited.remove(key)
    byKey[key] = id
  }

  /// Forgets the IDs that became permanent, unless children may ask for them.
  func forgetUnlessForChildren() {
    if !isForChildren { byKey.removeAll() }
  }

  /// Forgets which objects are new in the parent.
  func stopAwaiting() { awaited.removeAll() }

  // MARK: In a chain of contexts

  /// Of the root: tells its chain that IDs have become permanent.
  func announce() { count.add(1, ordering: .releasing) }

  /// Whether IDs have become permanent in the chain since this was last asked.
  func hasNews(from root: PermanentIDs) -> Bool {
    let current = root.count.load(ordering: .acquiring)
    defer { seenCount = current }
    return current != seenCount
  }
}
