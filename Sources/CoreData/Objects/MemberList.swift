/// A list of managed objects without duplicates, by identity, with fast membership tests and removal.
///
/// It keeps the order of insertion until an object is removed, and always with `keepsOrder`. A removal otherwise puts
/// the last object into the gap, which is O(1) where moving the others up is O(n).
///
/// Used for the members of to-many relationships and for the lists of a context's event. A `Set` would hash each object
/// at each insertion and lose the order in which a save writes; most lists are short, or are filled once and read once.
///
/// ```text
/// insert, contains, remove     O(1) on average; a search of at most eight objects in a short list
/// append(unlisted:)            O(1), nothing is hashed
/// remove with keepsOrder       O(n): positions change, and the index is built anew
/// ```
struct MemberList {
  /// Objects are held: a member of a changed relationship stays in its context.
  private(set) var items: [NSManagedObject] = []
  private var positions = IdentityIndex()
  var keepsOrder = false

  init() {}

  init(_ objects: some Sequence<NSManagedObject>, keepsOrder: Bool) {
    self.keepsOrder = keepsOrder
    for object in objects { insert(object) }
  }

  var count: Int { items.count }
  var isEmpty: Bool { items.isEmpty }

  func contains(_ object: NSManagedObject) -> Bool { positions.find(object, in: items) != nil }

  /// Adds the object at the end; false if it is there already.
  ///
  /// The index is completed before the search and after the insertion, so that a list that grows by this method never
  /// searches more than its short tail.
  @discardableResult
  mutating func insert(_ object: NSManagedObject) -> Bool {
    completeIndex()
    guard positions.find(object, in: items) == nil else { return false }
    items.append(object)
    completeIndex()
    return true
  }

  /// Adds an object at the end that is not in the list, without an index entry: most lists of new objects are never
  /// searched.
  ///
  /// The caller knows that the object is not in the list, by a bit of the object (`isNoted`). A later question
  /// completes the index, or searches the objects without an entry one by one.
  mutating func append(unlisted object: NSManagedObject) { items.append(object) }

  /// Indexes the objects that `append(unlisted:)` added. Call it before many questions.
  ///
  /// Without it `contains`, which cannot change the list, searches the unindexed tail for each question: 10,000
  /// questions for 10,000 new objects would be a hundred million comparisons.
  mutating func completeIndex() { positions.complete(for: items) }

  /// Removes the object; false if it is not there.
  @discardableResult
  mutating func remove(_ object: NSManagedObject) -> Bool {
    if items.isEmpty { return false }
    completeIndex()
    guard let position = positions.find(object, in: items) else { return false }
    if keepsOrder {
      items.remove(at: position)
      positions.rebuild(for: items)
    } else {
      positions.remove(position, of: &items)
    }
    return true
  }

  /// Replaces all objects, in the given order.
  ///
  /// Duplicates in the argument are dropped, as by `insert`.
  mutating func replaceAll(_ objects: some Sequence<NSManagedObject>) {
    removeAll()
    for object in objects { insert(object) }
  }

  mutating func removeAll() {
    items.removeAll()
    positions = IdentityIndex()
  }
}

/// The positions of objects in an array, by open addressing with linear probing. Only the positions are stored: four
/// bytes for each place, and the objects are compared in the array.
///
/// Short arrays are searched without an index: eight comparisons of addresses take less time than one hash with its
/// memory.
///
/// ```text
/// items   [A, B, C, …]                 the list
/// places  [0, 3, 0, 0, 1, 2, 0, …]     position + 1 of C, A, B at the places that their hash prefers, or after
/// indexed  3                           items[indexed...] have no entry yet
/// ```
///
/// Invariants: `places` is empty or a power of two and at most half full; each of the first `indexed` objects has
/// exactly one entry, reachable from its preferred place without crossing a free one.
private struct IdentityIndex {
  /// Positions plus one; 0 marks a free place. Empty while the array is short, else at least twice as long as the
  /// array.
  private var places: [Int32] = []
  /// The number of objects that have an entry: those at the beginning of the array. 0 without an index.
  private var indexed = 0
  private static let shortest = 8

