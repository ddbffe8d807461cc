internal import CSQLite

/// What SQLite's processes share about a write-ahead log: how long it is, how much of it is in the file, what readers see.
///
/// Others change it at any time: each number is true for the moment in which it was read.
/// Source: https://www.sqlite.org/walformat.html, "The WAL-Index Header".
struct WALIndex {
  /// Pages that the log holds.
  let frames: Int
  /// Pages of the log that are in the file, too: the next writer begins the log anew when that is all of them and nobody reads any.
  let copiedFrames: Int
  /// Changes each time that the log begins anew.
  let generation: UInt32
  /// How many pages of the log each place for readers lets them see; nil for a place that was never used.
  let readMarks: [Int?]
  private let pageSize: Int

  /// Each page has a header of 24 bytes in the log.
  func bytes(frames: Int) -> Int { frames * (pageSize + 24) }

  fileprivate init(_ index: UnsafeRawPointer) {
    func number(_ offset: Int) -> UInt32 { index.load(fromByteOffset: offset, as: UInt32.self) }
    let size = index.load(fromByteOffset: 14, as: UInt16.self)
    // 1 stands for 65,536, which has no room.
    pageSize = size == 1 ? 65_536 : Int(size)
    frames = Int(number(16))
    generation = number(32)
    copiedFrames = Int(number(96))
    readMarks = (0..<5).map { slot in
      let mark = number(100 + 4 * slot)
      return mark == .max ? nil : Int(mark)
    }
  }
}

extension SQLiteConnection {
  /// What the index of the log says; nil for a database that has none.
  ///
  /// The memory is reached through SQLite's own file. Opening the `-shm` file here and closing it again would drop the locks that this
  /// process holds on it (https://www.sqlite.org/howtocorrupt.html, 2.2).
  func walIndex() throws -> WALIndex? {
    // Reads the file's header, and so has SQLite map the index; in other modes the call below would make one.
    guard case .text("wal")? = try rows("PRAGMA journal_mode").first?.first else { return nil }
    guard let file = mainFile, let map = file.pointee.pMethods?.pointee.xShmMap else { return nil }
    var region: UnsafeMutableRawPointer?
    guard map(file, 0, 32_768, 0, &region) == SQLITE_OK, let region else { return nil }
    return WALIndex(region)
  }

  /// Brings what was written into the database's file to the disk.
  ///
  /// Source: https://www.sqlite.org/c3ref/io_methods.html, `xSync`.
  func synchronizeFile() throws {
    guard let file = mainFile, let sync = file.pointee.pMethods?.pointee.xSync else { return }
    let code = sync(file, SQLITE_SYNC_NORMAL)
    guard code == SQLITE_OK else {
      throw SQLiteError(code: code, message: "\(String(cString: sqlite3_errstr(code))): \(path)", sql: nil)
    }
  }

  /// Source: https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html, `SQLITE_FCNTL_FILE_POINTER`.
  private var mainFile: UnsafeMutablePointer<sqlite3_file>? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    return sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK ? file : nil
  }
}
