/// Values in the server's binary format, one after the other: of each the number of its bytes, -1 for NULL, and the
/// bytes. The elements of an array and the fields of COPY have this form.
///
/// `RowEncoder` writes the columns of one row after the other into it, by the protocol `CellWriter`, which the SQLite
/// store has another implementation of. What was written becomes, without a second look at the values:
///
/// ```text
/// the parameters of a statement for one row    $1 … $n             ServerParameters.add(_:_:)
/// an array for each column                     unnest($1, … $n)    ServerArray.arrays(_:of:)
/// the fields of a row                          COPY                move(to:)
/// single values                                a constraint        values(_:)
/// ```
///
/// What each value becomes:
///
/// ```text
/// null()          FF FF FF FF
/// integer(474)    00 00 00 08  00 00 00 00 00 00 01 DA
/// boolean(1)      00 00 00 01  01
/// double(0.5)     00 00 00 08  3F E0 00 00 00 00 00 00
/// date(0)         00 00 00 08  00 00 1C C2 A9 EB 40 00      2001-01-01, 31,622,400,000,000 µs after 2000
/// text("Emma")    00 00 00 04  45 6D 6D 61
/// text("")        00 00 00 00                               not NULL
/// transformable   00 00 00 08  01 7B 22 6B 22 3A 31 7D      jsonb: {"k":1}
/// ```
struct ServerFields: ~Copyable, CellWriter {
  private var memory: GrowingBytes
  private(set) var count = 0
  private(set) var hasNull = false

  /// - Parameter capacity: in bytes. It grows when more are written.
  init(capacity: Int) { memory = GrowingBytes(capacity: capacity) }

  /// How many bytes all values take.
  var byteCount: Int { memory.count }

  /// A copy of all values.
  var bytes: [UInt8] { memory.bytes }

  /// Appends all values to bytes, and begins anew.
  mutating func move(to bytes: inout [UInt8]) {
    memory.withBytes { bytes.append(contentsOf: $0) }
    memory.clear()
    (count, hasNull) = (0, false)
  }

  /// Gives the body the bytes of each value; nil for NULL. They are valid during the call.
  func forEach(_ body: (UnsafeRawBufferPointer?) -> Void) {
    memory.withBytes { bytes in
      var start = 0
      for _ in 0..<count {
        let length = Int(bytes.bigEndian(Int32.self, at: start))
        start += 4
        body(length < 0 ? nil : UnsafeRawBufferPointer(rebasing: bytes[start..<start + length]))
        start += max(0, length)
      }
    }
  }

  /// The values as parameters of a statement; nil for NULL.
  ///
  /// - Parameter types: of each.
  func values(_ types: [ServerType]) -> [SQLiteValue?] {
    var values: [SQLiteValue?] = []
    forEach { bytes in values.append(bytes.map { .encoded(Array($0), type: types[values.count].rawValue) }) }
    return values
  }

  // MARK: Values

  /// NULL of any type: the type is the array's or the parameter's.
  @inline(__always)
  mutating func null() {
    memory.append(bigEndian: Int32(-1))
    count += 1
    hasNull = true
  }

  /// A `bigint`, the type of all integers, keys and numbers of entities, also of those that other columns refer to.
  @inline(__always)
  mutating func integer(_ value: Int64) {
    memory.append(bigEndian: Int32(8))
    memory.append(bigEndian: value)
    count += 1
  }

  mutating func boolean(_ value: Int64) {
    memory.append(bigEndian: Int32(1))
    memory.append(bigEndian: UInt8(value == 0 ? 0 : 1))
    count += 1
  }

  @inline(__always) mutating func double(_ value: Double) { integer(Int64(bitPattern: value.bitPattern)) }

  /// A moment, or a refusal: the error names the attribute and the object once it reaches those who know them
  /// (`RefusedValue.of`).
  @inline(__always)
  mutating func date(_ seconds: Double) throws(RefusedValue) {
    guard let moment = ServerDate.microseconds(seconds) else {
      throw RefusedValue(
        "is a date that PostgreSQL does not have (4713 BC to 294276 AD)",
        remedy: "give the object a date within them, or none")
    }
    integer(moment)
  }

  /// A text in UTF-8. U+0000 is refused before the server does so (22021), since the server's error would not say in
  /// which attribute of which object it was.
  @inline(__always)
  mutating func text(_ value: String) throws(RefusedValue) {
    var value = value
    let isValid = value.withUTF8 { utf8 in
      if let start = utf8.baseAddress, memchr(start, 0, utf8.count) != nil { return false }
      add(UnsafeRawBufferPointer(utf8))
      return true
    }
    if !isValid { throw Self.nulRefused }
  }

  mutating func data(_ value: Data, isExternal: Bool) { value.withUnsafeBytes { add($0) } }

  /// A `numeric` of any number of digits: see `ServerNumeric`.
  mutating func decimal(_ value: NSDecimalNumber) {
    ServerNumeric.bytes(value.decimalValue).withUnsafeBytes { add($0) }
  }

  mutating func uuid(_ value: UUID) { withUnsafeBytes(of: value.uuid) { add($0) } }

  /// JSON is a version number, 1, and the text (`jsonb_recv` of PostgreSQL 15). The server parses the text, so an
  /// invalid one would be refused with 22P02.
  mutating func transformable(_ value: Any, of attribute: NSAttributeDescription) throws(RefusedValue) {
    guard let data = try TransformableValue.encode(value, attribute.valueTransformerName) else { return null() }
    guard ServerType(attribute) == .json else { return self.data(data, isExternal: false) }
    // The escape of U+0000, which the server's texts cannot hold. A backslash before it may be one that is escaped.
    if data.range(of: Data("\\u0000".utf8)) != nil,
      Self.hasNUL(TransformableValue.decode(data, attribute.valueTransformerName))
    {
      throw Self.nulRefused
    }
    self.data([1] + data, isExternal: false)
  }

  @inline(__always)
  private mutating func add(_ bytes: UnsafeRawBufferPointer) {
    memory.append(bigEndian: Int32(bytes.count))
    memory.append(bytes)
    count += 1
  }

  /// Whether a decoded JSON value has U+0000 in one of its texts or keys.
  private static func hasNUL(_ value: Any) -> Bool {
    switch value {
    case let text as String: text.utf8.contains(0)
    case let values as [Any]: values.contains(where: hasNUL)
    case let values as [String: Any]: values.contains { $0.utf8.contains(0) || hasNUL($1) }
    default: false
    }
  }

  private static var nulRefused: RefusedValue {
    RefusedValue("is a text with a NUL character, which PostgreSQL refuses", remedy: "remove the character (U+0000)")
  }
}

extension ServerParameters {
  /// Adds values, as the parameters of a statement for one row.
  mutating func add(_ fields: borrowing ServerFields, _ types: [ServerType]) {
    var index = 0
    fields.forEach { value in
      if let value { add(types[index].rawValue) { $0.append(contentsOf: value) } } else { addNull(types[index]) }
      index += 1
    }
  }
}

extension ServerArray {
  /// The arrays of values that were written row after row. One column is an array already, and becomes one without a
  /// look at its elements.
  static func arrays(_ types: [ServerType], of fields: borrowing ServerFields) -> [ServerArray] {
    if types.count == 1 {
      return [ServerArray(types[0], count: fields.count, hasNull: fields.hasNull, elements: fields.bytes)]
    }
    var arrays = types.map { ServerArray($0) }
    var column = 0
    fields.forEach { value in
      arrays[column].append {
        if let value { $0.append(contentsOf: value) }
        return value != nil
      }
      column = (column + 1) % types.count
    }
    return arrays
  }
}
