import Jobs

/// What an export job is asked to do.
///
///     {"entity": "Document", "where": "indexedAt != nil", "sort": "name", "file": "/data/documents.jsonl"}
struct ExportParameters {
  enum Format: String, CaseIterable {
    case jsonl, csv
  }

  let query: ObjectQuery
  let file: String
  let format: Format
  /// Only these properties, in this order; nil for all.
  let properties: [String]?
  let dates: ObjectValues.DateStyle
  /// Whether each row begins with the object's URI, as `objectID`.
  let includesObjectID: Bool
  /// Objects that are in memory at a time.
  let batch: Int

  init(_ json: JSONValue) throws {
    var fields = try JSONFields(json, named: "the parameters")
    query = ObjectQuery(
      entity: try fields.requiredString("entity"), predicate: try fields.string("where"),
      sort: try fields.string("sort"))
    file = try fields.requiredPath("file")
    properties = try fields.strings("properties")
    dates = try fields.choice("dates") ?? .iso8601
    includesObjectID = try fields.bool("objectID") ?? true
    batch = try fields.int("batch", in: 1...100_000) ?? 1000
    format = try fields.format(of: file)
    try fields.finish()
  }
}
