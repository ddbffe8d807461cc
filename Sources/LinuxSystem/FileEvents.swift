import CSystem
import Glibc

/// Tells what happens to files and directories: the events of inotify(7).
///
/// It locks nothing: a caller that uses it on several threads does. ``descriptor`` may be waited for on any thread.
package final class FileEvents {
  /// What happened.
  package struct Event: Equatable, Sendable {
    /// The number that ``add(_:mask:)`` returned; -1 for ``wereLost``.
    package let watch: Int32
    /// Bits of inotify(7): `IN_MODIFY`, for example.
    package let mask: UInt32
    /// The name of the file in a directory that is watched; `nil` for events of what is watched itself.
    package let name: String?

    /// Whether the kernel had no room for further events.
    package var wereLost: Bool { mask & UInt32(IN_Q_OVERFLOW) != 0 }
  }

  private let file: Descriptor
  private var buffer: [UInt8]
  /// Readable while events wait.
  package var descriptor: Int32 { file.number }

  /// - Parameter capacity: bytes that are read at a time; one event needs up to 272 (`NAME_MAX` + 17).
  /// - Throws: when the user has as many instances as allowed (fs.inotify.max_user_instances).
  package init(capacity: Int = 64 * 1024) throws(SystemCallError) {
    file = try Descriptor(csystem_inotify(), "inotify_init1")
    buffer = [UInt8](repeating: 0, count: capacity)
  }

  /// The mask of these events (`IN_…`), for `add(_:mask:)`.
  package static func mask(_ events: Int32...) -> UInt32 { events.reduce(0) { $0 | UInt32(bitPattern: $1) } }

  /// Begins to watch a file or directory for the events in `mask`. Returns its number, the same for the same inode.
  ///
  /// - Throws: when there is nothing at the path, or the user has as many watches as allowed
  ///   (fs.inotify.max_user_watches).
  @discardableResult
  package func add(_ path: String, mask: UInt32) throws(SystemCallError) -> Int32 {
    let number = inotify_add_watch(descriptor, path, mask)
    guard number >= 0 else { throw SystemCallError("inotify_add_watch", path: path) }
    return number
  }

  /// Ends a watch.
  package func remove(_ watch: Int32) { inotify_rm_watch(descriptor, watch) }

  /// Takes events that wait, one buffer of them at most; empty when none waits.
  package func take() -> [Event] {
    var count = 0
    repeat { count = read(descriptor, &buffer, buffer.count) } while count < 0 && errno == EINTR
    guard count > 0 else { return [] }
    var events: [Event] = []
    buffer.withUnsafeBytes { bytes in
      var offset = 0
      var event = csystem_file_event()
      while csystem_next_file_event(bytes.baseAddress, count, &offset, &event) != 0 {
        events.append(
          Event(watch: Int32(event.watch), mask: event.mask, name: event.name.map { String(cString: $0) }))
      }
    }
    return events
  }

  /// Takes all events that wait, also those that come meanwhile.
  package func takeAll() -> [Event] {
    var events: [Event] = []
    while case let some = take(), !some.isEmpty { events += some }
    return events
  }
}
