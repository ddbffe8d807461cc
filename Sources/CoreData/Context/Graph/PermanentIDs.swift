internal import Synchronization

/// The permanent IDs for the temporary ones of one context's new objects.
///
/// A save to a store makes IDs permanent at once. Objects that were saved into a parent wait until the root of the
/// chain saves; each child then adopts the IDs when it next needs them.
///
/// Used on the context's queue, except `expectChildren()` and the root's count, which other contexts of the chain use.
final class PermanentIDs {
  /// The permanent IDs by temporary key, as long as something may refer to an object by that key.
  private(set) var byKey: [Int64: NSManagedObjectID] = [:]
  /// The temporary keys of objects that are new in the parent.
  private(set) var awaited: Set<Int64> = []
  /// The root's count when this context last adopted permanent IDs.
  private var seenCount = 0
  /// In the root context: how often IDs became permanent in its chain.
  private let count = Atomic<Int>(0)
  private let hasHadChildren = Atomic<Bool>(false)

  /// Whether a context has had this one as its parent. If so, permanent IDs are kept for it. Children may be created on
  /// any thread.
  var isForChildren: Bool { hasHadChildren.load(ordering: .relaxed) }

  func expectChildren() { hasHadChildren.store(true, ordering: .relaxed) }

  @inline(__always)
  var isAwaitingSome: Bool { !awaited.isEmpty }

  subscript(key: Int64) -> NSManagedObjectID? { byKey[key] }

  /// Records that the object with this temporary key is new in the parent.
  func noteAwaited(_ key: Int64) { awaited.insert(key) }

  /// Records the permanent ID of a temporary one.
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

  /// In the root context: tells the chain that IDs became permanent.
  func announce() { count.add(1, ordering: .releasing) }

  /// Whether IDs became permanent in the chain since the last call.
  func hasNews(from root: PermanentIDs) -> Bool {
    let current = root.count.load(ordering: .acquiring)
    defer { seenCount = current }
    return current != seenCount
  }
}
