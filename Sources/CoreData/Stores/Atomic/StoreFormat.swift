/// How the rows of a store lie in a file that is read and written whole.
protocol StoreFormat {
  static var storeType: String { get }

  /// The file's content for the rows as they are at the end of a transaction.
  static func encode(_ memory: MemoryRows, _ metadata: [String: Any]) throws -> Data

  /// Reads the rows of a file.
  static func decode(_ data: Data, into loader: MemoryLoader) throws

  static func metadata(in data: Data) throws -> [String: Any]

  /// The file's content with other metadata; the rows are not looked at.
  static func replacingMetadata(in data: Data, with metadata: [String: Any]) throws -> Data
}

/// What is wrong with a store's file.
struct StoreFormatError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Fills an empty memory with rows that are read from somewhere.
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

  /// Sets the members of a list in their order; not of one that to-one relationships tell of, unless it is ordered.
  func setMembers(_ keys: [Int64], of list: MemorySchema.ToManyList, _ owner: Int64) {
    if !list.followsToOne {
      memory.contents.setMembers(list.isOrdered ? keys : keys.sorted(), list.number, of: owner)
    } else if list.isOrdered {
      let known = Set(memory.contents.members[list.number][owner] ?? [])
      memory.contents.setMembers(keys.filter(known.contains), list.number, of: owner)
    }
  }

  /// Keeps keys up to this one from being given again.
  func reserve(_ key: Int64, _ root: Int) { memory.lastKeys[root] = max(memory.lastKeys[root], key) }
}
