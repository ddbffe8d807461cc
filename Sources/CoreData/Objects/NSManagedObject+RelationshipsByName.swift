/// Relationships by name, for generated accessors and for callers.
extension NSManagedObject {
  /// A live view of a to-many relationship: changing it changes the relationship and its inverse. Traps for other
  /// properties, and when an object of another context is added.
  ///
  /// ```swift
  /// author.mutableSetValue(forKey: "books").add(book)
  /// print(book.author == author)  // true
  /// ```
  ///
  /// It holds the object. Counting or reading it loads the members, adding one need not.
  public final func mutableSetValue(forKey key: String) -> NSMutableSet {
    MutableRelationshipSet(owner: self, index: toManyIndex(key))
  }

  /// A live view of an ordered to-many relationship: changing it changes the relationship and its inverse. Its
  /// iteration follows later changes, except the owner's becoming a fault. Traps for other properties, and for a
  /// relationship that is not ordered.
  public final func mutableOrderedSetValue(forKey key: String) -> NSMutableOrderedSet {
    let index = toManyIndex(key)
    require(layout.toManys[index].isOrdered, "\(layout.name).\(key) is not ordered: use mutableSetValue(forKey:).")
    return MutableRelationshipList.view(of: self, index, isPrimitive: false)
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
