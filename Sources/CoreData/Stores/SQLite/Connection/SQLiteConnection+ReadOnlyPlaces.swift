internal import CSQLite
internal import Glibc

/// Reading a database file in a directory that may not be written.
extension SQLiteConnection {
  /// The name by which SQLite opens the file for reading.
  ///
  /// In WAL mode a reader needs the log and its index, and makes them where they are missing. Where it may not, the
  /// file can be read as one that nobody changes, provided that there is no log: the last user of the file has then
  /// brought everything into it. Sources: https://www.sqlite.org/wal.html#read_only_databases,
  /// https://www.sqlite.org/uri.html#uriimmutable
  static func readOnlyName(of path: String) -> String {
    guard path.hasPrefix("/"), !mayWriteDirectory(of: path), !hasLog(path), isInWALMode(path) else { return path }
    return "file:" + path.utf8.map(escaped).joined() + "?immutable=1"
  }

  /// How a file that belongs to no open store is read: with the right to bring a log or journal into it that a killed
  /// process has left, where the directory may be written.
  static func readingAccess(to path: String) -> Access { mayWriteDirectory(of: path) ? .readWrite : .readOnly }

  /// Bytes 18 and 19 of the file are its write and read version: https://www.sqlite.org/fileformat.html, 1.3.3.
  ///
  /// SQLite reads them: if this process closed a descriptor of its own, it would lose all locks that its connections
  /// have on the file, and another process could delete the log or write at the same time. SQLite closes the file when
  /// the last lock is gone. Source: https://www.sqlite.org/howtocorrupt.html, 2.2.
  private static func isInWALMode(_ path: String) -> Bool {
    var connection: OpaquePointer?
    defer { sqlite3_close(connection) }
    guard sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, nil) == SQLITE_OK else { return false }
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let read = file.pointee.pMethods?.pointee.xRead
    else { return false }
    var header = [UInt8](repeating: 0, count: 20)
    let code = header.withUnsafeMutableBytes { read(file, $0.baseAddress, Int32($0.count), 0) }
    return code == SQLITE_OK && header[19] == 2
  }

  private static func hasLog(_ path: String) -> Bool {
    var status = stat()
    return stat(path + "-wal", &status) == 0 && status.st_size > 0
  }

  private static func mayWriteDirectory(of path: String) -> Bool {
    let directory = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
    return faccessat(AT_FDCWD, String(directory), W_OK, AT_EACCESS) == 0
  }

  /// A byte of a path in a URI.
  private static func escaped(_ byte: UInt8) -> String {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
      UInt8(ascii: "_"):
      return String(UnicodeScalar(byte))
    default:
      let digits = String(byte, radix: 16, uppercase: true)
      return "%" + (digits.count == 1 ? "0" : "") + digits
    }
  }
}
