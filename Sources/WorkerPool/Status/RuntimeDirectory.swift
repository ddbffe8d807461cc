import Foundation
import Glibc
import WorkerProtocol

/// Where a pool keeps its sockets while it runs: `run/` inside the queue directory, mode 0700.
struct RuntimeDirectory {
  let path: String

  init(queue: String) {
    path = queue + "/run"
  }

  var workerSocket: String { path + "/workers.sock" }
  var statusSocket: String { path + "/status.sock" }
  /// The file by whose lock the pool's processes take turns at writing to the store.
  var writeTurn: String { URL(fileURLWithPath: path).path + "/write-turn" }
  private var lockFile: String { path + "/lock" }

  /// Another pool runs on this queue directory.
  struct Occupied: Error, CustomStringConvertible {
    let path: String
    var description: String { "another pool runs on \(path)" }
  }

  /// Makes the directory and locks it; the lock lasts until the descriptor is closed, which the kernel does for a process that
  /// dies. Throws ``Occupied`` or `SystemCallError`.
  func claim() throws -> Int32 {
    if mkdir(path, 0o700) != 0, errno != EEXIST { throw SystemCallError("mkdir", path: path) }
    guard chmod(path, 0o700) == 0 else { throw SystemCallError("chmod", path: path) }
    let descriptor = open(lockFile, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemCallError("open", path: lockFile) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      throw Occupied(path: path)
    }
    return descriptor
  }

  /// Takes the sockets away.
  func clear() {
    unlink(workerSocket)
    unlink(statusSocket)
  }
}
