import Glibc
import Jobs
import LinuxSystem
import PoolClient

/// The queue directory at a moment. It has another one when a name has come into `incoming/` or gone from it, and when
/// another directory has taken the place of one of its parts.
///
/// Costs eight system calls; a scan costs those of two threads that wake up besides.
struct QueueMoment: Equatable {
  private let parts: [FileID]
  /// When a name came into `incoming/` last, or went.
  private let nanoseconds: Int64

  /// Nil if one of the directories is missing, or cannot be looked at.
  init?(_ layout: QueueLayout) {
    // It is opened, since a network file system asks its server only then (nfs(5), close-to-open consistency).
    let incoming = open(layout.incoming, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard incoming >= 0 else { return nil }
    defer { close(incoming) }
    var status = stat()
    guard fstat(incoming, &status) == 0 else { return nil }
    let others = [layout.taken, layout.rejected, layout.periodic].compactMap { FileID(path: $0) }
    guard others.count == 3 else { return nil }
    parts = [FileID(status)] + others
    nanoseconds = max(OpenDirectory.nanoseconds(status.st_mtim), OpenDirectory.nanoseconds(status.st_ctim))
  }

  /// Whether a later change surely gives the directory another time.
  var isOld: Bool { OpenDirectory.isOld(nanoseconds) }
}
