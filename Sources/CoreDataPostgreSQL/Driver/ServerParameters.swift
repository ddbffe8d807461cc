/// The parameters of a statement in the server's binary format.
///
/// ```text
///                  $1 = 2, bigint             $2 = NULL, text    $3 = 'Emma', text
/// bytes            00 00 00 00 00 00 00 02                       45 6D 6D 61
/// starts, lengths  0, 8                       8, -1              8, 4
/// types            20                         25                 25
/// ```
///
/// All values stand in one buffer, into which the pointers for libpq lead. A statement has 65,535 parameters at most,
/// and a message one GiB.
package struct ServerParameters {
  /// The bytes of all values, one after the other.
  package private(set) var bytes: [UInt8] = []
  /// The place of each value's first byte.
  package private(set) var starts: [Int] = []
  /// The number of each value's bytes; -1 for NULL.
  package private(set) var lengths: [Int32] = []
  /// The types, by their numbers in the catalogue.
  package private(set) var types: [UInt32] = []

  package init() {}

  package var count: Int { starts.count }

  /// Adds a value, whose bytes the closure appends.
  mutating func add(_ type: UInt32, _ append: (inout [UInt8]) -> Void) {
    starts.append(bytes.count)
    types.append(type)
    let start = bytes.count
    append(&bytes)
    lengths.append(Int32(bytes.count - start))
  }

  package mutating func addNull(_ type: ServerType) {
    starts.append(bytes.count)
    types.append(type.rawValue)
    lengths.append(-1)
  }

  package mutating func add(_ value: Int64) { add(ServerType.int8.rawValue) { $0.append(bigEndian: value) } }

  package mutating func add(_ value: Double) {
    add(ServerType.float8.rawValue) { $0.append(bigEndian: value.bitPattern) }
  }

  package mutating func add(_ value: String) { add(ServerType.text.rawValue) { $0.append(contentsOf: value.utf8) } }

  package mutating func add(_ value: Data) { add(ServerType.bytes.rawValue) { $0.append(contentsOf: value) } }

  /// Adds a value that is in the server's form.
  mutating func add(_ value: [UInt8], type: UInt32) { add(type) { $0 += value } }

  package mutating func add(_ array: ServerArray) {
    add(array.type.array) { array.write(to: &$0) }
  }
}

/// The values of one column of many rows: an array with one dimension.
///
/// A statement about many rows has an array for each column instead of a parameter for each value: its text is the same
/// for any number of rows, so it stays prepared, and `unnest` makes rows of the arrays.
///
/// ```text
/// INSERT INTO "app"."Book" (_key, _entity, "author", "isRead", "pages", "title")
/// SELECT u.key, 2, u.c0, u.c1, u.c2, u.c3 FROM unnest($1, $2, $3, $4, $5) AS u (key, c0, c1, c2, c3)
/// $1 = '{2,3}', $2 = '{1,1}', $3 = '{NULL,NULL}', $4 = '{474,249}', $5 = '{Emma,Persuasion}'
/// ```
///
/// Source: the page "Array Functions and Operators", `unnest`.
package struct ServerArray {
  package let type: ServerType
  package private(set) var count = 0
  private var hasNull = false
  private var elements: [UInt8] = []

  package init(_ type: ServerType) { self.type = type }

  init(_ values: [Int64]) {
    self.init(.int8)
    elements.reserveCapacity(values.count * 12)
    for value in values { append(value) }
  }

  /// An array of encoded elements: for each its length and its bytes, -1 for NULL.
  init(_ type: ServerType, count: Int, hasNull: Bool, elements: [UInt8]) {
    self.type = type
    self.count = count
    self.hasNull = hasNull
    self.elements = elements
  }

  /// Appends a value, whose bytes the closure writes; NULL if it returns false.
  mutating func append(_ write: (inout [UInt8]) throws -> Bool) rethrows {
    let start = elements.count
    elements.append(bigEndian: Int32(-1))
    count += 1
    guard try write(&elements) else {
      hasNull = true
      return
    }
    elements.replace(at: start, bigEndian: Int32(elements.count - start - 4))
  }

  package mutating func append(_ value: Int64) {
    append {
      $0.append(bigEndian: value)
      return true
    }
  }

  package mutating func append(_ value: String) {
    append {
      $0.append(contentsOf: value.utf8)
      return true
    }
  }

  /// The binary form of an array, here '{474,NULL}' of bigint:
  ///
  /// ```text
  /// 00 00 00 01    dimensions; 0 for an empty array, after which only the type follows
  /// 00 00 00 01    there are NULLs
  /// 00 00 00 14    20, the type bigint
  /// 00 00 00 02    elements
  /// 00 00 00 01    the first one's number
  /// 00 00 00 08  00 00 00 00 00 00 01 DA
  /// FF FF FF FF
  /// ```
  ///
  /// Source: `array_send` of PostgreSQL 15: dimensions, whether there are NULLs, the elements' type, length and lower
  /// bound of the dimension, the elements.
  fileprivate func write(to bytes: inout [UInt8]) {
    bytes.append(bigEndian: Int32(count == 0 ? 0 : 1))
    bytes.append(bigEndian: Int32(hasNull ? 1 : 0))
    bytes.append(bigEndian: type.rawValue)
    if count == 0 { return }
    bytes.append(bigEndian: Int32(count))
    bytes.append(bigEndian: Int32(1))
    bytes.append(contentsOf: elements)
  }
}

extension [UInt8] {
  @inline(__always)
  package mutating func append<T: FixedWidthInteger>(bigEndian value: T) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }

  /// Replaces the bytes at a place.
  @inline(__always)
  package mutating func replace<T: FixedWidthInteger>(at start: Int, bigEndian value: T) {
    Swift.withUnsafeBytes(of: value.bigEndian) { new in
      for (offset, byte) in new.enumerated() { self[start + offset] = byte }
    }
  }
}

extension UnsafeRawBufferPointer {
  @inline(__always)
  package func bigEndian<T: FixedWidthInteger>(_ type: T.Type, at offset: Int = 0) -> T {
    T(bigEndian: loadUnaligned(fromByteOffset: offset, as: type))
  }
}
