import Glibc
import LinuxSystem

/// Tells when a file has come into a directory: renamed into it, or closed after it was written (inotify(7)).
final class DirectoryWatch {
  /// What the descriptor told.
  struct Changes: Equatable {
    /// Names of the files that came, each once for each event.
    var names: [String] = []
    /// Events were lost, or the directory itself was moved or deleted: the directory must be scanned.
    var needsScan = false
  }

  private let events: FileEvents
  var descriptor: Int32 { events.descriptor }

  init(_ path: String) throws(SystemCallError) {
    events = try FileEvents()
    try events.add(
      path, mask: FileEvents.mask(IN_MOVED_TO, IN_CLOSE_WRITE, IN_ONLYDIR, IN_MOVE_SELF, IN_DELETE_SELF))
  }

  private static let scanMask =
    UInt32(IN_Q_OVERFLOW) | UInt32(IN_MOVE_SELF) | UInt32(IN_DELETE_SELF) | UInt32(IN_IGNORED)

  /// Reads events that wait, at most one buffer of them: a directory to which files come without end does not keep the
  /// caller.
  func collect() -> Changes {
    var changes = Changes()
    for event in events.take() {
      if event.mask & Self.scanMask != 0 {
        changes.needsScan = true
      } else if let name = event.name {
        changes.names.append(name)
      }
    }
    return changes
  }
}
