/// The content of an XML store, in the shape that Apple's framework writes: a `database` with its `databaseInfo` and
/// its objects.
///
///     <object type="BOOK" id="z102">
///         <attribute name="title" type="string">…</attribute>
///         <relationship name="author" type="1/1" destination="AUTHOR" idrefs="z7"></relationship>
///     </object>
///
/// Entities are written in upper case and properties in lower case; reading ignores the case. Dates are seconds since
/// 2001-01-01 00:00 UTC with 20 decimal places, data is in base 64, and `nextObjectID` is the last number given. A
/// relationship with very many members has several elements.
///
/// Source: mapping models of Xcode, which are such stores, and parts of other stores in public repositories. They show
/// no text of the types "decimal", "uuid", "uri", "composite" and "transformable", and of no number with a fraction.
///
/// A whole file, with the metadata shortened:
///
/// ```text
/// <?xml version="1.0" standalone="no"?>
/// <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">
///
/// <database>
///     <databaseInfo>
///         <version>134481920</version>                   of the format: the same in all files
///         <UUID>8D9B9D24-AE06-418B-AD3B-AAD4EE0639A6</UUID>
///         <nextObjectID>3</nextObjectID>                  the last ID given: z3 was deleted
///         <metadata><plist version="1.0"> … </plist></metadata>
///     </databaseInfo>
///     <object type="AUTHOR" id="z1" version="2">          version: an addition to Apple's files
///         <attribute name="name" type="string">Le Guin</attribute>
///         <relationship name="books" type="0/0" destination="BOOK" idrefs="z2"></relationship>
///     </object>
///     <object type="BOOK" id="z2" version="2">
///         <attribute name="isread" type="bool">1</attribute>
///         <attribute name="pages" type="int64">342</attribute>
///         <attribute name="title" type="string">The Dispossessed</attribute>
///         <relationship name="author" type="1/1" destination="AUTHOR" idrefs="z1"></relationship>
///     </object>
/// </database>
/// ```
///
/// Both ends of a relationship are written, as Apple's files have them. A nil attribute has no element; a relationship
/// without objects has one without `idrefs`.
enum XMLFormat: StoreFormat {
  static var storeType: String { NSXMLStoreType }

  static func encode(_ memory: MemoryRows, _ metadata: [String: Any]) throws -> Data {
    var text = header
    text += "    <databaseInfo>\n        <version>134481920</version>\n"
    text += "        <UUID>\(XMLText.escaped(metadata[NSStoreUUIDKey] as? String ?? ""))</UUID>\n"
    text += "        <nextObjectID>\(memory.lastKeys.max() ?? 0)</nextObjectID>\n"
    text += "        <metadata>\(try self.text(of: metadata))</metadata>\n    </databaseInfo>\n"
    for case let entity? in memory.schema.entities {
      try memory.contents.rows[entity.storedEntity.number].forEach { key, row in
        try append(row, key: key, of: entity, in: memory, to: &text)
        return true
      }
    }
    return Data((text + "</database>\n").utf8)
  }

  private static let header = """
    <?xml version="1.0" standalone="no"?>
    <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

    <database>

    """

  /// Attributes and to-ones come in the order of slots, to-manys by name: the same content gives the same text, so
  /// files can be compared.
  private static func append(
    _ row: Snapshot, key: Int64, of entity: MemorySchema.Entity, in memory: MemoryRows, to text: inout String
  ) throws {
    text +=
      "    <object type=\"\(entity.storedEntity.layout.name.uppercased())\" id=\"z\(key)\" "
      + "version=\"\(row.version)\">\n"
    for slot in entity.storedSlots + entity.derivedSlots {
      guard let attribute = row.layout.slots[slot].attribute, let value = row.value(slot)
      else { continue }
      let (content, encoding) = try XMLText.content(of: value, attribute)
      text += "        <attribute name=\"\(attribute.name.lowercased())\" type=\"\(XMLText.type(attribute))\""
      text += "\(encoding)>\(content)</attribute>\n"
    }
    for toOne in entity.toOnes {
      guard let relationship = row.layout.slots[toOne.slot].relationship, !relationship.isTransient else { continue }
      append(relationship, row.related(toOne.slot).map { [$0.key] } ?? [], to: &text)
    }
    for name in entity.toManys.keys.sorted() {
      guard let list = entity.toManys[name] else { continue }
      append(list.relationship, memory.contents.members[list.number][key] ?? [], to: &text)
    }
    text += "    </object>\n"
  }

