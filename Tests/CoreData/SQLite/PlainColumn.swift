import CSQLite
import Testing

@testable import CoreData

/// One column of the current row, as sqlite3 gives it.
struct PlainColumn {
  let type: Int32
  let integer: Int64
  let real: Double
  let blob: [UInt8]
  let text: [UInt8]

  init(_ statement: OpaquePointer, _ column: Int32) {
    type = sqlite3_column_type(statement, column)
    integer = sqlite3_column_int64(statement, column)
    real = sqlite3_column_double(statement, column)
    let start = sqlite3_column_blob(statement, column)
    blob = Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
    let characters = sqlite3_column_text(statement, column)
    text = Array(UnsafeBufferPointer(start: characters, count: Int(sqlite3_column_bytes(statement, column))))
  }

  var isNull: Bool { type == SQLITE_NULL }
  var string: String { String(decoding: text, as: UTF8.self) }
}

extension PlainColumn {
  /// The columns of all rows by name, by the rows' keys.
  static func rows(of store: TemporaryStore) throws -> [Int64: [String: PlainColumn]] {
    var rows: [Int64: [String: PlainColumn]] = [:]
    var database: OpaquePointer?
    try #require(sqlite3_open_v2(store.url.path, &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
    defer { sqlite3_close_v2(database) }
    var prepared: OpaquePointer?
    try #require(sqlite3_prepare_v2(database, "SELECT * FROM ZCELL ORDER BY Z_PK", -1, &prepared, nil) == SQLITE_OK)
    let statement = try #require(prepared)
    defer { sqlite3_finalize(statement) }
    while sqlite3_step(statement) == SQLITE_ROW {
      var columns: [String: PlainColumn] = [:]
      for index in 0..<sqlite3_column_count(statement) {
        columns[sqlite3_column_name(statement, index).map { String(cString: $0) } ?? ""] = PlainColumn(statement, index)
      }
      rows[columns["Z_PK"]?.integer ?? 0] = columns
    }
    return rows
  }

  /// The value of a property that its column stands for.
  func value(of name: String) -> NSObject? {
    if isNull { return nil }
    switch name {
    case "small", "middle", "large": return NSNumber(value: integer)
    case "flag": return NSNumber(value: integer != 0)
    case "real": return NSNumber(value: real)
    case "single": return NSNumber(value: Float(real))
    case "moment": return NSNumber(value: real)
    case "sum":
      let number = NSDecimalNumber(string: string, locale: Locale(identifier: "en_US_POSIX"))
      return NSString(string: number.stringValue)
    case "bytes": return NSData(data: Data(blob))
    case "mark":
      guard blob.count == 16 else { return nil }
      let uuid = blob.withUnsafeBytes { $0.loadUnaligned(as: UUID.self) }
      return NSString(string: uuid.uuidString)
    case "link": return URL(string: string).map { NSString(string: $0.absoluteString) }
    case "extra": return (TransformableValue.decode(Data(blob), nil) as? String).map { NSString(string: $0) }
    default: return NSString(string: string)
    }
  }
}
