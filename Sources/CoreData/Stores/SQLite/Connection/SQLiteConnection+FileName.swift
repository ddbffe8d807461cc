internal import CSQLite

extension SQLiteConnection {
  /// The absolute path of the database file that is open, symbolic links resolved; the log lies beside that.
  ///
  /// Source: https://www.sqlite.org/c3ref/db_filename.html
  var fileName: String {
    guard let name = sqlite3_db_filename(handle, "main"), name.pointee != 0 else { return path }
    return String(cString: name)
  }
}
