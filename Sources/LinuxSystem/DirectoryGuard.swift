import Foundation
import Glibc

/// Tells whether a path leads into a directory, under any name: through a symbolic link, or through a mount that shows
/// the directory, or one in it, at another place.
package struct DirectoryGuard {
  private let directories: Set<FileID>

  package init(_ path: String) {
    // A directory that cannot be listed is still known by itself.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    directories = Set(([path] + names.map { "\(path)/\($0)" }).compactMap(Self.directory))
  }

  private static func directory(_ path: String) -> FileID? {
    var status = stat()
    return stat(path, &status) == 0 && FileKind(status) == .directory ? FileID(status) : nil
  }

  /// Whether a file at the path would lie in the directory, or below it.
  package func contains(_ path: String) -> Bool {
    guard let resolved = FileID.resolve(URL(fileURLWithPath: path).deletingLastPathComponent().path) else {
      return false
    }
    var place = URL(fileURLWithPath: resolved, isDirectory: true)
    while true {
      if let directory = Self.directory(place.path), directories.contains(directory) { return true }
      if place.path == "/" { return false }
      place.deleteLastPathComponent()
    }
  }
}
