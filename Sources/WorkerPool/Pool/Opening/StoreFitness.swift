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
}
