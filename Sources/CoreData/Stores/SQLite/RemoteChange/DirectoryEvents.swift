internal import LinuxSystem

/// Reports the files in some directories that were written, created or replaced (inotify(7)).
///
/// It watches directories instead of files, because SQLite deletes and recreates the files beside a database. Not
/// `Sendable`: used under its owner's lock; only `descriptor` may be waited for elsewhere.
///
/// Two stores in one directory have one watch; `unwatch` ends it with the last of them. `collect` returns nil after an
/// overflow of the kernel's queue: then every file counts as written.
final class DirectoryEvents {
  private let events: FileEvents
  /// The paths of the directories by the kernel's numbers, with the number of requests for each.
  private var directories: [Int32: (path: String, count: Int)] = [:]
  var descriptor: Int32 { events.descriptor }

  init() throws {
    do { events = try FileEvents() } catch { throw Self.error("no inotify descriptor", error) }
  }

  private static func error(_ what: String, _ reason: SystemCallError) -> NSError {
    CoreDataErrors.error(
      .persistentStoreOpen,
      "Changes by other processes cannot be observed: \(what): \(String(cString: strerror(reason.number))). "
        + "See fs.inotify.max_user_watches and max_user_instances in inotify(7).")
  }

  /// IN_MODIFY is the write to the log, IN_CREATE and IN_MOVED_TO a file that came to a name. A mapped file (`-shm`)
  /// reports nothing when it is written, which is why the log is what wakes the watcher.
  func watch(_ directory: String) throws {
    let mask = UInt32(IN_MODIFY) | UInt32(IN_CREATE) | UInt32(IN_MOVED_TO) | UInt32(IN_ONLYDIR)
    do {
      directories[try events.add(directory, mask: mask), default: (directory, 0)].count += 1
    } catch { throw Self.error("watching \(directory)", error) }
  }

  func unwatch(_ directory: String) {
    guard let number = directories.first(where: { $0.value.path == directory })?.key else { return }
    directories[number]?.count -= 1
    guard directories[number]?.count == 0 else { return }
    directories[number] = nil
    events.remove(number)
  }

  /// Takes all events that wait. Returns the files' paths; nil if events were lost.
  func collect() -> Set<String>? {
    let events = events.takeAll()
    guard !events.contains(where: \.wereLost) else { return nil }
    return Set(
      events.compactMap { event in
        guard let name = event.name, let directory = directories[event.watch]?.path else { return nil }
        return "\(directory)/\(name)"
      })
  }
}
