import Foundation
import Jobs
import LinuxSystem

/// A job file that the pool has renamed into `taken/`, under a name that no other file ever has.
struct TakenJobFile: Sendable {
  let name: String
  let directory: OpenDirectory
  /// Where it came from; `nil` when an earlier process took it.
  let source: OpenDirectory?

  /// What the store notes of it.
  func key() throws(FileError) -> TakenFileKey { TakenFileKey(name, in: try directory.identity()) }

  /// The name that its producer gave it.
  var originalName: String { TakenFileNames.original(name) }

  /// What became of an attempt to read a file.
  enum Reading {
    /// Its jobs, and its size in bytes.
    case jobs([JobRequest], Int)
    /// The file is wrong, and stays so.
    case bad(String)
    /// It was written a moment ago, by a producer that does not rename files: it is read when it has rested.
    case fresh
    /// No longer there.
    case gone
    /// It cannot be read now, for a reason outside the file.
    case unreadable(FileError)
  }

  /// Reads and checks the file: a regular one, not a link or a pipe, not too large, and all of it right.
  ///
  /// - Parameter minimumAge: files that were changed less long ago, in nanoseconds, are `fresh`.
  func read(minimumAge: Int64, owners: FileOwnerRule) -> Reading {
    do throws(GuardedFile.Refusal) {
      let file = try GuardedFile(name, in: directory.descriptor, path: directory.path + "/" + name)
      if let refusal = owners.refusal(file.status, from: source) { return .bad(refusal) }
      if file.status.st_size <= JobFile.maximumSize, Self.isFresh(file.status, minimumAge: minimumAge) { return .fresh }
      return parse(try file.bytes(atMost: JobFile.maximumSize))
    } catch {
      switch error {
      case .missing: return .gone
      case .notRegular(let kind):
        return .bad(kind.map { "is \($0); a job file must be a regular file" } ?? "is not a regular file")
      case .notPermitted: return .bad("may not be read by the pool's user")
      case .tooLarge: return .bad("is larger than \(JobFile.maximumSize) bytes")
      case .changing: return .unreadable(self.error("be read while it changes", EAGAIN))
      case .failed(let error): return .unreadable(error)
      }
    }
  }

  private func parse(_ bytes: [UInt8]) -> Reading {
    do {
      return .jobs(try JobFile.parse(bytes), bytes.count)
    } catch {
      return .bad(error.description)
    }
  }

  /// Whether a file was changed less than `minimumAge` nanoseconds ago.
  static func isFresh(_ status: stat, minimumAge: Int64) -> Bool {
    guard minimumAge > 0 else { return false }
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return abs(OpenDirectory.nanoseconds(now) - OpenDirectory.nanoseconds(status.st_mtim)) < minimumAge
  }

  /// Removes the file; one that is gone already is fine.
  func remove() throws(FileError) {
    guard unlinkat(directory.descriptor, name, 0) == 0 || errno == ENOENT else { throw error("be removed", errno) }
  }

  private func error(_ action: String, _ reason: Int32) -> FileError {
    FileError(path: directory.path + "/" + name, action: action, errno: reason)
  }
}

/// Whose job files the pool takes: those of its own user and of root, and with `--allow-group` those of its group.
struct FileOwnerRule: Sendable {
  /// Whether files of other users are taken if their group is the pool's effective group.
  var allowsGroup = false

  /// Why a file is not taken; `nil` when it is.
  ///
  /// Two things prove that a member of the group put a file of another user there: the file's group, and a directory
  /// into which other users cannot put files. A file that everybody can write proves nothing.
  /// - Parameter source: the directory from which the file came.
  func refusal(_ status: stat, from source: OpenDirectory?) -> String? {
    if status.st_uid == geteuid() || status.st_uid == 0 { return nil }
    let owner = "belongs to user \(status.st_uid)"
    guard allowsGroup else {
      return
        "\(owner); a job file must belong to the pool's user or to root, unless the pool runs with --allow-group"
    }
    guard status.st_gid == getegid() else {
      return
        "\(owner) and group \(status.st_gid); a job file must belong to the pool's user, root or group \(getegid())"
    }
    guard status.st_mode & S_IWOTH == 0 else {
      return "\(owner) and everybody may write it; take that right away (chmod o-w)"
    }
    // Files that an earlier process took came through the same directory.
    guard let source else { return nil }
    var directory = stat()
    guard fstat(source.descriptor, &directory) == 0, directory.st_mode & S_IWOTH == 0 else {
      return "\(owner), and everybody may put files into \(source.path); take that right away (chmod o-w)"
    }
    return nil
  }
}
