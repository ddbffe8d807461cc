import Foundation
import Glibc
import Jobs
import LinuxSystem

/// The paths in a queue directory: `incoming/` for job files, `taken/` for those that the pool has made its own,
/// `rejected/` for bad ones, `periodic/` for jobs that come again and again, `run/` for the pool's sockets.
///
/// A pool makes the directories. A program that writes job files itself puts them under a temporary name on the same
/// file system, synchronises and renames them into `incoming`: ``JobSubmission`` does that.
///
/// ```swift
/// import PoolClient
///
/// let layout = QueueLayout(root: "queue/")
/// let names = try FileManager.default.contentsOfDirectory(atPath: layout.rejected)
/// print(names.filter { $0.hasSuffix(".error") }.count, "files were rejected")
/// ```
public struct QueueLayout: Hashable, Sendable {
  /// The path of the queue directory.
  public let root: String

  /// Describes the queue directory at a path; nothing is read or made.
  public init(root: String) { self.root = root }

  /// Producers rename their job files into this directory.
  public var incoming: String { root + "/incoming" }
  /// Taken files, until their jobs are on disk. Mode 0700, on the file system of `incoming/`.
  public var taken: String { root + "/taken" }
  /// Bad files are moved here, each with a `.error` file beside it.
  public var rejected: String { root + "/rejected" }
  /// Periodic entries, a file each.
  public var periodic: String { root + "/periodic" }
  /// The socket, ledger and identity of the pool. Mode 0700.
  public var run: String { root + "/run" }
  /// What the pool has logged. Mode 0700.
  package var log: String { root + "/log" }

  /// Where confined workers, and they alone, put temporary files.
  package var temporary: String { URL(fileURLWithPath: run).path + "/tmp" }
  /// The files with jobs that the pool settles for their workers.
  package var jobs: String { URL(fileURLWithPath: run).path + "/jobs" }
  /// The socket that a ``StatusClient`` connects to.
  package var statusSocket: String { run + "/status.sock" }
  /// Holds the process ID of the pool that runs.
  package var pidFile: String { run + "/pid" }
  /// The file by whose lock the pool's processes take turns at writing to the store.
  package var writeTurn: String { URL(fileURLWithPath: run).path + "/write-turn" }

  /// What a pool that ended while its server was away had claimed there.
  package var claims: String { run + "/claims" }

  /// The file in which a pool notes who holds which job.
  package func ledger(_ name: String) -> String { run + "/" + Self.ledgerPrefix + name }
  package static let ledgerPrefix = "ledger-"

  /// The mode of the directories that are the pool's alone.
  package static let privateMode: mode_t = 0o700

  /// The queue directory and all directories in it, each after the one that it lies in.
  package var directories: [String] { [root, incoming, rejected, periodic, run, taken, log] }

  /// Makes the directories that are missing; none if one of them cannot be made. The pool itself checks that `run/` and
  /// `taken/` belong to it, and makes its log.
  ///
  /// The modes of new directories are 0777 without the umask's bits, and 0700 for `run/` and `taken/`. Directories that
  /// exist stay as they are. `workerpool run` calls it: other programs need it only to prepare a queue directory before
  /// the first pool.
  ///
  /// - Throws: ``FileError`` for a path that is not a directory, or cannot be made one.
  public func create() throws {
    for path in directories { try checkDirectory(path) }
    for path in [root, incoming, rejected, periodic] { try makeDirectory(path, mode: 0o777) }
    for path in [run, taken] { try makeDirectory(path, mode: Self.privateMode) }
  }

  private func makeDirectory(_ path: String, mode: mode_t) throws(FileError) {
    if mkdir(path, mode) == 0 { return }
    let reason = errno
    guard reason == EEXIST else {
      throw FileError(path: path, action: "be made", errno: reason, reason: ownersReason(path, reason))
    }
    try checkDirectory(path)
  }

  /// Refuses what is in the place of a directory. Nothing is there in most cases.
  private func checkDirectory(_ path: String) throws(FileError) {
    var status = stat()
    guard stat(path, &status) == 0 else {
      // A link that leads nowhere: mkdir(2) does not follow it.
      guard lstat(path, &status) == 0 else { return }
      throw FileError(path: path, action: "be made", errno: EEXIST)
    }
    guard FileKind(status) == .directory else {
      let remedy =
        path == root ? "name a directory with --queue" : "the queue directory needs a directory there: move it away"
      throw FileError(
        path: path, action: "be made", errno: EEXIST,
        reason: "is \(FileKind(status)), not a directory; \(remedy)")
    }
  }

  /// What to do about a queue directory of another user; nil for another error, and another owner's parent directory.
  private func ownersReason(_ path: String, _ number: Int32) -> String? {
    var status = stat()
    guard [EACCES, EPERM].contains(number), stat(root, &status) == 0, status.st_uid != geteuid() else { return nil }
    return
      "cannot be made: \(String(cString: strerror(number))): the queue directory belongs to user \(status.st_uid), and "
      + "this is user \(geteuid()); run the pool as its owner, or name another directory with --queue"
  }
}
