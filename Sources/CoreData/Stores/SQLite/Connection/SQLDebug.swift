internal import CSQLite
internal import Glibc

/// Prints the statements that run, if it is on: by the launch argument `-com.apple.CoreData.SQLDebug n`, or an
/// environment variable with this name. 1 prints each statement and its duration, 3 and more also its values.
///
///     CoreData: sql: SELECT t0.Z_PK FROM ZPERSON t0 WHERE t0.ZNAME = ?
///     CoreData: annotation: 0.0004s
///
/// Reports slow statements with SQLite's plan for them, too: see `SlowStatements`.
enum SQLDebug {
  /// 0, the default, prints nothing.
  static let level = LaunchArgument.value("SQLDebug").flatMap(Int.init) ?? 0

  /// The level from which values are printed in place of the parameters.
  private static let levelOfValues = 3

  /// Makes SQLite report each statement of the connection when it ends, with its duration
  /// (https://www.sqlite.org/c3ref/c_trace.html, SQLITE_TRACE_PROFILE).
  static func install(on connection: OpaquePointer) {
    guard level > 0 || SlowStatements.limit < .infinity else { return }
    sqlite3_trace_v2(
      connection, UInt32(SQLITE_TRACE_PROFILE),
      { _, _, statement, nanoseconds in
        guard let statement, let nanoseconds else { return 0 }
        SQLDebug.ended(OpaquePointer(statement), nanoseconds.load(as: Int64.self))
        return 0
      }, nil)
  }

  private static func ended(_ statement: OpaquePointer, _ nanoseconds: Int64) {
    let duration = Double(nanoseconds) / 1e9
    let isSlow = duration >= SlowStatements.limit
    guard level > 0 || isSlow, let sql = sqlite3_sql(statement).map({ String(cString: $0) }) else { return }
    if level > 0 { print(sql, statement, duration) }
    // Not the statements that ask for a plan themselves.
    guard isSlow, !sql.hasPrefix("EXPLAIN ") else { return }
    let plan = SlowStatements.wantsPlan(of: sql, duration) ? plan(of: sql, sqlite3_db_handle(statement)) : []
    SlowStatements.report(SlowStatement(sql: sql, seconds: duration, plan: plan))
  }

  private static func print(_ sql: String, _ statement: OpaquePointer, _ duration: Double) {
    var text = sql
    if level >= levelOfValues, let expanded = sqlite3_expanded_sql(statement) {
      text = String(cString: expanded)
      sqlite3_free(expanded)
    }
    // One write for both lines, so that lines of several threads do not mix.
    let bytes = Array("CoreData: sql: \(text)\nCoreData: annotation: \(String(format: "%.4f", duration))s\n".utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
  }

  /// The plan of a statement that has just ended; empty for a database in memory, and where it cannot be found out.
  ///
  /// Another connection asks for it: SQLite is still at work on this one.
  private static func plan(of sql: String, _ connection: OpaquePointer?) -> [String] {
    guard let path = sqlite3_db_filename(connection, "main").map({ String(cString: $0) }), !path.isEmpty,
      // A plan is a help. Whether a writer locks the file, or the tables are temporary, the statement is printed.
      let other = try? SQLiteConnection(path: path, access: .readOnly, busyTimeout: 0),
      let plan = try? other.plan(of: sql)
    else { return [] }
    return plan
  }
}