  /// The most keys of one element: an XML parser reads no attribute of more than ten million bytes.
  private static let keysOfElement = 500_000

  private static func append(_ relationship: NSRelationshipDescription, _ keys: [Int64], to text: inout String) {
    if keys.count > keysOfElement {
      for start in stride(from: 0, to: keys.count, by: keysOfElement) {
        append(relationship, Array(keys[start..<min(start + keysOfElement, keys.count)]), to: &text)
      }
      return
    }
    let type = relationship.isToMany ? "0/0" : "1/1"
    let destination = (relationship.destinationEntity?.name ?? "").uppercased()
    text +=
      "        <relationship name=\"\(relationship.name.lowercased())\" type=\"\(type)\" destination=\"\(destination)\""
    if !keys.isEmpty { text += " idrefs=\"\(keys.map { "z\($0)" }.joined(separator: " "))\"" }
    text += "></relationship>\n"
  }

  static func decode(_ data: Data, into loader: MemoryLoader) throws {
    try XMLStoreReader(loader).read(data)
  }

  // MARK: Metadata

  /// The UUID stands outside of the property list, as in SQLite's table it has a column of its own.
  static func metadata(in data: Data) throws -> [String: Any] {
    let (place, text) = try metadataPlace(in: data)
    let header = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    guard
      var metadata = try? PropertyListSerialization.propertyList(from: Data((header + text[place]).utf8), format: nil)
        as? [String: Any]
    else { throw StoreFormatError("its metadata is not a property list") }
    metadata[NSStoreTypeKey] = metadata[NSStoreTypeKey] ?? storeType
    if let start = text.range(of: "<UUID>"),
      let end = text.range(of: "</UUID>", range: start.upperBound..<place.lowerBound)
    {
      metadata[NSStoreUUIDKey] = String(text[start.upperBound..<end.lowerBound])
    }
    return metadata
  }

  static func replacingMetadata(in data: Data, with metadata: [String: Any]) throws -> Data {
    var (place, text) = try metadataPlace(in: data)
    text.replaceSubrange(place, with: try self.text(of: metadata))
    return Data(text.utf8)
  }

  /// The text between the tags is cut out and read by itself: no parser goes through a large file for its metadata.
  private static func metadataPlace(in data: Data) throws -> (Range<String.Index>, String) {
    guard let text = String(data: data, encoding: .utf8), text.contains("<database>"),
      let start = text.range(of: "<metadata>"),
      let end = text.range(of: "</metadata>", range: start.upperBound..<text.endIndex)
    else { throw StoreFormatError("it is not an XML store") }
    return (start.upperBound..<end.lowerBound, text)
  }

  /// The property list without its own header, and without the UUID, which has an element of its own.
  private static func text(of metadata: [String: Any]) throws -> String {
    let kept = metadata.filter { $0.key != NSStoreUUIDKey }
    let data = try PropertyListSerialization.data(fromPropertyList: kept, format: .xml, options: 0)
    let text = String(decoding: data, as: UTF8.self)
    guard let start = text.range(of: "<plist") else { throw StoreFormatError("its metadata cannot be written") }
    return String(text[start.lowerBound...]).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}

/// The text of values in an XML store.
enum XMLText {
  /// The name of an attribute's type.
  static func type(_ attribute: NSAttributeDescription) -> String {
    switch attribute.attributeType {
    case .integer16AttributeType: "int16"
    case .integer32AttributeType: "int32"
    case .integer64AttributeType: "int64"
    case .decimalAttributeType: "decimal"
    case .doubleAttributeType: "double"
    case .floatAttributeType: "float"
    case .stringAttributeType: "string"
    case .booleanAttributeType: "bool"
    case .dateAttributeType: "date"
    case .binaryDataAttributeType: "binary"
    case .UUIDAttributeType: "uuid"
    case .URIAttributeType: "uri"
    case .compositeAttributeType: "composite"
    default: "transformable"
    }
  }

