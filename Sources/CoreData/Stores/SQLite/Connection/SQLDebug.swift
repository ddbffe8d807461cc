internal import CSQLite
internal import Glibc

/// Prints the statements that run, if it is on: by the launch argument `-com.apple.CoreData.SQLDebug n`, or an
/// environment variable with this name. 1 prints each statement and its duration, 3 and more also its values.
///
///     CoreData: sql: SELECT t0.Z_PK FROM ZPERSON t0 WHERE t0.ZNAME = ?
///     CoreData: annotation: 0.0004s
enum SQLDebug {
  /// 0, the default, prints nothing.
  static let level = LaunchArgument.value("SQLDebug").flatMap(Int.init) ?? 0

  /// The level from which values are printed in place of the parameters.
  private static let levelOfValues = 3

  /// Makes SQLite report each statement of the connection when it ends, with its duration
  /// (https://www.sqlite.org/c3ref/c_trace.html, SQLITE_TRACE_PROFILE).
  static func install(on connection: OpaquePointer) {
    guard level > 0 else { return }
    sqlite3_trace_v2(
      connection, UInt32(SQLITE_TRACE_PROFILE),
      { _, _, statement, nanoseconds in
        guard let statement, let nanoseconds else { return 0 }
        SQLDebug.print(OpaquePointer(statement), nanoseconds.load(as: Int64.self))
        return 0
      }, nil)
  }

  private static func print(_ statement: OpaquePointer, _ nanoseconds: Int64) {
    var text = ""
    if level >= levelOfValues, let expanded = sqlite3_expanded_sql(statement) {
      text = String(cString: expanded)
      sqlite3_free(expanded)
    } else if let sql = sqlite3_sql(statement) {
      text = String(cString: sql)
    }
    let seconds = String(format: "%.4f", Double(nanoseconds) / 1e9)
    // One write for both lines, so that lines of several threads do not mix.
    let lines = Array("CoreData: sql: \(text)\nCoreData: annotation: \(seconds)s\n".utf8)
    _ = write(STDERR_FILENO, lines, lines.count)
  }
}
