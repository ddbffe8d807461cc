/// Relationships by name, for generated accessors and for callers.
extension NSManagedObject {
  /// A live view of a to-many relationship: changing it changes the relationship and its inverse. Traps for other
  /// properties, and when an object of another context or anything but a managed object is added.
  ///
  /// ```swift
  /// author.mutableSetValue(forKey: "books").add(book)
  /// print(book.author == author)  // true
  /// ```
  ///
  /// The view retains the object. Counting or reading it loads the members, adding one need not.
  ///
  /// Take it where the relationship's name is data, or in a class without generated methods; `addToBooks(_:)` of a
  /// generated class does the same with a type. Call it on the context's queue. To read the members once,
  /// `value(forKey:)` gives a set that later changes do not touch: iterating over a live view while changing it
  /// covers the members as they were at the beginning.
  ///
  /// - Parameter key: the name of a to-many relationship of the entity.
  ///
  /// Source: Apple's documentation of `mutableSetValue(forKey:)`.
  public final func mutableSetValue(forKey key: String) -> NSMutableSet {
    MutableRelationshipSet(owner: self, index: toManyIndex(key))
  }

  /// A live view of an ordered to-many relationship: changing it changes the relationship and its inverse. Its
  /// iteration follows later changes, until the owner becomes a fault. Traps for other properties, and for a
  /// relationship that is not ordered.
  ///
  /// ```swift
  /// final class Playlist: NSManagedObject {
  ///   func moveToFront(_ song: NSManagedObject) {
  ///     let songs = mutableOrderedSetValue(forKey: "songs")
  ///     let place = songs.index(of: song)
  ///     if place != NSNotFound { songs.moveObjects(at: IndexSet(integer: place), to: 0) }
  ///   }
  /// }
  /// ```
  ///
  /// A move writes the positions of the members at the next save, and sets no inverse. Insertions in the middle are
  /// O(n) in the number of members. The view retains the object. Call it on the context's queue.
  ///
  /// Source: Apple's documentation of `mutableOrderedSetValue(forKey:)`.
  public final func mutableOrderedSetValue(forKey key: String) -> NSMutableOrderedSet {
    let index = toManyIndex(key)
    require(layout.toManys[index].isOrdered, "\(layout.name).\(key) is not ordered: use mutableSetValue(forKey:).")
    return MutableRelationshipList.view(of: self, index, isPrimitive: false)
  }

  /// A live view of a to-many relationship of a related object: `mutableSetValue(forKey:)` of the object to which the
  /// path leads, for its last key.
  ///
  /// ```swift
  /// let books = book.mutableSetValue(forKeyPath: "author.books")
  /// books.remove(book)
  /// print(book.author == nil)  // true
  /// ```
  ///
  /// The view retains the object that the path leads to now, and does not follow later changes of the path. It fills
  /// each object on the way. Traps if a key before the last is nil, an attribute or a to-many relationship, and as
  /// `mutableSetValue(forKey:)`.
  ///
  /// Source: Apple's page on `mutableSetValue(forKeyPath:)` of `NSKeyValueCoding`.
  public final func mutableSetValue(forKeyPath keyPath: String) -> NSMutableSet {
    let (owner, key) = ownerOfLastKey(in: keyPath)
    return owner.mutableSetValue(forKey: key)
  }

  /// A live view of an ordered to-many relationship of a related object: `mutableOrderedSetValue(forKey:)` of the
  /// object to which the path leads, for its last key.
  ///
  /// Retains, fills and traps as `mutableSetValue(forKeyPath:)`, and traps for a relationship that is not ordered.
  public final func mutableOrderedSetValue(forKeyPath keyPath: String) -> NSMutableOrderedSet {
    let (owner, key) = ownerOfLastKey(in: keyPath)
    return owner.mutableOrderedSetValue(forKey: key)
  }

  private func ownerOfLastKey(in keyPath: String) -> (owner: NSManagedObject, key: String) {
    let keys = keyPath.components(separatedBy: ".")
    let owner = keys.dropLast().reduce(self) { owner, key in
      guard let next = owner.value(forKey: key) as? NSManagedObject else {
        fatalError("\(owner.layout.name).\(key) in the path \"\(keyPath)\" has no object with a relationship.")
      }
      return next
    }
    return (owner, keys.last ?? keyPath)
  }

  /// The IDs of the related objects, in any order. It creates no objects if the IDs are known. Traps for a property
  /// that is no relationship.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// let ids = author.objectIDs(forRelationshipNamed: "books")
  /// request.predicate = NSPredicate(format: "self IN %@ AND pages > 500", ids)
  /// let long = try context.fetch(request)
  /// ```
  ///
  /// Use it to fetch some of the members with a predicate on their IDs, or to pass them to another context, without
  /// filling each.
  ///
  /// It costs one query if the members are unread, none otherwise, and none for a to-one relationship of an object with
  /// values. Members that were added and not saved are there with temporary IDs: a fetch by them finds the objects of
  /// this context only.
  ///
  /// Source: Apple's documentation of `objectIDs(forRelationshipNamed:)`.
  public final func objectIDs(forRelationshipNamed key: String) -> [NSManagedObjectID] {
    switch layout.locations[key] {
    case .slot(let slot) where layout.slots[slot].kind == .toOne: return related(slot).map { [$0.objectID] } ?? []
    case .toMany(let index): return toMany(index).members?.items.map(\.objectID) ?? []
    default: fatalError("\(layout.name).\(key) is not a relationship.")
    }
  }

  /// Whether reading the relationship would ask the store. Fires no fault. False for an attribute and for an unknown
  /// name.
  ///
  /// ```swift
  /// if !author.hasFault(forRelationshipNamed: "books") { print(author.books?.count ?? 0) }  // no query
  /// ```
  ///
  /// For a to-one relationship it is true also if the related object is a fault: reading the relationship costs no
  /// query then, but reading the related object's values may. Call it on the context's queue.
  ///
  /// Source: Apple's documentation of `hasFault(forRelationshipNamed:)`.
  public final func hasFault(forRelationshipNamed key: String) -> Bool {
    checkQueue()
    if isLoose { return false }
    switch layout.locations[key] {
    case .slot(let slot):
      guard let snapshot else { return true }
      guard let related = snapshot.related(slot) else { return false }
      return reference?.context?.registered(related, from: self, slot: slot)?.isFault ?? true
    case .toMany(let index):
      return toManys.isEmpty || toManys[index]?.members == nil
    default: return false
    }
  }
}
