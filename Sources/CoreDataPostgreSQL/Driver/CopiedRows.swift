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
/// The driver hands over whole messages, one or several at a time. Each is read once: the places and lengths of its
/// values are noted in one buffer that all rows use. A message that does not fit this form is an error: the end of the
/// bytes is checked before each read.
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

  /// The rows of whole messages, of which the first of all begins with the header.
  @inline(__always)
  func rows(in messages: UnsafeRawBufferPointer) throws -> MessageRows {
    var start = 0
    if !hasBegun {
      hasBegun = true
      start = try Self.headerLength(of: messages)
    }
    return MessageRows(UnsafeRawBufferPointer(rebasing: messages[start...]), fields, columnCount)
  }

  /// The number of bytes before the first row: a signature, flags, and an extension with its length.
  private static func headerLength(of message: UnsafeRawBufferPointer) throws -> Int {
    let fixed = 19
    guard message.count >= fixed, message.starts(with: "PGCOPY\n".utf8) else { throw damaged }
    let length = fixed + Int(message.bigEndian(UInt32.self, at: fixed - 4))
    guard length <= message.count else { throw damaged }
    return length
  }

  fileprivate static var damaged: ServerError {
    ServerError(message: "the server sent rows in a form that COPY does not have")
  }
}

/// The rows of some messages, in their order. It uses the memory of the `CopiedRows` that made it, without keeping that
/// alive.
struct MessageRows {
  private var place: UnsafeRawPointer
  private let end: UnsafeRawPointer
  /// The memory for the values of one row, and its end.
  private let fields: UnsafeMutablePointer<CopiedRows.Field>
  private let fieldsEnd: UnsafeMutablePointer<CopiedRows.Field>

  @inline(__always)
  fileprivate init(
    _ bytes: UnsafeRawBufferPointer, _ fields: UnsafeMutablePointer<CopiedRows.Field>, _ columnCount: Int
  ) {
    place = bytes.baseAddress ?? UnsafeRawPointer(fields)
    end = place + bytes.count
    self.fields = fields
    fieldsEnd = fields + columnCount
  }

  /// The next row, valid until the one after it; nil at the end.
  ///
  /// A value that ends behind the messages is found before anything is read there: the next value, or the end of the
  /// row, has no place then.
  @inline(__always)
  mutating func next() throws -> CopiedRow? {
    // The header may come alone.
    if place == end { return nil }
    guard end - place >= 2 else { throw CopiedRows.damaged }
    let count = Int16(bigEndian: place.loadUnaligned(as: Int16.self))
    // The last message has -1 instead of a number of columns.
    if count == -1 { return nil }
    guard Int(count) == fieldsEnd - fields else { throw CopiedRows.damaged }
    var value = place + 2
    var field = fields
    while field < fieldsEnd {
      guard end - value >= 4 else { throw CopiedRows.damaged }
      let length = Int32(bigEndian: value.loadUnaligned(as: Int32.self))
      value += 4
      field.initialize(to: CopiedRows.Field(start: value, count: length))
      value += Int(max(0, length))
      field += 1
    }
    guard value <= end else { throw CopiedRows.damaged }
    place = value
    return CopiedRow(fields: UnsafePointer(fields))
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
