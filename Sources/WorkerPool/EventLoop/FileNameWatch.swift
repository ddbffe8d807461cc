import Glibc
import LinuxSystem

/// Tells when something happens to the names of files: renamed, deleted or replaced (inotify(7)).
///
/// It watches the files themselves and not their directory, so that other files in it cause no event.
final class FileNameWatch {
  private let events: FileEvents
  var descriptor: Int32 { events.descriptor }

  init(_ paths: [String]) throws(SystemCallError) {
    events = try FileEvents(capacity: 4096)
    // A file that is deleted or replaced loses a link, which is a change of its attributes.
    for path in paths {
      try events.add(path, mask: FileEvents.mask(IN_ATTRIB, IN_MOVE_SELF, IN_DELETE_SELF))
    }
  }

  /// Takes all events that wait.
  func collect() { _ = events.takeAll() }
}
