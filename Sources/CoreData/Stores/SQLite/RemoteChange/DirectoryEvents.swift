internal import CSystem

/// Reports the files in some directories that were written, created or replaced (inotify(7)).
///
/// It watches directories instead of files, because SQLite deletes and recreates the files beside a database. Not
/// `Sendable`: used under its owner's lock; only `descriptor` may be waited for elsewhere.
final class DirectoryEvents {
  let descriptor: Int32
  /// The paths of the directories by the kernel's numbers, with the number of requests for each.
  private var directories: [Int32: (path: String, count: Int)] = [:]
  private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

  init() throws {
    descriptor = csystem_inotify()
    guard descriptor >= 0 else { throw Self.error("no inotify descriptor") }
  }

  deinit { close(descriptor) }

  private static func error(_ what: String) -> NSError {
    CoreDataErrors.error(
      .persistentStoreOpen,
      "Changes by other processes cannot be observed: \(what): \(String(cString: strerror(errno))). "
        + "See fs.inotify.max_user_watches and max_user_instances in inotify(7).")
  }

  func watch(_ directory: String) throws {
    let mask = UInt32(IN_MODIFY) | UInt32(IN_CREATE) | UInt32(IN_MOVED_TO) | UInt32(IN_ONLYDIR)
    let number = inotify_add_watch(descriptor, directory, mask)
    guard number >= 0 else { throw Self.error("watching \(directory)") }
    directories[number, default: (directory, 0)].count += 1
  }

  func unwatch(_ directory: String) {
    guard let number = directories.first(where: { $0.value.path == directory })?.key else { return }
    directories[number]?.count -= 1
    guard directories[number]?.count == 0 else { return }
    directories[number] = nil
    inotify_rm_watch(descriptor, number)
  }

  /// Reads all pending events. Returns the files' paths; nil if events were lost.
  func collect() -> Set<String>? {
    var paths: Set<String>? = []
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else {
        if count < 0, errno == EINTR { continue }
        return paths
      }
      buffer.withUnsafeBytes { bytes in
        var offset = 0
        var event = csystem_file_event()
        while csystem_next_file_event(bytes.baseAddress, count, &offset, &event) != 0 {
          if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
            paths = nil
          } else if let name = event.name, let directory = directories[event.watch]?.path {
            paths?.insert("\(directory)/\(String(cString: name))")
          }
        }
      }
    }
  }
}
