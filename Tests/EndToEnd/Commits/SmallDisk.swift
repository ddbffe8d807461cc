import Foundation
import Testing

/// A file system of a few MiB, to be filled: a tmpfs, which only root can mount.
final class SmallDisk {
  // Kept, since a directory with a mounted file system in it cannot be removed.
  private let place: TestPlace
  let path: String
  private var filler: String { path + "/filler" }

  static let isPossible: Bool = {
    guard geteuid() == 0, let place = try? TestPlace(), let disk = try? SmallDisk(place) else { return false }
    return FileManager.default.fileExists(atPath: disk.path)
  }()

  init(_ place: TestPlace, mebibytes: Int = 16) throws {
    self.place = place
    path = place.path("disk")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let mounted = try run("/usr/bin/env", ["mount", "-t", "tmpfs", "-o", "size=\(mebibytes)m", "tmpfs", path])
    try #require(mounted.code == 0, "\(mounted.errors)")
  }

  deinit { _ = try? run("/usr/bin/env", ["umount", "--lazy", path]) }

  /// Writes until nothing more fits.
  func fill() throws {
    let descriptor = open(filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    let bytes = [UInt8](repeating: 0, count: 4096)
    while write(descriptor, bytes, bytes.count) > 0 {}
    #expect(errno == ENOSPC)
  }

  /// Makes room for so many bytes again.
  func makeRoom(_ bytes: Int) throws {
    var status = stat()
    try #require(stat(filler, &status) == 0 && truncate(filler, status.st_size - bytes) == 0)
  }

  func empty() { unlink(filler) }
}
