extension CoreDataErrors {
  /// Core Data's error for an SQLite error.
  ///
  /// ```text
  /// SQLite                         Core Data                                 what a person does
  /// -----------------------------  ----------------------------------------  ---------------------------------
  /// 5 BUSY, 6 LOCKED               134090 persistentStoreTimeout             wait longer, find the other writer
  /// 14 CANTOPEN, 23 AUTH           134080 persistentStoreOpen                look at the path and its rights
  /// 19 CONSTRAINT                  133021 managedObjectConstraintMerge       another row has the values
  /// 26 NOTADB                      134010 persistentStoreTypeMismatch        it is not an SQLite file
  /// 11 CORRUPT, 13 FULL and all    134180 sqlite                             read the message, which has
  ///   others                                                                   SQLite's own sentence
  /// ```
  ///
  /// The extended code is in the user info under `NSSQLiteErrorDomain`.
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

  /// Runs the body and converts SQLite's errors, and values that cannot be stored, to Core Data's.
  package static func translating<T>(_ doing: @autoclosure () -> String, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as SQLiteError {
      throw CoreDataErrors.error(error, doing())
    } catch let value as RefusedValue {
      throw CoreDataErrors.error(value, doing())
    }
  }
}
