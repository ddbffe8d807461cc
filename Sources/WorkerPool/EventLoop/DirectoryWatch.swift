import CSystem
import Glibc
import WorkerProtocol

/// Tells when a file has come into a directory: renamed into it, or closed after it was written (inotify(7)).
final class DirectoryWatch {
  /// What a look at the descriptor found.
  struct Changes: Equatable {
    /// Names of the files that came, each once for each event.
    var names: [String] = []
    /// Events were lost, or the directory itself is gone: scan it.
    var needsScan = false
  }

  let descriptor: Int32
  private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

  init(_ path: String) throws(SystemCallError) {
    descriptor = csystem_inotify()
    guard descriptor >= 0 else { throw SystemCallError("inotify_init1") }
    let mask = UInt32(IN_MOVED_TO) | UInt32(IN_CLOSE_WRITE) | UInt32(IN_ONLYDIR) | UInt32(IN_DELETE_SELF)
    guard inotify_add_watch(descriptor, path, mask) >= 0 else {
      throw SystemCallError("inotify_add_watch", path: path)
    }
  }

  deinit { close(descriptor) }

  /// Reads all events that wait.
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
        let headerSize = MemoryLayout<inotify_event>.size
        while offset + headerSize <= count {
          let event = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
          if event.mask & (UInt32(IN_Q_OVERFLOW) | UInt32(IN_DELETE_SELF) | UInt32(IN_IGNORED)) != 0 {
            changes.needsScan = true
          } else if event.len > 0 {
            let name = bytes[(offset + headerSize)..<(offset + headerSize + Int(event.len))].prefix { $0 != 0 }
            changes.names.append(String(decoding: name, as: UTF8.self))
          }
          offset += headerSize + Int(event.len)
        }
      }
    }
  }
}
