/// A to-many relationship as a mutable set: reads and writes go to the owner.
final class MutableRelationshipSet: NSMutableSet {
  private let owner: NSManagedObject
  private let index: Int

  init(owner: NSManagedObject, index: Int) {
    self.owner = owner
    self.index = index
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

  override func member(_ object: Any) -> Any? {
    guard let object = object as? NSManagedObject else { return nil }
    return owner.toMany(index).members?.contains(object) == true ? object : nil
  }

  override func objectEnumerator() -> NSEnumerator { NSArray(array: members).objectEnumerator() }

  override func add(_ object: Any) {
    guard let object = object as? NSManagedObject else { return }
    owner.addMember(object, to: index)
  }

  override func remove(_ object: Any) {
    guard let object = object as? NSManagedObject else { return }
    owner.removeMember(object, of: index)
  }

  override func removeAllObjects() { owner.setMembers([], of: index) }
  override var allObjects: [Any] { members }
}
