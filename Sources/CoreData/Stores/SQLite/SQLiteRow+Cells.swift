internal import CSQLite

/// The values of a statement's current row in the forms of a model.
extension SQLiteRow: RowCells {
  @inline(__always)
  func integer(_ column: Int32) -> Int64? {
    let number = key(column)
    // NULL reads as 0, so only 0 needs the check.
    return number == 0 && isNull(column) ? nil : number
  }

  @inline(__always)
  func boolean(_ column: Int32) -> Int64? { integer(column) }

  @inline(__always)
  func double(_ column: Int32) -> Double? {
    let number = real(column)
    return number == 0 && isNull(column) ? nil : number
  }

  @inline(__always)
  func date(_ column: Int32) -> Double? { double(column) }

  func data(_ column: Int32, isExternal: Bool, in storedEntity: StoredEntity?) throws -> Data? {
    guard let stored = blob(column) else { return nil }
    guard isExternal, let storedEntity else { return stored }
    return try ExternalData.decode(stored, storedEntity)
  }

  /// Of SQLite's shortest text of the number: a Double would bring its binary error into the decimal.
  ///
  /// 3.1 is stored as the REAL 3.1000000000000000888; SQLite's text of it is "3.1", which is the decimal that was
  /// saved.
  func decimal(_ column: Int32) -> NSDecimalNumber? {
    string(column).map { NSDecimalNumber(string: $0, locale: Locale(identifier: "en_US_POSIX")) }
  }

  func uuid(_ column: Int32) -> UUID? {
    blob(column).flatMap { $0.count == 16 ? $0.withUnsafeBytes { $0.loadUnaligned(as: UUID.self) } : nil }
  }

  func archive(_ column: Int32, of attribute: NSAttributeDescription?) -> Data? { blob(column) }

  func plain(_ column: Int32) -> Any? { stored(column).plain }
}

extension SQLiteValue {
  /// A value without a declared type, as SQLite has it.
  fileprivate var plain: Any? {
    switch self {
    case .null: nil
    case .integer(let value): NSNumber(value: value)
    case .real(let value): NSNumber(value: value)
    case .text(let value): value
    case .blob(let value): value
    case .encoded: nil
    }
  }
}
