/// Makes the `NSError`s that Core Data throws.
enum CoreDataErrors {
  static func error(_ code: CocoaError.Code, _ message: String? = nil, _ info: [String: Any] = [:]) -> NSError {
    var info = info
    let explanation = explanation(code)
    info[NSLocalizedDescriptionKey] =
      message ?? explanation.prefix(1).uppercased() + explanation.dropFirst() + "."
    return NSError(domain: NSCocoaErrorDomain, code: code.rawValue, userInfo: info)
  }

  /// One error for several: itself alone, or 1560 with the list under `NSDetailedErrorsKey`; nil for none.
  static func combined(_ errors: [any Error]) -> (any Error)? {
    // One's own error comes out as it was thrown, not as an NSError of it.
    if errors.count <= 1 { return errors.first }
    let flat = errors.map { $0 as NSError }.flatMap { ($0.userInfo[NSDetailedErrorsKey] as? [NSError]) ?? [$0] }
    let list = flat.map(\.localizedDescription).joined(separator: "; ")
    return error(.validationMultipleErrors, "Several values are not valid: \(list)", [NSDetailedErrorsKey: flat])
  }

  /// What a store's SQLite error means to its caller.
  static func error(_ sqlite: SQLiteError, _ doing: String) -> NSError {
    let code: CocoaError.Code =
      switch sqlite.primaryCode {
      case 5, 6: .persistentStoreTimeout
      case 14, 23: .persistentStoreOpen
      case 26: .persistentStoreTypeMismatch
      case 19: .managedObjectConstraintMerge
      default: .sqlite
      }
    return error(
      code, "\(doing): \(sqlite.message) (SQLite \(sqlite.code))",
      [
        NSSQLiteErrorDomain: NSNumber(value: sqlite.code),
        NSUnderlyingErrorKey: NSError(domain: NSSQLiteErrorDomain, code: Int(sqlite.code)),
      ])
  }

  /// Runs the body; SQLite's errors come out as Core Data's.
  static func translating<T>(_ doing: @autoclosure () -> String, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as SQLiteError {
      throw CoreDataErrors.error(error, doing())
    }
  }
}
