/// The values of one row, by their columns. The caller keeps the memory that they are in.
///
/// Loops over rows are specialised for its two kinds, so that no value costs a call through the protocol.
protocol ServerRow {
  /// The value's bytes; nil for NULL.
  func bytes(_ column: Int32) -> UnsafeRawBufferPointer?

  /// The place of a value that is never empty; nil for NULL.
  func number(_ column: Int32) -> UnsafeRawPointer?
}

extension ServerRow {
  /// A `bigint`; 0 for NULL.
  @inline(__always)
  func bigint(_ column: Int32) -> Int64 {
    guard let place = number(column) else { return 0 }
    return Int64(bigEndian: place.loadUnaligned(as: Int64.self))
  }

  /// An `integer`; 0 for NULL.
  @inline(__always)
  func integer(_ column: Int32) -> Int {
    guard let place = number(column) else { return 0 }
    return Int(Int32(bigEndian: place.loadUnaligned(as: Int32.self)))
  }
}

/// The values of a result, by functions of the driver's library that are called directly: a call through the protocol
/// for each value would cost more than the value.
package struct ServerCells {
  package typealias Length = @convention(c) (OpaquePointer?, Int32, Int32) -> Int32
  package typealias Value = @convention(c) (OpaquePointer?, Int32, Int32) -> UnsafeMutablePointer<CChar>?

  fileprivate let result: OpaquePointer
  fileprivate let length: Length
  fileprivate let isNull: Length
  fileprivate let value: Value

  package init(_ result: OpaquePointer, length: @escaping Length, isNull: @escaping Length, value: @escaping Value) {
    self.result = result
    self.length = length
    self.isNull = isNull
    self.value = value
  }

  @inline(__always)
  func row(_ index: Int32) -> ResultRow { ResultRow(cells: self, index: index) }
}

/// A row of a result.
struct ResultRow: ServerRow {
  fileprivate let cells: ServerCells
  fileprivate let index: Int32

  @inline(__always)
  func bytes(_ column: Int32) -> UnsafeRawBufferPointer? {
    let count = cells.length(cells.result, index, column)
    if count == 0 && cells.isNull(cells.result, index, column) != 0 { return nil }
    return UnsafeRawBufferPointer(start: cells.value(cells.result, index, column), count: Int(count))
  }

  @inline(__always)
  func number(_ column: Int32) -> UnsafeRawPointer? {
    cells.length(cells.result, index, column) == 0 ? nil : UnsafeRawPointer(cells.value(cells.result, index, column))
  }
}
