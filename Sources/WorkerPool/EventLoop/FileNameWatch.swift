import CSystem
import Glibc
import LinuxSystem
import WorkerProtocol

/// Tells when something happens to the names of files: renamed, deleted or replaced (inotify(7)).
///
/// It watches the files themselves and not their directory, so that other files in it cause no event.
final class FileNameWatch {
  private let file: Descriptor
  var descriptor: Int32 { file.number }

  init(_ paths: [String]) throws(SystemCallError) {
    file = try Descriptor(csystem_inotify(), "inotify_init1")
    // A file that is deleted or replaced loses a link, which is a change of its attributes.
    let mask = UInt32(IN_ATTRIB) | UInt32(IN_MOVE_SELF) | UInt32(IN_DELETE_SELF)
    for path in paths {
      guard inotify_add_watch(descriptor, path, mask) >= 0 else {
        throw SystemCallError("inotify_add_watch", path: path)
      }
    }
  }

  /// Takes all events that wait.
  func collect() {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count > 0 || count < 0 && errno == EINTR { continue }
      return
    }
  }
}
