internal import CSystem
internal import LinuxSystem

/// The files that killed migrations of version 1.0.0 have left beside stores. Their names do not tell of which store:
///
/// ```text
/// .8D9B9D24-AE06-418B-AD3B-AAD4EE0639A6.migration          with -wal and -shm, if it is a SQLite file
/// ..8D9B9D24-AE06-418B-AD3B-AAD4EE0639A6_SUPPORT           its external data
/// ```
///
/// Later versions use a `LockedDirectory`. These files are not locked. Two facts show that a process of that version no
/// longer needs them: no process has the SQLite file open, and a binary or XML file, which replaces the store as soon
/// as it is written, is a day old.
enum FormerMigrationFiles {
  /// Seconds without a change after which a file that nobody has open is left over.
  private static let leastAge = 86_400.0
  private static let ending = ".migration"

  /// Removes those of this user in a folder that no process needs.
  static func removeAbandoned(in folder: String) {
    // What cannot be listed or removed stays until the next migration.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    for name in names where name.hasPrefix(".") && name.hasSuffix(ending) {
      let beginning = String(name.dropLast(ending.count))
      guard UUID(uuidString: String(beginning.dropFirst())) != nil else { continue }
      // The file itself is removed last: without it the others would not be found again.
      let companions = names.filter { $0 != name && $0.contains(beginning) }
      let paths = (companions + [name]).map { "\(folder)/\($0)" }
      guard paths.allSatisfy(isAbandoned) else { continue }
      for path in paths { try? FileManager.default.removeItem(atPath: path) }
    }
  }

  private static func isAbandoned(_ path: String) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_uid == geteuid(),
      Date().timeIntervalSince1970 - Double(status.st_mtim.tv_sec) > leastAge
    else { return false }
    switch FileKind(status) {
    case .directory: return true
    case .regular:
      // A file that is gone or cannot be opened by its owner is left alone.
      guard let file = try? Descriptor(open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), "open")
      else { return false }
      return csystem_is_open_elsewhere(file.number) == 0
    default: return false
    }
  }
}
