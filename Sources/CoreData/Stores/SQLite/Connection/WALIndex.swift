internal import CSQLite

/// The state of a write-ahead log that SQLite's processes share: its length, the copied part, and the readers' marks.
///
/// Others change it at any time: each number is right for the moment in which it was read.
/// Source: https://www.sqlite.org/walformat.html, "The WAL-Index Header".
///
/// ```text
/// offset   what                                  example
/// -------  ------------------------------------  --------------------------------------------------------
///  0- 47   header, and a copy of it at 48- 95    see `CommitMark`
/// 16       frames in the log                     5
/// 32       a salt: the log's generation
/// 96       frames that are in the file too       0: no checkpoint has run yet
/// 100      five read marks of four bytes         0, 4, -, -, -: mark 0 is for readers of the file alone, mark 1
///                                                for readers of the first 4 frames; - (2³²-1) was never used
/// ```
///
/// A checkpoint may copy no frame beyond the smallest mark in use. When all frames are copied and no reader uses one,
/// the next writer starts at the beginning of the log and changes the salt.
package struct WALIndex {
  /// The number of pages in the log.
  package let frames: Int
  /// The number of pages that are copied into the file. The next writer starts the log over if these are all and none
  /// has a reader.
  package let copiedFrames: Int
  /// Changes each time the log starts over.
  package let generation: UInt32
  /// The number of pages that the holders of each read lock see; nil for a read lock that was never used.
  package let readMarks: [Int?]
  private let pageSize: Int

  /// Each page in the log has a header of 24 bytes.
  package func bytes(frames: Int) -> Int { frames * (pageSize + 24) }

  fileprivate init(_ index: UnsafeRawPointer) {
    func number(_ offset: Int) -> UInt32 { index.load(fromByteOffset: offset, as: UInt32.self) }
    let size = index.load(fromByteOffset: 14, as: UInt16.self)
    // 1 stands for 65,536, which does not fit.
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
  /// The state in the log's index; nil for a database without one.
  ///
  /// The memory is read through SQLite's own file. Opening and closing the `-shm` file here would drop this process's
  /// locks on it (https://www.sqlite.org/howtocorrupt.html, 2.2).
  package func walIndex() throws -> WALIndex? { try walIndexMemory().map(WALIndex.init) }

  /// The first bytes of the log's index, which stay at their address until this connection closes; nil for a database
  /// without one.
  ///
  /// ```text
  /// PRAGMA journal_mode                     "wal"; reading the header makes SQLite map the index
  /// sqlite3_file_control(FILE_POINTER)      SQLite's own sqlite3_file, with its methods
  /// xShmMap(file, 0, 32768, 0)              the address of the first 32 KiB of the index
  /// ```
  ///
  /// The address stays until the connection closes, so later looks cost no call.
  func walIndexMemory() throws -> UnsafeRawPointer? {
    // It reads the file's header, which makes SQLite map the index. In other modes the call below would create one.
    guard case .text("wal")? = try rows("PRAGMA journal_mode").first?.first else { return nil }
    guard let file = mainFile, let map = file.pointee.pMethods?.pointee.xShmMap else { return nil }
    var region: UnsafeMutableRawPointer?
    // An index that may only be read is there, too.
    let code = map(file, 0, 32_768, 0, &region)
    guard code == SQLITE_OK || code == SQLITE_READONLY, let region else { return nil }
    return UnsafeRawPointer(region)
  }

  /// What the file's header says of commits; nil for a database with a log, whose commits come into the file later.
  ///
  /// Read through SQLite's own file, for the same reason.
  func fileMark() throws -> CommitMark? {
    if isImmutable { return CommitMark() }
    guard let file = mainFile, let read = file.pointee.pMethods?.pointee.xRead else { return nil }
    var header = [UInt8](repeating: 0, count: 40)
    let code = header.withUnsafeMutableBytes { read(file, $0.baseAddress, Int32($0.count), 0) }
    guard code == SQLITE_OK else { throw lastError(sql: nil) }
    return header[18] == 2 ? nil : header.withUnsafeBytes { CommitMark(fileHeader: $0) }
  }

  /// Syncs the database's file to the disk.
  ///
  /// Source: https://www.sqlite.org/c3ref/io_methods.html, `xSync`.
  package func synchronizeFile() throws {
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
