import Jobs

/// What an import job is asked to do.
///
///     {"file": "/data/iso_3166-2.json", "root": "3166-2", "entity": "Subdivision", "key": "code",
///      "map": {"name": "name", "type": "kind"},
///      "relationships": {"country": {"key": "alpha2", "value": "{code:before:-}"}}}
struct ImportParameters {
  enum Format: String, CaseIterable {
    case json, jsonl, csv
  }

  /// How numbers in a date attribute's field count.
  enum Dates: String, CaseIterable {
    /// Dates are texts as in RFC 3339; numbers are refused.
    case iso8601
    /// Seconds since 2001-01-01, as Core Data keeps them.
    case seconds
    /// Seconds since 1970-01-01.
    case unix
  }

  /// What to do when the object that a relationship names does not exist.
  enum Missing: String, CaseIterable {
    /// Insert it with its key alone.
    case create
    /// The job fails.
    case error
    /// The relationship stays empty.
    case skip
  }

  struct Relationship {
    let name: String
    /// The attribute of the destination that identifies it.
    let key: String
    /// Its value.
    let value: Template
    /// Put in front of the value unless it begins so.
    let prefix: Template?
    let missing: Missing
  }

  let file: String
  let format: Format
  /// Where in a JSON file the array of rows is.
  let root: String?
  let entity: String
  /// The attribute that tells objects apart: one with the row's value is changed, none is inserted.
  let key: String
  /// Attributes by field; nil: fields that have the name of an attribute.
  let map: [(field: String, attribute: String)]?
  let relationships: [Relationship]
  /// Rows that go into one save.
  let chunk: Int
  let delimiter: UInt8
  let dates: Dates

  init(_ json: JSONValue) throws {
    var fields = try JSONFields(json, named: "the parameters")
    file = try fields.requiredPath("file")
    root = try fields.string("root")
    entity = try fields.requiredString("entity")
    key = try fields.requiredString("key")
    chunk = try fields.int("chunk", in: 1...100_000) ?? 500
    dates = try fields.choice("dates") ?? .iso8601
    delimiter = try Self.delimiter(try fields.string("delimiter"))
    let missing = try fields.choice("missing", Missing.self) ?? .create
    map = try fields.value("map").map(Self.map)
    relationships = try fields.value("relationships").map { try Self.relationships($0, missing: missing) } ?? []
    format = try fields.format(of: file)
    try fields.finish()
  }

  private static func delimiter(_ text: String?) throws -> UInt8 {
    guard let text else { return UInt8(ascii: ",") }
    guard text.utf8.count == 1, let byte = text.utf8.first, byte != UInt8(ascii: "\""), byte >= 0x20 || byte == 0x09
    else {
      throw JSONFieldError("\"delimiter\" must be one ASCII character and no quote")
    }
    return byte
  }

  private static func map(_ value: JSONValue) throws -> [(field: String, attribute: String)] {
    var fields = try JSONFields(value, named: "the members of \"map\"")
    var map: [(field: String, attribute: String)] = []
    for name in fields.names {
      if let attribute = try fields.string(name) { map.append((name, attribute)) }
    }
    return map
  }

  private static func relationships(_ value: JSONValue, missing: Missing) throws -> [Relationship] {
    guard case .object(let members) = value else {
      throw JSONFieldError("\"relationships\" must be a JSON object, not \(value.kindDescription)")
    }
    return try members.map { member in
      var fields = try JSONFields(member.value, named: "the members of the relationship \"\(member.name)\"")
      let relationship = Relationship(
        name: member.name, key: try fields.requiredString("key"),
        value: try Template(try fields.requiredString("value")),
        prefix: try fields.string("prefix").map(Template.init),
        missing: try fields.choice("missing") ?? missing)
      try fields.finish()
      return relationship
    }
  }

  /// A reader of the file's rows.
  func rows() throws -> any RowReader {
    switch format {
    case .json: try JSONRows(path: file, root: root)
    case .jsonl: JSONLinesRows(source: try ByteSource(path: file))
    case .csv: try CSVRows(path: file, delimiter: delimiter)
    }
  }
}
