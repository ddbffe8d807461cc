/// An ordered to-many relationship as a mutable ordered set, which reads and changes the owner's relationship.
///
/// Foundation's class allows overriding of some methods only; the others read its storage. The relationship tells its
/// view each change, so that the storage stays equal.
///
/// ```text
/// list.add(book)                 overridden: owner.addMember(book)
///   └ ToMany.insert              the members change
///       └ liveView.follow(…)     super.add(book), with isFollowing = true
/// any other method               not overridden: reads the storage, which is equal
/// ```
///
/// `isFollowing` ends the recursion: while it is set, the methods below act on the storage and not on the owner.
///
/// There is one view for each relationship at a time (`ToMany.liveView`), so that two callers of
/// `mutableOrderedSetValue(forKey:)` see each other's changes.
final class MutableRelationshipList: NSMutableOrderedSet {
  private let owner: NSManagedObject
  private let index: Int
  private let isPrimitive: Bool
  /// The relationship that the storage follows. The owner has another one after it was a fault.
  private weak var followed: ToMany?
  /// The storage is being updated: its changes do not go to the owner.
  private var isFollowing = false

  /// Primitive views are made for each call: their changes do not pass through the relationship's observers, so nothing
  /// would keep a second one equal.
  static func view(of owner: NSManagedObject, _ index: Int, isPrimitive: Bool) -> MutableRelationshipList {
    if !isPrimitive, let view = owner.toMany(index).liveView { return view }
    return MutableRelationshipList(owner: owner, index: index, isPrimitive: isPrimitive)
  }

  private init(owner: NSManagedObject, index: Int, isPrimitive: Bool) {
    self.owner = owner
    self.index = index
    self.isPrimitive = isPrimitive
    super.init(capacity: 0)
    _ = toMany
  }

  @available(*, unavailable)
  required convenience init(arrayLiteral elements: Any...) {
    fatalError("A relationship's list comes from mutableOrderedSetValue(forKey:).")
  }

  @available(*, unavailable)
  required convenience init?(coder aDecoder: NSCoder) {
    fatalError("A relationship's list comes from mutableOrderedSetValue(forKey:).")
  }

  // MARK: Following the owner

  /// The owner may have been a fault since: then it has a new `ToMany`, which does not know this view yet.
  private var toMany: ToMany {
    let toMany = owner.toMany(index)
    if followed !== toMany {
      followed = toMany
      if !isPrimitive { toMany.liveView = self }
      follow(toMany.members?.items ?? [])
    }
    return toMany
  }

  /// A primitive view hears of no change, so it copies the members at each reading.
  private var members: [NSManagedObject] {
    let members = toMany.members?.items ?? []
    if isPrimitive { follow(members) }
    return members
  }

  /// Not reentrant, and need not be: `super`'s methods call nothing of the owner's.
  private func following(_ body: () -> Void) {
    isFollowing = true
    body()
    isFollowing = false
  }

  func follow(insertionOf object: NSManagedObject) { following { super.add(object) } }
  func follow(removalOf object: NSManagedObject) { following { super.remove(object) } }

  func follow(_ objects: [NSManagedObject]) {
    following {
      super.removeAllObjects()
      super.addObjects(from: objects)
    }
  }

  // MARK: Reading

  override var count: Int { isFollowing ? super.count : members.count }
  override func object(at idx: Int) -> Any { isFollowing ? super.object(at: idx) : members[idx] }

  /// By identity, as objects are equal only to themselves. O(n).
  override func index(of object: Any) -> Int {
    if isFollowing { return super.index(of: object) }
    return members.firstIndex { $0 === object as AnyObject } ?? NSNotFound
  }

  /// By the relationship's index, O(1).
  override func contains(_ object: Any) -> Bool {
    if isFollowing { return super.contains(object) }
    guard let object = object as? NSManagedObject else { return false }
    return toMany.members?.contains(object) == true
  }

  // MARK: Writing

  /// Sets the members.
  ///
  /// The general way of changing: read the members, change the array, assign it.
  private func set(_ objects: [NSManagedObject]) {
    if isPrimitive {
      owner.setPrimitiveValue(NSOrderedSet(array: objects), forKey: toMany.relationship.name)
      // The relationship tells only its `liveView` of changes.
      follow(toMany.members?.items ?? [])
    } else {
      owner.setMembers(objects, of: index)
    }
  }

  private func managedObject(_ object: Any) -> NSManagedObject {
    owner.requiredMember(object, of: toMany.relationship.name)
  }

  override func add(_ object: Any) { insert(object, at: members.count) }

  /// At the end of an unchanged list no members need be assigned: the owner adds one.
  override func insert(_ object: Any, at idx: Int) {
    let object = managedObject(object)
    guard !contains(object) else { return }
    if isPrimitive || idx < members.count {
      var changed = members
      changed.insert(object, at: idx)
      set(changed)
    } else {
      owner.addMember(object, to: index)
    }
  }

  override func removeObject(at idx: Int) { remove(members[idx]) }

  override func remove(_ val: Any) {
    guard let object = val as? NSManagedObject, contains(object) else { return }
    if isPrimitive { set(members.filter { $0 !== object }) } else { owner.removeMember(object, of: index) }
  }

  /// `setMembers` removes a second occurrence, so an object that was elsewhere in the list moves.
  override func replaceObject(at idx: Int, with obj: Any) {
    let object = managedObject(obj)
    var changed = members
    guard changed[idx] !== object else { return }
    changed[idx] = object
    set(changed)
  }

  override func removeAllObjects() { set([]) }

  /// A new order only: no member comes or goes.
  override func exchangeObject(at idx1: Int, withObjectAt idx2: Int) {
    var changed = members
    changed.swapAt(idx1, idx2)
    reorder(changed)
  }

  /// As Foundation defines it: the objects are taken out first, and `idx` is a place among the rest.
  override func moveObjects(at indexes: IndexSet, to idx: Int) {
    var changed = members
    let moved = indexes.map { changed[$0] }
    for index in indexes.reversed() { changed.remove(at: index) }
    changed.insert(contentsOf: moved, at: idx)
    reorder(changed)
  }

  /// No inverse changes, so the members need not be compared one by one.
  private func reorder(_ objects: [NSManagedObject]) {
    if isPrimitive { set(objects) } else { owner.reorderMembers(objects, of: index) }
  }

  override func add(_ objects: UnsafePointer<AnyObject>?, count: Int) {
    for object in UnsafeBufferPointer(start: objects, count: count) { add(object) }
  }

  override func addObjects(from array: [Any]) { for object in array { add(object) } }

  /// One assignment, so that observers hear once.
  override func intersect(_ other: NSOrderedSet) { set(members.filter { other.contains($0) }) }

  /// Foundation's own would sort the storage and leave the owner as it is.
  override func sortRange(
    _ range: NSRange, options opts: NSSortOptions = [], usingComparator cmptr: (Any, Any) -> ComparisonResult
  ) {
    guard let range = Range(range) else { return }
    var changed = members
    let part = NSArray(array: Array(changed[range])).sortedArray(options: opts, usingComparator: cmptr)
    changed.replaceSubrange(range, with: part.compactMap { $0 as? NSManagedObject })
    reorder(changed)
  }

  override func sort(using sortDescriptors: [NSSortDescriptor]) { reorder(members.sorted(by: sortDescriptors)) }
}
