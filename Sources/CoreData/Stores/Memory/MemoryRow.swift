/// A row whose properties predicates, expressions and sort descriptors can read.
///
/// `@unchecked Sendable`: immutable. Its reader is immutable too, or belongs to one fetch and its queue.
///
/// It stands for an object where a predicate or expression needs one: `SUBQUERY`, functions and key paths with
/// operators read it as they would read an `NSManagedObject`. Comparisons of attributes do not need it
/// (`MemoryCondition`).
///
/// It equals another one of the same row, so that sets and `IN` work.
final class MemoryRow: NSObject, KeyValueReadable, PersistentKeyed, IdentifiedObject, @unchecked Sendable {
  let reader: any RelatedRowReader
  let storedEntity: StoredEntity
  let key: Int64
  let values: Snapshot

  init(_ reader: any RelatedRowReader, of storedEntity: StoredEntity, key: Int64, values: Snapshot) {
    self.reader = reader
    self.storedEntity = storedEntity
    self.key = key
    self.values = values
    super.init()
  }

  var objectID: NSManagedObjectID { NSManagedObjectID(storedEntity: storedEntity, key: key) }
  var identity: NSObject { objectID }
  var persistentKey: (entityName: String, key: Int64)? { (storedEntity.layout.name, key) }

  /// The value of a key as key-value coding on an object gives it, with rows in place of objects.
  ///
  /// ```text
  /// title          the value in the slot
  /// author         a MemoryRow, or nil
  /// books          an array of MemoryRow
  /// objectID       the ID
  /// fullTitle      nil: a row has no class's own properties; `MemorySchema.understands` keeps such predicates away
  /// ```
  func readableValue(forKey key: String) -> Any? {
    switch storedEntity.layout.locations[key] {
    case .slot(let slot):
      if storedEntity.layout.slots[slot].kind != .toOne { return values.value(slot) }
      return values.related(slot).flatMap { reader.row($0) }
    case .toMany(let index):
      return reader.members(of: self.key, storedEntity, storedEntity.layout.toManys[index])
    case .fetched, nil: break
    }
    switch key {
    case "self", "SELF": return self
    case "objectID": return objectID
    case "entity": return storedEntity.entity
    default: return nil
    }
  }

  override var hash: Int { Int(truncatingIfNeeded: key) ^ (Int(storedEntity.table) << 40) }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? MemoryRow else { return false }
    return key == other.key && storedEntity.table == other.storedEntity.table
  }
}