  /// Multiplication by 2^64 divided by the golden ratio spreads neighbouring addresses, as those of objects that were
  /// made one after the other are (Knuth, The Art of Computer Programming, volume 3, section 6.4).
  private func firstPlace(_ object: NSManagedObject) -> Int {
    let address = UInt64(UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque()))
    // Addresses of objects are multiples of sixteen; the upper half of the product depends on all their other bits.
    return Int(truncatingIfNeeded: ((address >> 4) &* 0x9E37_79B9_7F4A_7C15) >> 32) & (places.count - 1)
  }

  /// First the index, then the tail without entries. A nil is certain only after both.
  func find(_ object: NSManagedObject, in items: [NSManagedObject]) -> Int? {
    if places.isEmpty {
      return items.firstIndex { $0 === object }
    }
    let place = self.place(of: object, in: items)
    if places[place] != 0 { return Int(places[place]) - 1 }
    return items[indexed...].firstIndex { $0 === object }
  }

  /// The place with the object's position, or the free place for it.
  ///
  /// Ends, because at most half of the places are taken.
  private func place(of object: NSManagedObject, in items: [NSManagedObject]) -> Int {
    var place = firstPlace(object)
    while places[place] != 0 && items[Int(places[place]) - 1] !== object { place = (place + 1) & (places.count - 1) }
    return place
  }

  /// Adds the objects at the end of the array that have no entry yet.
  ///
  /// Inlined: the test is all that most calls do.
  @inline(__always)
  mutating func complete(for items: [NSManagedObject]) {
    // A list that was longer keeps its index.
    if indexed < items.count && (!places.isEmpty || items.count > IdentityIndex.shortest) { addRest(of: items) }
  }

  /// Entries are added in place while they fit, so that appending n objects with a question after each is O(n) in all.
  private mutating func addRest(of items: [NSManagedObject]) {
    if items.count * 2 > places.count { return rebuild(for: items) }
    for position in indexed..<items.count {
      var place = firstPlace(items[position])
      while places[place] != 0 { place = (place + 1) & (places.count - 1) }
      places[place] = Int32(position + 1)
    }
    indexed = items.count
  }

  /// Three places for each object at least, so that a list may grow by half before the next time.
  mutating func rebuild(for items: [NSManagedObject]) {
    guard items.count > IdentityIndex.shortest else {
      places = []
      indexed = 0
      return
    }
    indexed = items.count
    var capacity = 32
    while capacity < items.count * 3 { capacity *= 2 }
    places = Array(repeating: 0, count: capacity)
    for (position, item) in items.enumerated() {
      var place = firstPlace(item)
      while places[place] != 0 { place = (place + 1) & (capacity - 1) }
      places[place] = Int32(position + 1)
    }
  }

  /// Removes the object at a position from the array; the last object takes its place.
  ///
  /// Both objects move: the removed one leaves a hole in `places`, and the last one has another position. Instead of
  /// marking the hole, the entries behind it are moved back as long as that brings them nearer to their preferred
  /// place: lists of events shrink and grow all the time, and marks would fill them (Knuth, volume 3, section 6.4,
  /// Algorithm R).
  mutating func remove(_ position: Int, of items: inout [NSManagedObject]) {
    let last = items.count - 1
    guard !places.isEmpty else {
      items.swapAt(position, last)
      items.removeLast()
      return
    }
    var hole = place(of: items[position], in: items)
    if position != last {
      places[place(of: items[last], in: items)] = Int32(position + 1)
      items.swapAt(position, last)
    }
    items.removeLast()
    indexed = items.count
    // Move back the entries that probing would no longer reach.
    let mask = places.count - 1
    places[hole] = 0
    var next = (hole + 1) & mask
    while places[next] != 0 {
      let preferredPlace = firstPlace(items[Int(places[next]) - 1])
      if (next &- preferredPlace) & mask >= (next &- hole) & mask {
        places[hole] = places[next]
        places[next] = 0
        hole = next
      }
      next = (next + 1) & mask
    }
  }
}
