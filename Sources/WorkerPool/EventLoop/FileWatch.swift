import Glibc
import LinuxSystem

/// Tells when any process changed a file's content (inotify(7)). Changes that were not collected yet are one event.
final class FileWatch {
  private let events: FileEvents
  var descriptor: Int32 { events.descriptor }

  /// - Throws: when there is no such file, or the user has as many watches as they may have.
  init(_ path: String) throws(SystemCallError) {
    events = try FileEvents(capacity: 4096)
    try events.add(path, mask: FileEvents.mask(IN_MODIFY, IN_DELETE_SELF, IN_MOVE_SELF))
  }

  private static let modification = FileEvents.mask(IN_MODIFY)

  /// Takes all events that wait. Returns whether the file still has its name, so that more will come.
  func collect() -> Bool { events.takeAll().allSatisfy { $0.mask == Self.modification } }
}
