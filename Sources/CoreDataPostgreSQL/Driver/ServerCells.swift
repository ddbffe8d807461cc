/// The values of a result, by functions of the driver's library that are called directly: a call through the protocol
/// for each value would cost more than the value.
///
/// The functions are libpq's `PQgetlength`, `PQgetisnull` and `PQgetvalue`; a test's driver has its own. Neither this
/// nor a row keeps the result alive: loops run inside of `withExtendedLifetime`.
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

/// A row of a result: a pointer and a number, so a loop over rows allocates nothing.
struct ResultRow {
  fileprivate let cells: ServerCells
  fileprivate let index: Int32

  /// The bytes of a value; nil for NULL. An empty text is not nil: only of values without bytes libpq is asked whether
  /// they are NULL.
  ///
  /// They are libpq's memory, and valid until the result is cleared. Numbers are in the byte order of the network.
  @inline(__always)
  func bytes(_ column: Int32) -> UnsafeRawBufferPointer? {
    let count = cells.length(cells.result, index, column)
    if count == 0 && cells.isNull(cells.result, index, column) != 0 { return nil }
    return UnsafeRawBufferPointer(start: cells.value(cells.result, index, column), count: Int(count))
  }

  /// The place of a value that is never empty; nil for NULL. One call fewer than `bytes` for a number, since a length
  /// of 0 can only be NULL.
  @inline(__always)
  func number(_ column: Int32) -> UnsafeRawPointer? {
    cells.length(cells.result, index, column) == 0 ? nil : UnsafeRawPointer(cells.value(cells.result, index, column))
  }
}
