/// The format of a file that is read and written as a whole.
protocol StoreFormat {
  static var storeType: String { get }

  /// The file's content for the rows at the end of a transaction.
  static func encode(_ memory: MemoryRows, _ metadata: [String: Any]) throws -> Data

  /// Reads the rows of a file.
  static func decode(_ data: Data, into loader: MemoryLoader) throws

  static func metadata(in data: Data) throws -> [String: Any]

  /// The file's content with other metadata; the rows are not read.
  static func replacingMetadata(in data: Data, with metadata: [String: Any]) throws -> Data
}

/// The fault in a store's file.
struct StoreFormatError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Fills an empty memory with rows from another source.
final class MemoryLoader {
  private let memory: MemoryRows
  var schema: MemorySchema { memory.schema }

  init(_ memory: MemoryRows) { self.memory = memory }

  /// - Precondition: the to-one relationships of the values name the entities of their rows.
  func add(_ values: Snapshot, _ key: Int64, _ entity: MemorySchema.Entity) {
    memory.set(values, key, entity)
    memory.lastKeys[entity.root] = max(memory.lastKeys[entity.root], key)
    for constraint in entity.constraints {
      if let unique = schema.uniqueValues(values, constraint) { memory.setOwner(of: unique, constraint, key) }
    }
  }

  /// Sets the members of a list in their order. Lists that follow from to-one relationships are set only if they are
  /// ordered.
  func setMembers(_ keys: [Int64], of list: MemorySchema.ToManyList, _ owner: Int64) {
    if !list.followsToOne {
      memory.contents.setMembers(list.isOrdered ? keys : keys.sorted(), list.number, of: owner)
    } else if list.isOrdered {
      let known = Set(memory.contents.members[list.number][owner] ?? [])
      memory.contents.setMembers(keys.filter(known.contains), list.number, of: owner)
    }
  }

  /// Prevents keys up to this one from being assigned again.
  func reserve(_ key: Int64, _ root: Int) { memory.lastKeys[root] = max(memory.lastKeys[root], key) }
}
