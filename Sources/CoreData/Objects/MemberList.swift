/// Managed objects without duplicates, by identity, with quick membership and removal.
///
/// Keeps the order of insertion as long as nothing is removed, and always where `keepsOrder` is set.
struct MemberList {
  private(set) var items: [NSManagedObject] = []
  private var positions: [ObjectIdentifier: Int] = [:]
  var keepsOrder = false

  init() {}

  init(_ objects: some Sequence<NSManagedObject>, keepsOrder: Bool) {
    self.keepsOrder = keepsOrder
    for object in objects { insert(object) }
  }

  var count: Int { items.count }
  var isEmpty: Bool { items.isEmpty }

  func contains(_ object: NSManagedObject) -> Bool { positions[ObjectIdentifier(object)] != nil }

  @discardableResult
  mutating func insert(_ object: NSManagedObject) -> Bool {
    let position = items.count
    let known = positions.updateValue(position, forKey: ObjectIdentifier(object))
    if let known {
      positions[ObjectIdentifier(object)] = known
      return false
    }
    items.append(object)
    return true
  }

  @discardableResult
  mutating func remove(_ object: NSManagedObject) -> Bool {
    guard let position = positions.removeValue(forKey: ObjectIdentifier(object)) else { return false }
    if keepsOrder {
      items.remove(at: position)
      for index in position..<items.count { positions[ObjectIdentifier(items[index])] = index }
    } else {
      let last = items.removeLast()
      if position < items.count {
        items[position] = last
        positions[ObjectIdentifier(last)] = position
      }
    }
    return true
  }

  /// Replaces everything, in the given order.
  mutating func replaceAll(_ objects: some Sequence<NSManagedObject>) {
    removeAll()
    for object in objects { insert(object) }
  }

  mutating func removeAll() {
    items.removeAll()
    positions.removeAll()
  }
}
