/// The format of a file that is read and written as a whole.
///
/// `BinaryFormat` and `XMLFormat`. `metadata` and `replacingMetadata` work without a model: a coordinator is asked for
/// a file's metadata before it has one.
protocol StoreFormat {
  static var storeType: String { get }

  /// Throws 134020 for entities that the format cannot keep apart.
  static func check(_ entities: [NSEntityDescription]) throws

  /// The file's content for the rows at the end of a transaction.
  static func encode(_ memory: MemoryRows, _ metadata: [String: Any]) throws -> Data

  /// Reads the rows of a file.
  static func decode(_ data: Data, into loader: MemoryLoader) throws

  static func metadata(in data: Data) throws -> [String: Any]

  /// The file's content with other metadata; the rows are not read.
  static func replacingMetadata(in data: Data, with metadata: [String: Any]) throws -> Data
}

extension StoreFormat {
  static func check(_ entities: [NSEntityDescription]) throws {}
}

/// The fault in a store's file.
struct StoreFormatError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Fills an empty memory with rows from another source.
///
/// The order matters: all rows first, with their to-one relationships, from which `MemoryRows.set` makes the lists of
/// members; then the lists that no to-one tells, or that have an order.
///
/// A damaged file must end in an error: keys are checked for their range and for being unique, because a key of 2⁶⁰
/// would make a table of as many pages.
final class MemoryLoader {
  /// The largest key of a row in a file. Memory has a table by key, so that a damaged key could take all of it.
  static let lastKey: Int64 = 1 << 31

  private let memory: MemoryRows
  private var keys: Set<Int64> = []
  var schema: MemorySchema { memory.schema }

  init(_ memory: MemoryRows) { self.memory = memory }

  /// Uniqueness is not checked: the file was written with it, or before the model had the constraint. The last row with
  /// a value owns it.
  ///
  /// - Precondition: the to-one relationships of the values name the entities of their rows.
  /// - Throws: `StoreFormatError` for a key that no row can have, or that another row has.
  func add(_ values: Snapshot, _ key: Int64, _ entity: MemorySchema.Entity) throws {
    try check(key)
    guard keys.insert(key).inserted else {
      throw StoreFormatError("its content is damaged: two objects have the key \(key)")
    }
    for toOne in entity.toOnes { try values.related(toOne.slot).map { try check($0.key) } }
    memory.set(values, key, entity)
    memory.lastKeys[entity.root] = max(memory.lastKeys[entity.root], key)
    for constraint in entity.constraints {
      if let unique = schema.uniqueValues(values, constraint) { memory.setOwner(of: unique, constraint, key) }
    }
  }

  /// Sets the members of a list in their order. Lists that follow from to-one relationships are set only if they are
  /// ordered.
  ///
  /// A list that follows to-ones is there already; from the file only its order is taken, and keys that the to-ones do
  /// not confirm are left out.
  func setMembers(_ keys: [Int64], of list: MemorySchema.ToManyList, _ owner: Int64) {
    if !list.followsToOne {
      memory.contents.setMembers(list.isOrdered ? keys : keys.sorted(), list.number, of: owner)
    } else if list.isOrdered {
      let presentKeys = Set(memory.contents.members[list.number][owner] ?? [])
      memory.contents.setMembers(keys.filter(presentKeys.contains), list.number, of: owner)
    }
  }

  /// Prevents keys up to this one from being assigned again.
  ///
  /// - Throws: `StoreFormatError` if no key would be left.
  func reserve(_ key: Int64, _ root: Int) throws {
    if key != 0 { try check(key) }
    memory.lastKeys[root] = max(memory.lastKeys[root], key)
  }

  private func check(_ key: Int64) throws {
    guard !(1...Self.lastKey).contains(key) else { return }
    throw StoreFormatError("its content is damaged: \(key) is no key of an object, which are 1 to \(Self.lastKey)")
  }
}
