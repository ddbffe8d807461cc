import CSystem
import Glibc
import LinuxSystem
import WorkerProtocol

/// Tells when a file has come into a directory: renamed into it, or closed after it was written (inotify(7)).
final class DirectoryWatch {
  /// What the descriptor told.
  struct Changes: Equatable {
    /// Names of the files that came, each once for each event.
    var names: [String] = []
    /// Events were lost, or the directory itself was moved or deleted: the directory must be scanned.
    var needsScan = false
  }

  private let file: Descriptor
  var descriptor: Int32 { file.number }
  private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

  init(_ path: String) throws(SystemCallError) {
    file = try Descriptor(csystem_inotify(), "inotify_init1")
    let mask =
      UInt32(IN_MOVED_TO) | UInt32(IN_CLOSE_WRITE) | UInt32(IN_ONLYDIR) | UInt32(IN_MOVE_SELF) | UInt32(IN_DELETE_SELF)
    guard inotify_add_watch(descriptor, path, mask) >= 0 else {
      throw SystemCallError("inotify_add_watch", path: path)
    }
  }

  private static let scanMask =
    UInt32(IN_Q_OVERFLOW) | UInt32(IN_MOVE_SELF) | UInt32(IN_DELETE_SELF) | UInt32(IN_IGNORED)

  /// Reads events that wait, at most one buffer of them: a directory to which files come without end does not keep the
  /// caller.
  func collect() -> Changes {
    var changes = Changes()
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else {
        if count < 0, errno == EINTR { continue }
        return changes
      }
      buffer.withUnsafeBytes { bytes in
        var offset = 0
        var event = csystem_file_event()
        while csystem_next_file_event(bytes.baseAddress, count, &offset, &event) != 0 {
          if event.mask & Self.scanMask != 0 {
            changes.needsScan = true
          } else if let name = event.name {
            changes.names.append(String(cString: name))
          }
        }
      }
      return changes
    }
  }
}
