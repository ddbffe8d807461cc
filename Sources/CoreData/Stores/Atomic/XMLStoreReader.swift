internal import FoundationXML

/// Reads the objects of an XML store.
///
/// A parser that reports elements as it meets them, so a large file is not in memory as a tree. What it reports
/// becomes:
///
/// ```text
/// <object>          a new row, without values
/// <attribute>       its text is collected until the end tag, then becomes the slot's value
/// <relationship>    names and IDs are kept: the objects that they name may come later
/// </database>       relate: to-one slots;  loader.add: rows;  setMembers: lists
/// ```
///
/// Names are compared in lower case: the file has "isread" for `isRead`. Two properties whose names differ in case only
/// cannot be told apart.
///
/// A file may come from anywhere: `XMLInstructions.harmless` changes what would end the process in Foundation's parser.
final class XMLStoreReader: NSObject, XMLParserDelegate {
  private let loader: MemoryLoader
  private var schema: MemorySchema { loader.schema }
  /// Entities and their properties by their names in lower case.
  private var entities: [String: MemorySchema.Entity] = [:]
  /// All objects of the file, with the IDs that their relationships name. They become rows when the last one is known.
  private var objects: [Object] = []
  /// The entities of the objects, by key.
  private var numbers: [Int64: Int] = [:]
  private var attribute: (slot: Int, encoding: String?)?
  /// The text of the present element as far as it has come.
  private var text = ""
  /// Whether the parser is in the element with the last key.
  private var isLastKey = false
  private var path: [String] = []
  private var problem: StoreFormatError?

  private struct Object {
    let entity: MemorySchema.Entity
    let key: Int64
    let values: Snapshot
    var related: [(name: String, keys: [Int64])] = []
  }

  init(_ loader: MemoryLoader) {
    self.loader = loader
    super.init()
    for case let entity? in loader.schema.entities { entities[entity.storedEntity.layout.name.lowercased()] = entity }
  }

  /// Parses the file, and makes rows when all objects are known.
  ///
  /// ```text
  /// all objects are known           numbers: which entity has the key 7?
  /// relate                          an author's key in a book's slot, with the author's entity
  /// loader.add                      rows; lists of members follow from the to-ones
  /// setMembers                      many-to-many, and orders
  /// ```
  ///
  /// An ID that no object has is left out: a relationship cannot lead there.
  func read(_ data: Data) throws {
    guard let data = XMLInstructions.harmless(data) else {
      throw StoreFormatError("it is not in UTF-8 or another encoding that extends ASCII")
    }
    // Given the data itself, the parser fails at the end of more than ten million bytes.
    let parser = XMLParser(stream: InputStream(data: data))
    parser.delegate = self
    let isRead = parser.parse()
    if let problem { throw problem }
    // This parser reports no error for a document that ends in the middle of a tag.
    guard isRead, path.isEmpty else {
      throw StoreFormatError(
        "it is not well-formed XML, or has an attribute of more than ten million bytes "
          + "(line \(max(parser.lineNumber, 1)))")
    }
    for object in objects { numbers[object.key] = object.entity.storedEntity.number }
    for object in objects { relate(object) }
    for object in objects { try loader.add(object.values, object.key, object.entity) }
    for object in objects { setMembers(of: object) }
  }

  // MARK: Relationships, when all objects are known

  private func relate(_ object: Object) {
    for toOne in object.entity.toOnes {
      let name = object.values.layout.slots[toOne.slot].name.lowercased()
      guard let key = object.related.first(where: { $0.name == name })?.keys.first, let number = numbers[key] else {
        continue
      }
      object.values.assign(slot: toOne.slot, to: RelatedKey(key: key, number: Int64(number)))
    }
  }

  private func setMembers(of object: Object) {
    for list in object.entity.toManys.values {
      let name = list.relationship.name.lowercased()
      // A long list has several elements.
      let elements = object.related.filter { $0.name == name }
      if elements.isEmpty { continue }
      loader.setMembers(elements.flatMap(\.keys).filter { numbers[$0] != nil }, of: list, object.key)
    }
  }

  // MARK: Elements

  /// Names of elements are told apart by their parent: "attribute" below "object" is a value, elsewhere it is not
  /// looked at.
  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    let parent = path.last
    path.append(name)
    text = ""
    switch (parent, name) {
    case ("database", "object"): begin(attributes, parser)
    case ("databaseInfo", "nextObjectID"): isLastKey = true
    case ("object", "attribute"): beginAttribute(attributes)
    case ("object", "relationship"):
      let keys = (attributes["idrefs"] ?? "").split(separator: " ").compactMap(XMLStoreReader.key)
      if let last = objects.indices.last {
        objects[last].related.append(((attributes["name"] ?? "").lowercased(), keys))
      }
    default: break
    }
  }

  /// The number in an ID such as "z102".
  private static func key(_ id: Substring) -> Int64? { Int64(id.drop { !$0.isNumber }).flatMap { $0 > 0 ? $0 : nil } }

  /// An entity that the model lacks is an error with the line: the hashes were compared before, so the file is not what
  /// its metadata say.
  private func begin(_ attributes: [String: String], _ parser: XMLParser) {
    guard let entity = entities[(attributes["type"] ?? "").lowercased()] else {
      return fail("the model has no entity \(attributes["type"] ?? "")", parser)
    }
    guard let key = Self.key((attributes["id"] ?? "")[...]) else { return fail("an object has no ID", parser) }
    // Apple's files have no versions.
    let values = Snapshot.make(
      entity.storedEntity.layout, version: attributes["version"].flatMap { Int64($0) }.map { max(1, $0) } ?? 1)
    objects.append(Object(entity: entity, key: key, values: values))
  }

  private func beginAttribute(_ attributes: [String: String]) {
    guard let object = objects.last else { return }
    let name = (attributes["name"] ?? "").lowercased()
    let slots = object.entity.storedSlots + object.entity.derivedSlots
    attribute = slots.first { object.values.layout.slots[$0].name.lowercased() == name }.map {
      ($0, attributes["encoding"])
    }
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) {
    if attribute != nil || isLastKey { text += string }
  }

  /// The parser hands a text over in pieces, also in the middle of a character reference, so its value is known only
  /// here.
  func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
    path.removeLast()
    if isLastKey { reserve(text, parser) }
    isLastKey = false
    guard name == "attribute", path.last == "object", let (slot, encoding) = attribute, let object = objects.last else {
      return
    }
    attribute = nil
    let slots = object.values.layout.slots
    guard let description = slots[slot].attribute,
      let value = XMLText.value(of: text, description, encoding: encoding),
      object.values.assignConverted(value, slot: slot)
    else {
      return fail("\(object.entity.storedEntity.layout.name).\(slots[slot].name) has no value of its type", parser)
    }
  }

  private func reserve(_ text: String, _ parser: XMLParser) {
    do {
      if let key = Int64(text) { try loader.reserve(key, 0) }
    } catch {
      fail("\(error)", parser)
    }
  }

  private func fail(_ what: String, _ parser: XMLParser) {
    if problem == nil { problem = StoreFormatError("\(what) (line \(max(parser.lineNumber, 1)))") }
    parser.abortParsing()
  }
}
