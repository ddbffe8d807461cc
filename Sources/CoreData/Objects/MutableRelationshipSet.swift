/// A to-many relationship as a mutable set, which reads and changes the owner's relationship.
///
/// `NSMutableSet` on Linux calls these methods for everything else: `count`, `member(_:)`, `objectEnumerator()`,
/// `add(_:)`, `remove(_:)` are the primitives of the class cluster, so nothing is kept here and nothing can become
/// stale.
///
/// It retains its owner. An enumeration covers the members as they were when it began.
final class MutableRelationshipSet: NSMutableSet {
  private let owner: NSManagedObject
  /// Of the relationship in the owner's layout. Members are asked for at each call, so a refresh of the owner in
  /// between is seen.
  private let index: Int
  /// Whether changes set no inverse and notify no observer: the primitive value.
  private let isPrimitive: Bool

  init(owner: NSManagedObject, index: Int, isPrimitive: Bool = false) {
    self.owner = owner
    self.index = index
    self.isPrimitive = isPrimitive
    super.init(capacity: 0)
  }

  @available(*, unavailable)
  required init(capacity numItems: Int) { fatalError("A relationship's set comes from mutableSetValue(forKey:).") }

  @available(*, unavailable)
  required init?(coder aDecoder: NSCoder) { fatalError("A relationship's set comes from mutableSetValue(forKey:).") }

  @available(*, unavailable)
  required override init(objects: UnsafePointer<AnyObject>?, count cnt: Int) {
    fatalError("A relationship's set comes from mutableSetValue(forKey:).")
  }

  private var members: [NSManagedObject] { owner.toMany(index).members?.items ?? [] }

  override var count: Int { members.count }

  /// The element of the set that is equal: objects are equal only to themselves.
  override func member(_ object: Any) -> Any? {
    guard let object = object as? NSManagedObject else { return nil }
    return owner.toMany(index).members?.contains(object) == true ? object : nil
  }

  override func objectEnumerator() -> NSEnumerator { NSArray(array: members).objectEnumerator() }

  /// Traps for anything but a managed object.
  override func add(_ object: Any) {
    let object = owner.requiredMember(object, of: owner.layout.toManys[index].name)
    guard isPrimitive else { return owner.addMember(object, to: index) }
    owner.bring(object)
    owner.toMany(index).insert(object)
  }

  override func remove(_ object: Any) {
    guard let object = object as? NSManagedObject else { return }
    if isPrimitive { owner.toMany(index).remove(object) } else { owner.removeMember(object, of: index) }
  }

  /// One change for observers, where removing each would be one each.
  override func removeAllObjects() {
    if isPrimitive { for member in members { remove(member) } } else { owner.setMembers([], of: index) }
  }
  override var allObjects: [Any] { members }
}
