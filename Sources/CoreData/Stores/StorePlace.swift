internal import LinuxSystem

/// The one rule for places of stores: where a path leads, and whether two places are the same.
extension URL {
  /// Whether a store at this place is in memory: `/dev/null` or a place below it.
  var isInMemoryStore: Bool { path == "/dev/null" || inMemoryStoreName != nil }

  /// Whether a store at this place is a PostgreSQL server's. The path is then no path of a file.
  package var isAtServer: Bool { scheme == "postgresql" || scheme == "postgres" }

  /// The name of a store in memory that coordinators share; nil for other places.
  var inMemoryStoreName: String? {
    let start = "/dev/null/"
    return path.hasPrefix(start) && path.count > start.count ? String(path.dropFirst(start.count)) : nil
  }

  /// Whether two stores cannot be here and there: the URLs are equal, or lead to one file by links of either kind, or
  /// will lead to one once it is there.
  ///
  /// ```text
  /// /data/Library.sqlite   /data/../data/Library.sqlite   the same text once it is put in order
  /// /data/Library.sqlite   /link/Library.sqlite           one inode, if the file is there
  /// /data/New.sqlite       /link/New.sqlite               not there yet: the paths without links are compared
  /// ```
  package func isSamePlace(as other: URL?) -> Bool {
    guard let other else { return false }
    if standardizedFileURL == other.standardizedFileURL { return true }
    guard isFileURL, other.isFileURL, !isInMemoryStore, !other.isInMemoryStore else { return false }
    if let file = FileID(path: path) { return file == FileID(path: other.path) }
    return realPath == other.realPath
  }

  /// The path without symbolic links, also for a file that is not there yet. SQLite keeps a store's log beside the file
  /// of this path.
  package var realPath: String {
    var file = standardizedFileURL
    // As many links as the kernel follows (path_resolution(7)).
    for _ in 0..<40 {
      let folder = file.deletingLastPathComponent()
      if let resolved = FileID.resolve(file.path) { return resolved }
      guard let destination = try? FileManager.default.destinationOfSymbolicLink(atPath: file.path) else {
        // Nothing is there, or what is there cannot be examined: the folder's path is as good as it gets.
        let name = file.lastPathComponent
        return FileID.resolve(folder.path).map { $0 == "/" ? "/\(name)" : "\($0)/\(name)" } ?? file.path
      }
      file = URL(fileURLWithPath: destination, relativeTo: folder).standardizedFileURL
    }
    return file.path
  }
}
