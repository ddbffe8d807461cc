import Foundation
import Glibc
import Jobs

/// Whether a pool can write a store.
///
/// SQLite opens a store without write permission for reading, and each write fails later.
enum StoreFitness {
  /// Throws ``Pool/StartError`` for something other than a regular file, and for a store, or a directory of it, that
  /// this process may not write.
  static func requireWritable(_ path: String) throws(Pool.StartError) {
    do {
      try StoreFiles.requireRegular(path)
    } catch {
      throw .store(path: path, reason: error.reason)
    }
    if access(path, F_OK) == 0, access(path, W_OK) != 0 {
      throw .storeIsReadOnly(path: path, directory: nil, reason: String(cString: strerror(errno)))
    }
    // SQLite makes the log and its index there.
    let directory = URL(fileURLWithPath: path).resolvingSymlinksInPath().deletingLastPathComponent().path
    if access(directory, F_OK) != 0, errno == ENOENT {
      throw .store(path: path, reason: "there is no directory \(directory); make it first")
    }
    if access(directory, W_OK | X_OK) != 0 {
      throw .storeIsReadOnly(path: path, directory: directory, reason: String(cString: strerror(errno)))
    }
  }

  /// Throws ``Pool/StartError`` for a file that has several names. The log beside a store bears the store's name: under
  /// another name the store lacks what stands in it, and is overwritten by it later.
  ///
  /// Source: https://www.sqlite.org/howtocorrupt.html, section 2.5.
  static func requireOneName(_ path: String) throws(Pool.StartError) {
    var status = stat()
    guard stat(path, &status) == 0, status.st_nlink > 1 else { return }
    throw .store(
      path: path,
      reason: "the file has \(status.st_nlink) names (hard links), and SQLite keeps a log for each of them: remove all "
        + "names but the one that was used last, or use a symbolic link")
  }
}
