import CSystem
import Glibc
import LinuxSystem
import WorkerProtocol

/// Tells when any process changed a file's content (inotify(7)). Changes that were not collected yet are one event.
final class FileWatch {
  private let file: Descriptor
  var descriptor: Int32 { file.number }
  private var buffer = [UInt8](repeating: 0, count: 4096)

  /// - Throws: when there is no such file, or the user has as many watches as they may have.
  init(_ path: String) throws(SystemCallError) {
    file = try Descriptor(csystem_inotify(), "inotify_init1")
    let mask = UInt32(IN_MODIFY) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)
    guard inotify_add_watch(descriptor, path, mask) >= 0 else {
      throw SystemCallError("inotify_add_watch", path: path)
    }
  }

  /// Takes all events that wait. Returns whether the file still has its name, so that more will come.
  func collect() -> Bool {
    var isThere = true
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return isThere }
      buffer.withUnsafeBytes { bytes in
        var offset = 0
        var event = csystem_file_event()
        while csystem_next_file_event(bytes.baseAddress, count, &offset, &event) != 0 {
          if event.mask & ~UInt32(IN_MODIFY) != 0 { isThere = false }
        }
      }
    }
  }
}
