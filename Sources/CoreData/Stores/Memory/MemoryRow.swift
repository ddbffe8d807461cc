/// A row whose properties predicates, expressions and sort descriptors can read.
///
/// `@unchecked Sendable`: immutable.
final class MemoryRow: NSObject, KeyValueReadable, PersistentKeyed, IdentifiedObject, @unchecked Sendable {
  let reader: MemoryReader
  let home: EntityHome
  let key: Int64
  let values: Snapshot

  init(_ reader: MemoryReader, _ home: EntityHome, _ key: Int64, _ values: Snapshot) {
    self.reader = reader
    self.home = home
    self.key = key
    self.values = values
    super.init()
  }

  var objectID: NSManagedObjectID { NSManagedObjectID(home: home, key: key) }
  var identity: NSObject { objectID }
  var persistentKey: (entityName: String, key: Int64)? { (home.layout.name, key) }

  func readableValue(forKey key: String) -> Any? {
    switch home.layout.places[key] {
    case .slot(let slot):
      if home.layout.slots[slot].kind != .toOne { return values.value(slot) }
      return values.related(slot).flatMap { reader.row($0) }
    case .toMany(let index):
      return reader.members(of: self.key, home, home.layout.toManys[index])
    case .fetched, nil: break
    }
    switch key {
    case "self", "SELF": return self
    case "objectID": return objectID
    case "entity": return home.entity
    default: return nil
    }
  }

  override var hash: Int { Int(truncatingIfNeeded: key) ^ (Int(home.table) << 40) }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? MemoryRow else { return false }
    return key == other.key && home.table == other.home.table
  }
}
