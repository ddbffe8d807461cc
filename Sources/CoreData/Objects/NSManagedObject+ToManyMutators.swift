/// Changes of to-many relationships by name, which generated methods such as `addToX` and `insertIntoX` call. Inverse
/// relationships follow.
extension NSManagedObject {
  /// Adds one object to a to-many relationship: `addToX(_:)` calls it.
  public final func addObject(_ object: NSManagedObject, toRelationship key: String) {
    addMember(object, to: toManyIndex(key))
  }

  /// Removes one object from a to-many relationship: `removeFromX(_:)` calls it.
  public final func removeObject(_ object: NSManagedObject, fromRelationship key: String) {
    removeMember(object, of: toManyIndex(key))
  }

  /// Adds the objects of a set: `addToX(_:)` calls it. Objects that are members already stay. Traps for an element that
  /// is no managed object, an object of another context, and for a property that is no to-many relationship.
  ///
  /// ```swift
  /// author.addObjects(NSSet(array: [book]), toRelationship: "books")
  /// print(book.author === author)  // true
  /// ```
  ///
  /// Generated classes have `addToBooks(_:)`, which calls it. Call it on the context's queue.
  public final func addObjects(_ objects: NSSet, toRelationship key: String) {
    let index = toManyIndex(key)
    for object in objects.allObjects { addMember(member(object, key), to: index) }
  }

  /// Adds the objects of an ordered set at the end, in their order. Members already there stay where they are.
  public final func addObjects(_ objects: NSOrderedSet, toRelationship key: String) {
    let index = toManyIndex(key)
    for object in objects.array { addMember(member(object, key), to: index) }
  }

  /// Removes the objects of a set: `removeFromX(_:)` calls it. Their inverse becomes nil or loses the object; they are
  /// not deleted. Objects that are no members are passed over.
  ///
  /// ```swift
  /// author.removeObjects(NSSet(array: [book]), fromRelationship: "books")
  /// print(book.author == nil)  // true
  /// ```
  public final func removeObjects(_ objects: NSSet, fromRelationship key: String) {
    let index = toManyIndex(key)
    for object in objects.allObjects { removeMember(member(object, key), of: index) }
  }

  /// Removes the objects of an ordered set, as the method for sets does.
  public final func removeObjects(_ objects: NSOrderedSet, fromRelationship key: String) {
    let index = toManyIndex(key)
    for object in objects.array { removeMember(member(object, key), of: index) }
  }

  /// Adds the objects of an array or a set, in this order. On Apple's platforms a literal `[a, b]` is an `NSSet`; on
  /// Linux it cannot be one.
  ///
  /// ```swift
  /// author.addObjects([book], toRelationship: "books")
  /// ```
  public final func addObjects(_ objects: some Collection<some NSManagedObject>, toRelationship key: String) {
    let index = toManyIndex(key)
    for object in objects { addMember(object, to: index) }
  }

  /// Removes the objects of an array or a set.
  public final func removeObjects(_ objects: some Collection<some NSManagedObject>, fromRelationship key: String) {
    let index = toManyIndex(key)
    for object in objects { removeMember(object, of: index) }
  }

  // MARK: Ordered relationships

  /// Inserts objects so that the first one is at the first index afterwards, and so on: `insertIntoX(_:at:)` calls it.
  /// As in an ordered set, an object that is a member already stays where it is, and the others close up. Traps if an
  /// index is beyond the end, if there are not as many indexes as objects, and for a relationship that is not ordered.
  public final func insertObjects(
    _ objects: [NSManagedObject], at indexes: NSIndexSet, inRelationship key: String
  ) {
    edit(key) { members in
      requireAsMany(objects, indexes, key)
      var presentMembers = Set(members)
      for (object, index) in zip(objects, indexes) where presentMembers.insert(object).inserted {
        requireIndex(index, upTo: members.count, key)
        members.insert(object, at: index)
      }
    }
  }

  /// Removes the objects at these indexes: `removeFromX(at:)` calls it. Traps for an index without an object, and for a
  /// relationship that is not ordered.
  public final func removeObjects(at indexes: NSIndexSet, fromRelationship key: String) {
    edit(key) { members in
      for index in indexes.reversed() {
        requireIndex(index, upTo: members.count - 1, key)
        members.remove(at: index)
      }
    }
  }

  /// Replaces the objects at these indexes, in order: `replaceX(at:with:)` calls it. Traps for an index without an
  /// object, if there are not as many indexes as objects, and for a relationship that is not ordered.
  public final func replaceObjects(
    at indexes: NSIndexSet, with objects: [NSManagedObject], inRelationship key: String
  ) {
    edit(key) { members in
      requireAsMany(objects, indexes, key)
      for (object, index) in zip(objects, indexes) {
        requireIndex(index, upTo: members.count - 1, key)
        members[index] = object
      }
    }
  }

  private func edit(_ key: String, _ change: (inout [NSManagedObject]) -> Void) {
    let index = toManyIndex(key)
    let toMany = toMany(index)
    require(toMany.relationship.isOrdered, "\(layout.name).\(key) is not ordered: its objects have no index.")
    var members = toMany.members?.items ?? []
    change(&members)
    setMembers(members, of: index)
  }

  func toManyIndex(_ key: String) -> Int {
    guard let index = layout.toManyIndex(key) else {
      fatalError("\(layout.name).\(key) is not a to-many relationship.")
    }
    return index
  }

  private func member(_ object: Any, _ key: String) -> NSManagedObject {
    guard let object = object as? NSManagedObject else {
      fatalError("The relationship \(layout.name).\(key) holds managed objects, and was given a \(type(of: object)).")
    }
    return object
  }

  private func requireAsMany(_ objects: [NSManagedObject], _ indexes: NSIndexSet, _ key: String) {
    require(
      objects.count == indexes.count,
      "\(layout.name).\(key) was given \(objects.count) objects for \(indexes.count) indexes.")
  }

  private func requireIndex(_ index: Int, upTo last: Int, _ key: String) {
    require(index <= last, "The index \(index) is beyond the objects of \(layout.name).\(key): the last is \(last).")
  }
}