  /// The content of the element, and the attributes of its tag that describe the content's form.
  ///
  /// ```text
  /// type        content
  /// ----------  -------------------------------------------------------------
  /// int64       342
  /// bool        1
  /// double      3.25; 3 for 3.0
  /// date        817551816.55815577507019042969: 20 decimal places, as Apple writes them
  /// string      the text, with &amp; &lt; &gt;; encoding="base64" if XML cannot hold a character of it
  /// binary      base 64
  /// decimal     3.14
  /// uuid, uri   their texts
  /// composite   base 64 of a binary property list
  /// ```
  static func content(of value: Any, _ attribute: NSAttributeDescription) throws -> (text: String, tag: String) {
    switch try ArchivedValue.encoded(value, attribute) {
    case let text as String:
      // XML cannot represent some characters: https://www.w3.org/TR/xml/#charsets
      if text.unicodeScalars.contains(where: isForbidden) {
        return (Data(text.utf8).base64EncodedString(), " encoding=\"base64\"")
      }
      return (escaped(text), "")
    case let data as Data: return (data.base64EncodedString(), "")
    case let date as Date: return (self.text(ofDate: date.timeIntervalSinceReferenceDate), "")
    case let elements as [String: Any]:
      let list = try PropertyListSerialization.data(fromPropertyList: elements, format: .binary, options: 0)
      return (list.base64EncodedString(), "")
    case let number as NSNumber:
      switch attribute.attributeType {
      case .doubleAttributeType: return (withoutZeroFraction("\(number.doubleValue)"), "")
      case .floatAttributeType: return (withoutZeroFraction("\(number.floatValue)"), "")
      default: return ("\(number.int64Value)", "")
      }
    default: throw StoreFormatError("\(attribute.name) has a value that cannot be written")
    }
  }

  private static func text(ofDate seconds: Double) -> String {
    let text = String(format: "%.20f", seconds)
    // Very small numbers have more decimal places.
    return Double(text) == seconds ? text : "\(seconds)"
  }

  private static func withoutZeroFraction(_ number: String) -> String {
    number.hasSuffix(".0") ? String(number.dropLast(2)) : number
  }

  /// The value of a text; nil if it is not one of the attribute's type.
  ///
  /// The counterpart of `content`. Base 64 may have line breaks.
  static func value(of text: String, _ attribute: NSAttributeDescription, encoding: String?) -> Any? {
    func data() -> Data? { Data(base64Encoded: text, options: .ignoreUnknownCharacters) }
    switch attribute.attributeType {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .booleanAttributeType:
      return Int64(text).map { NSNumber(value: $0) }
    case .doubleAttributeType, .floatAttributeType: return Double(text).map { NSNumber(value: $0) }
    case .dateAttributeType: return Double(text).map { Date(timeIntervalSinceReferenceDate: $0) }
    case .binaryDataAttributeType: return data()
    case .stringAttributeType:
      return encoding == "base64" ? data().flatMap { String(data: $0, encoding: .utf8) } : text
    case .compositeAttributeType:
      // A value that cannot be read is nil: the caller says whose it is.
      let list = data().flatMap { try? StoredPropertyList.read($0) }
      return list.flatMap { ArchivedValue.decoded($0, attribute) }
    case .decimalAttributeType, .UUIDAttributeType, .URIAttributeType: return ArchivedValue.decoded(text, attribute)
    default: return data().flatMap { ArchivedValue.decoded($0, attribute) }
    }
  }

  static func escaped(_ text: String) -> String {
    guard text.utf8.contains(where: { "&<>\r".utf8.contains($0) }) else { return text }
    return text.escaped(String.xmlEscape)
  }

  private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x9, 0xA, 0xD: false
    case 0..<0x20, 0xFFFE, 0xFFFF: true
    default: false
    }
  }
}
