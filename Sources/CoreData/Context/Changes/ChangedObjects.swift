/// The objects of a context that its next save inserts, updates or deletes: a list without duplicates, by identity.
///
/// An object knows its place in the list, so that nothing is searched. Hence it is in one of these lists at most. The
/// order is that of insertion, until an object is removed.
///
///     objects in the list    A(0)  B(1)  C(2)        the number is the object's `changePlace`
///     remove A               C(0)  B(1)              the last one takes its place
///
/// So inserting, removing and asking cost the same for ten objects and for a million, without a hash table beside the
/// array.
struct ChangedObjects {
  private(set) var items: [NSManagedObject] = []

  var isEmpty: Bool { items.isEmpty }

  /// Whether the object is in this list. Its place may be from another list, so the object at the place decides.
  func contains(_ object: NSManagedObject) -> Bool {
    let place = Int(object.changePlace)
    return place < items.count && items[place] === object
  }

  /// Adds the object at the end, unless it is there already.
  mutating func insert(_ object: NSManagedObject) {
    if contains(object) { return }
    object.changePlace = Int32(items.count)
    items.append(object)
  }

  /// Removes the object; false if it is not there.
  @discardableResult
  mutating func remove(_ object: NSManagedObject) -> Bool {
    guard contains(object) else { return false }
    let last = items.removeLast()
    if last !== object {
      items[Int(object.changePlace)] = last
      last.changePlace = object.changePlace
    }
    return true
  }

  mutating func removeAll() { items.removeAll() }
}
