import Foundation
import Glibc

/// Tells whether a path leads into a directory, under any name: through a symbolic link, or through a mount that shows
/// the directory, or one in it, at another place.
package struct DirectoryGuard {
  /// What tells one directory from all others.
  private struct Identity: Hashable {
    let device: dev_t
    let file: ino_t

    init?(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
      (device, file) = (status.st_dev, status.st_ino)
    }
  }

  private let directories: Set<Identity>

  package init(_ path: String) {
    // A directory that cannot be listed is still known by itself.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    directories = Set(([path] + names.map { "\(path)/\($0)" }).compactMap(Identity.init))
  }

  /// Whether a file at the path would lie in the directory, or below it.
  package func contains(_ path: String) -> Bool {
    guard let resolved = Glibc.realpath(URL(fileURLWithPath: path).deletingLastPathComponent().path, nil) else {
      return false
    }
    defer { free(resolved) }
    var place = URL(fileURLWithPath: String(cString: resolved), isDirectory: true)
    while true {
      if let identity = Identity(place.path), directories.contains(identity) { return true }
      if place.path == "/" { return false }
      place.deleteLastPathComponent()
    }
  }
}
