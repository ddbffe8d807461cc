/// The rows of `COPY … TO STDOUT (FORMAT binary)`, of which the server sends one in each message.
///
/// ```text
/// first message     "PGCOPY\n" FF 0D 0A 00, 4 bytes of flags, 4 bytes with the length of an extension: 0
///                   (the first row may follow in the same message)
/// a row             00 06                       6 columns
///                   00 00 00 08  00…00 02       _key = 2
///                   00 00 00 08  00…00 01       _version = 1
///                   FF FF FF FF                 author is NULL
///                   00 00 00 01  01             isRead = true
///                   00 00 00 08  00…01 DA       pages = 474
///                   00 00 00 04  45 6D 6D 61    title = 'Emma'
/// last message      FF FF                       -1 columns
/// ```
///
/// Each message is read once. The places and lengths of its values are noted in one buffer that all rows use.
/// A message that does not fit this form is an error: the end of the message is checked before each read.
///
/// Source: https://www.postgresql.org/docs/15/sql-copy.html, "Binary Format"; protocol-flow.html, "COPY Operations".
final class CopiedRows {
  /// A value in a message: its place and the number of its bytes, -1 for NULL.
  fileprivate struct Field {
    let start: UnsafeRawPointer
    let count: Int32
  }

  private let columnCount: Int
  /// The values of the present row: one buffer for all rows.
  private let fields: UnsafeMutablePointer<Field>
  private var hasBegun = false

  init(columnCount: Int) {
    self.columnCount = columnCount
    fields = .allocate(capacity: columnCount)
  }

  deinit { fields.deallocate() }

  /// The row in a message, valid as long as the message and until the next one; nil if it has none.
  @inline(__always)
  func row(in message: UnsafeRawBufferPointer) throws -> CopiedRow? {
    guard var place = message.baseAddress else { return nil }
    let end = place + message.count
    if !hasBegun {
      hasBegun = true
      place += try Self.headerLength(of: message)
    }
    // The header may come alone, and the last message has -1 instead of a number of columns.
    if place == end { return nil }
    guard end - place >= 2 else { throw Self.damaged }
    let count = Int16(bigEndian: place.loadUnaligned(as: Int16.self))
    if count == -1 { return nil }
    guard count == columnCount else { throw Self.damaged }
    place += 2
    for column in 0..<columnCount {
      guard end - place >= 4 else { throw Self.damaged }
      let length = Int32(bigEndian: place.loadUnaligned(as: Int32.self))
      place += 4
      let byteCount = Int(max(0, length))
      guard byteCount <= end - place else { throw Self.damaged }
      (fields + column).initialize(to: Field(start: place, count: length))
      place += byteCount
    }
    return CopiedRow(fields: UnsafePointer(fields))
  }

  /// The number of bytes before the first row: a signature, flags, and an extension with its length.
  private static func headerLength(of message: UnsafeRawBufferPointer) throws -> Int {
    let fixed = 19
    guard message.count >= fixed, message.starts(with: "PGCOPY\n".utf8) else { throw damaged }
    let length = fixed + Int(message.bigEndian(UInt32.self, at: fixed - 4))
    guard length <= message.count else { throw damaged }
    return length
  }

  private static var damaged: ServerError {
    ServerError(message: "the server sent rows in a form that COPY does not have")
  }
}

/// A row of `CopiedRows`, valid until the next one: it leads into libpq's message and into the buffer that all rows
/// share.
struct CopiedRow {
  fileprivate let fields: UnsafePointer<CopiedRows.Field>

  @inline(__always)
  func bytes(_ column: Int32) -> UnsafeRawBufferPointer? {
    let field = fields[Int(column)]
    return field.count < 0 ? nil : UnsafeRawBufferPointer(start: field.start, count: Int(field.count))
  }

  @inline(__always)
  func number(_ column: Int32) -> UnsafeRawPointer? {
    let field = fields[Int(column)]
    return field.count <= 0 ? nil : field.start
  }
}
