/// The content of a binary store: a binary property list.
///
///     format    "CoreData rows", version  1
///     metadata  the store's metadata, its UUID among it
///     lastKey   the last key that was assigned to a row
///     entities  by entity name, an array of rows:
///               k  the row's key          v  its version
///               a  attributes by name, without nil. Decimals, UUIDs and URIs are strings, composites are
///                  dictionaries, transformables are data
///               o  to-one relationships by name: the name of the entity and the key
///               m  to-many relationships by name: the keys of the members, in their order if they have one.
///                  Relationships whose inverse is to-one are left out, unless they are ordered
///
/// Apple's binary stores are keyed archives of private classes, and are refused.
///
/// The library with one author and one book, as `plutil -p` or Python's plistlib show the file:
///
/// ```text
/// format    "CoreData rows"
/// version   1
/// lastKey   3
/// entities  Author  [ {k: 1, v: 2, a: {name: "Le Guin"}, o: {}, m: {}} ]
///           Book    [ {k: 2, v: 2, a: {isRead: true, pages: 342, title: "The Dispossessed"},
///                      o: {author: ["Author", 1]}, m: {}} ]
/// metadata  NSStoreType "Binary", NSStoreUUID "BFE03935-…", the model's hashes, …
/// ```
///
/// `m` of the author is empty: the books' own `o` tell who is a member.
enum BinaryFormat: StoreFormat {
  static var storeType: String { NSBinaryStoreType }

  private static let format = "CoreData rows"

  static func encode(_ memory: MemoryRows, _ metadata: [String: Any]) throws -> Data {
    var entities: [String: [[String: Any]]] = [:]
    for case let entity? in memory.schema.entities {
      var rows: [[String: Any]] = []
      try memory.contents.rows[entity.storedEntity.number].forEach { key, row in
        rows.append(try self.row(row, key: key, of: entity, in: memory))
        return true
      }
      if !rows.isEmpty { entities[entity.storedEntity.layout.name] = rows }
    }
    return try data([
      "format": format, "version": 1, "metadata": metadata, "lastKey": memory.lastKeys.max() ?? 0, "entities": entities,
    ])
  }

  /// Lists that follow to-one relationships are left out, since the other row's `o` says the same: a file in which both
  /// differed would have no right reading. Only an order is said by nobody else.
  private static func row(
    _ row: Snapshot, key: Int64, of entity: MemorySchema.Entity, in memory: MemoryRows
  ) throws -> [String: Any] {
    var attributes: [String: Any] = [:]
    for slot in entity.storedSlots + entity.derivedSlots {
      guard let attribute = row.layout.slots[slot].attribute, let value = row.value(slot)
      else { continue }
      attributes[attribute.name] = try ArchivedValue.encoded(value, attribute)
    }
    var related: [String: Any] = [:]
    for toOne in entity.toOnes {
      guard let relatedKey = row.related(toOne.slot),
        let storedEntity = memory.schema.storedEntities[Int(relatedKey.number)]
      else {
        continue
      }
      related[row.layout.slots[toOne.slot].name] = [storedEntity.layout.name, relatedKey.key] as [Any]
    }
    var members: [String: [Int64]] = [:]
    for list in entity.toManys.values where !list.followsToOne || list.isOrdered {
      members[list.relationship.name] = memory.contents.members[list.number][key]
    }
    return ["k": key, "v": row.version, "a": attributes, "o": related, "m": members]
  }

  /// An entity of the file that the model lacks is left out: a coordinator opens a file of another model only after a
  /// migration, or if told to ignore the versions.
  static func decode(_ data: Data, into loader: MemoryLoader) throws {
    let list = try content(of: data)
    guard let entities = list["entities"] as? [String: [[String: Any]]] else { throw damaged }
    for entity in loader.schema.entities.compactMap(\.self) {
      for row in entities[entity.storedEntity.layout.name] ?? [] { try add(row, entity, loader) }
    }
    // The lists of members come last: what they follow is there now.
    for entity in loader.schema.entities.compactMap(\.self) {
      for row in entities[entity.storedEntity.layout.name] ?? [] {
        guard let key = integer(row["k"]), let members = row["m"] as? [String: [Any]] else { throw damaged }
        for (name, keys) in members {
          if let list = entity.toManys[name] { loader.setMembers(keys.compactMap(integer), of: list, key) }
        }
      }
    }
    try loader.reserve(integer(list["lastKey"]) ?? 0, 0)
  }

  private static func add(_ row: [String: Any], _ entity: MemorySchema.Entity, _ loader: MemoryLoader) throws {
    guard let key = integer(row["k"]), let version = integer(row["v"]),
      let attributes = row["a"] as? [String: Any], let related = row["o"] as? [String: [Any]]
    else { throw damaged }
    let values = Snapshot.make(entity.storedEntity.layout, version: max(1, version))
    for slot in entity.storedSlots + entity.derivedSlots {
      guard let attribute = values.layout.slots[slot].attribute,
        let stored = attributes[attribute.name]
      else { continue }
      guard let value = ArchivedValue.decoded(stored, attribute), values.assignConverted(value, slot: slot) else {
        throw StoreFormatError(
          "\(entity.storedEntity.layout.name).\(attribute.name) of the row \(key) is not a value of its type")
      }
    }
    for toOne in entity.toOnes {
      guard let reference = related[values.layout.slots[toOne.slot].name], reference.count == 2 else { continue }
      guard let name = reference[0] as? String, let key = integer(reference[1]), key != 0 else { throw damaged }
      guard let storedEntity = loader.schema.storedEntities.byName[name] else { continue }
      values.assign(slot: toOne.slot, to: RelatedKey(key: key, number: Int64(storedEntity.number)))
    }
    try loader.add(values, key, entity)
  }

  static func metadata(in data: Data) throws -> [String: Any] {
    guard let metadata = try content(of: data)["metadata"] as? [String: Any] else { throw damaged }
    return metadata
  }

  static func replacingMetadata(in data: Data, with metadata: [String: Any]) throws -> Data {
    var list = try content(of: data)
    list["metadata"] = metadata
    return try self.data(list)
  }

  // MARK: Property lists

  private static func integer(_ value: Any?) -> Int64? { value.flatMap(AttributeValue.integer) }

  private static func data(_ list: [String: Any]) throws -> Data {
    try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
  }

  /// The property list of a file of this format; the error says whose file it is otherwise.
  ///
  /// ```text
  /// "bplist00…" with "$archiver"       Apple's: a keyed archive of private classes
  /// "bplist00…" without "format"       some other property list
  /// "format" and a later version       a newer program's
  /// ```
  ///
  /// Each is 134010 with its own sentence: a person has to know which program can read the file.
  private static func content(of data: Data) throws -> [String: Any] {
    // Whatever is wrong with the list: it is not a file of this format.
    guard data.starts(with: Data("bplist00".utf8)),
      let list = try? StoredPropertyList.read(data) as? [String: Any]
    else { throw StoreFormatError("it is not a binary store") }
    if list["$archiver"] != nil {
      throw StoreFormatError(
        "it is a keyed archive, as Apple's Core Data writes binary stores: their classes are private; migrate it to "
          + "SQLite or XML on a Mac")
    }
    guard list["format"] as? String == format else { throw StoreFormatError("it is not a binary store") }
    guard integer(list["version"]) == 1 else { throw StoreFormatError("a newer version of this program wrote it") }
    return list
  }

  private static var damaged: StoreFormatError { StoreFormatError("its content is damaged") }
}
