internal import Synchronization

/// The permanent IDs for the temporary ones of one context's new objects.
///
/// A save to a store makes IDs permanent at once. Objects that were saved into a parent wait until the root of the
/// chain saves; each child then adopts the IDs when it next needs them.
///
/// Values that were read or set before keep the temporary key. So the pair of IDs is kept until no value can have the
/// key: until the context saves to its stores or is reset, and until each child that may have read the key is reset or
/// freed.
///
/// Used on the context's queue, except `addChild()` and the root's count, which other contexts of the chain use.
///
/// Children are divided into generations, so that a context with many short-lived children does not keep every key that
/// ever became permanent: a child that began to read after a save has never seen the keys of that save.
final class PermanentIDs {
  /// A child retains it as long as its values may refer to temporary keys.
  final class Child: Sendable {}

  /// Children that began to read between two saves, and the keys that became permanent in the second one. All children
  /// of a generation share its child object: the generation ends when that is freed.
  private struct Generation {
    weak var child: Child?
    var keys: [Int64] = []
  }

  /// The permanent IDs by temporary key, as long as something may refer to an object by that key.
  private(set) var byKey: [Int64: NSManagedObjectID] = [:]
  /// The keys of `byKey` that no generation has yet.
  private var newKeys: [Int64] = []
  /// Oldest first. Children of later generations do not need the keys of earlier ones. Children are made on any thread,
  /// hence the mutex.
  private let generations = Mutex<[Generation]>([])
  /// The temporary keys of objects that are new in the parent.
  private(set) var awaited: Set<Int64> = []
  /// The root's count when this context last adopted permanent IDs.
  private var seenCount = 0
  /// In the root context: how often IDs became permanent in its chain.
  private let count = Atomic<Int>(0)

  /// Whether there is a child, for which permanent IDs are kept. Most contexts have none, and then nothing is noted.
  var isForChildren: Bool { generations.withLock { $0.contains { $0.child != nil } } }

  /// A child calls it when it begins to read from this context, and retains the result until its next reset. Any
  /// thread.
  func addChild() -> Child {
    generations.withLock { generations in
      if let last = generations.last, last.keys.isEmpty, let child = last.child { return child }
      let child = Child()
      generations.append(Generation(child: child))
      return child
    }
  }

  @inline(__always)
  var isAwaitingSome: Bool { !awaited.isEmpty }

  /// The permanent ID of a temporary key; nil if it is not known here.
  subscript(key: Int64) -> NSManagedObjectID? { byKey[key] }

  /// Records that the object with this temporary key is new in the parent.
  func noteAwaited(_ key: Int64) { awaited.insert(key) }

  /// Records the permanent ID of a temporary one.
  func note(_ key: Int64, became id: NSManagedObjectID) {
    awaited.remove(key)
    byKey[key] = id
    newKeys.append(key)
  }

  /// Nothing in this context refers to temporary keys any more: forgets the IDs that became permanent, but for those
  /// that children may ask for.
  func forgetUnlessForChildren() {
    if byKey.isEmpty { return }
    generations.withLock { generations in
      if !generations.isEmpty { generations[generations.count - 1].keys += newKeys }
      let gone = generations.prefix { $0.child == nil }
      generations.removeFirst(gone.count)
      if generations.isEmpty { return byKey.removeAll() }
      for key in gone.lazy.flatMap(\.keys) { byKey[key] = nil }
    }
    newKeys.removeAll()
  }

  /// Forgets which objects are new in the parent.
  func stopAwaiting() { awaited.removeAll() }

  // MARK: In a chain of contexts

  /// In the root context: tells the chain that IDs became permanent.
  ///
  /// `releasing`, with the `acquiring` load of `hasNews(from:)`: a child that sees the new count finds the IDs, which
  /// it then asks for on the parent's queue.
  func announce() { count.add(1, ordering: .releasing) }

  /// Whether IDs became permanent in the chain since the last call.
  func hasNews(from root: PermanentIDs) -> Bool {
    let current = root.count.load(ordering: .acquiring)
    defer { seenCount = current }
    return current != seenCount
  }
}
