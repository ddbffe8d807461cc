import Glibc
import LinuxSystem

/// Tells when files come into plugin directories, or change there (inotify(7)). On file systems of other machines it
/// tells nothing of what others change.
///
/// `@unchecked Sendable`: `add` may block and is called on other threads; it uses the descriptor only, which the kernel
/// guards. Everything else is used on the loop's thread.
final class PluginFileWatch: @unchecked Sendable {
  private let events: FileEvents
  var descriptor: Int32 { events.descriptor }

  init() throws(SystemCallError) { events = try FileEvents() }

  /// Begins to watch a directory. One that is not there, or cannot be watched, tells nothing.
  func add(_ directory: String) {
    let mask = IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB | IN_ONLYDIR
    // The caller looks from time to time in any case.
    _ = try? events.add(directory, mask: UInt32(mask))
  }

  /// The names of files that have come or changed, each once.
  func collect() -> Set<String> { Set(events.take().compactMap(\.name)) }
}
