internal import CSQLite

extension SQLiteConnection {
  /// The absolute path of the open database file with symbolic links resolved. The log is beside that file.
  ///
  /// Source: https://www.sqlite.org/c3ref/db_filename.html
  package var fileName: String {
    guard let name = sqlite3_db_filename(handle, "main"), name.pointee != 0 else { return path }
    return String(cString: name)
  }
}
