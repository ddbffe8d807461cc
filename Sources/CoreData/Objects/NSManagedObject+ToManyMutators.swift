/// Changes of to-many relationships by name, which generated methods such as `addToX` and `insertIntoX` call. Inverse
/// relationships follow.
///
/// ```swift
/// author.addObject(book, toRelationship: "books")
/// print(book.author === author)  // true
/// author.removeObject(book, fromRelationship: "books")
/// print(book.author == nil)  // true
/// ```
///
/// Adding and removing read no members: the change is noted, and the next reading takes it into account. Changes at an
/// index read them. All mark both ends as updated, tell key-value observers, and belong on the context's queue.
extension NSManagedObject {
  /// Adds one object to a to-many relationship: `addToX(_:)` calls it.
  ///
  /// In a one-to-many relationship the object leaves its former owner. An object that is a member already changes
  /// nothing. Traps for an object of another context, or of a store that cannot be related, and for a property that is
  /// no to-many relationship. O(1).
  public final func addObject(_ object: NSManagedObject, toRelationship key: String) {
    addMember(object, to: toManyIndex(key))
  }

  /// Removes one object from a to-many relationship: `removeFromX(_:)` calls it.
  ///
  /// The object is not deleted; its inverse becomes nil or loses this one. An object that is no member changes nothing.
  /// If the inverse is mandatory the next save throws 1570: delete the object instead. O(1) unless the relationship is
  /// ordered.
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
  ///
  /// - Parameters:
  ///   - objects: managed objects of this context, or without one: these are inserted into it.
  ///   - key: the name of a to-many relationship.
  public final func addObjects(_ objects: NSSet, toRelationship key: String) {
    let index = toManyIndex(key)
    for object in objects.allObjects { addMember(requiredMember(object, of: key), to: index) }
  }

  /// Adds the objects of an ordered set at the end, in their order. Members already there stay where they are.
  ///
  /// Traps as the method for sets. The store gets the positions of the new members with the next save.
  public final func addObjects(_ objects: NSOrderedSet, toRelationship key: String) {
    let index = toManyIndex(key)
    for object in objects.array { addMember(requiredMember(object, of: key), to: index) }
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
    for object in objects.allObjects { removeMember(requiredMember(object, of: key), of: index) }
  }

  /// Removes the objects of an ordered set, as the method for sets does.
  ///
  /// The other members keep their order.
  public final func removeObjects(_ objects: NSOrderedSet, fromRelationship key: String) {
    let index = toManyIndex(key)
    for object in objects.array { removeMember(requiredMember(object, of: key), of: index) }
  }

  /// Adds the objects of an array or a set, in this order. On Apple's platforms a literal `[a, b]` is an `NSSet`; on
  /// Linux it cannot be one.
  ///
  /// ```swift
  /// author.addObjects([book], toRelationship: "books")
  /// ```
  ///
  /// It accepts any collection of one class of objects, without a conversion; the elements' class is checked by the
  /// compiler.
  public final func addObjects(_ objects: some Collection<some NSManagedObject>, toRelationship key: String) {
    let index = toManyIndex(key)
    for object in objects { addMember(object, to: index) }
  }

  /// Removes the objects of an array or a set.
  ///
  /// ```swift
  /// let long = (author.books as? Set<Book> ?? []).filter { $0.pages > 500 }
  /// author.removeObjects(long, fromRelationship: "books")
  /// ```
  ///
  /// They are not deleted: call `NSManagedObjectContext.delete(_:)` for each where they should be.
  public final func removeObjects(_ objects: some Collection<some NSManagedObject>, fromRelationship key: String) {
    let index = toManyIndex(key)
    for object in objects { removeMember(object, of: index) }
  }

  // MARK: Ordered relationships

  /// Inserts objects so that the first one is at the first index afterwards, and so on: `insertIntoX(_:at:)` calls it.
  /// As in an ordered set, an object that is a member already stays where it is, and the others close up. Traps if an
  /// index is beyond the end, if there are not as many indexes as objects, and for a relationship that is not ordered.
  ///
  /// ```swift
  /// final class Playlist: NSManagedObject {
  ///   func prepend(_ song: NSManagedObject) {
  ///     insertObjects([song], at: NSIndexSet(index: 0), inRelationship: "songs")
  ///   }
  /// }
  /// ```
  ///
  /// It reads the members and costs O(n) of them; the next save writes the positions of all.
  ///
  /// - Parameters:
  ///   - objects: as many as there are indexes.
  ///   - indexes: where they are afterwards, ascending.
  ///   - key: the name of an ordered to-many relationship.
  ///
  /// Source: Apple's documentation of `NSMutableOrderedSet.insert(_:at:)`, whose rules it follows.
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
  ///
  /// The objects are not deleted. It reads the members and costs O(n) of them.
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
  ///
  /// The replaced objects leave the relationship and are not deleted. An object that is a member elsewhere in the list
  /// already is there once afterwards. It reads the members and costs O(n) of them.
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

  /// One assignment of all members at the end, so that observers hear once and inverses are set for those that came or
  /// went.
  private func edit(_ key: String, _ change: (inout [NSManagedObject]) -> Void) {
    let index = toManyIndex(key)
    let toMany = toMany(index)
    require(toMany.relationship.isOrdered, "\(layout.name).\(key) is not ordered: its objects have no index.")
    var members = toMany.members?.items ?? []
    change(&members)
    setMembers(members, of: index)
  }

  /// The one place where a wrong name traps, for all methods by name.
  func toManyIndex(_ key: String) -> Int {
    guard let index = layout.toManyIndex(key) else {
      fatalError("\(layout.name).\(key) is not a to-many relationship.")
    }
    return index
  }

  /// Apple's framework raises an exception for anything but a managed object, which Swift code cannot catch either.
  final func requiredMember(_ object: Any, of key: String) -> NSManagedObject {
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
