import Foundation
import Jobs

/// A job file that the pool has made its own: it lies in `taken/` under a name that no other file ever has.
struct PrivateFile: Sendable {
  let name: String
  let directory: OpenDirectory
  /// Where it came from; `nil` when an earlier process took it.
  let source: OpenDirectory?

  /// The name that its producer gave it.
  var originalName: String { PrivateNames.original(name) }

  /// What became of an attempt to read a file.
  enum Reading {
    /// Its jobs, and its size in bytes.
    case jobs([JobRequest], Int)
    /// The file is wrong, and stays so.
    case bad(String)
    /// Somebody who does not rename files wrote it a moment ago: it is read when it has rested.
    case fresh
    /// No longer there.
    case gone
    /// It cannot be read now, which is not its fault.
    case unreadable(FileError)
  }

  /// Reads and checks the file: a regular one, not a link or a pipe, not too large, and all of it right.
  ///
  /// - Parameter minimumAge: files that were changed less long ago, in nanoseconds, are `fresh`.
  func read(minimumAge: Int64, owners: FileOwnerRule) -> Reading {
    // O_NONBLOCK keeps a named pipe from blocking the open; O_NOFOLLOW fails with ELOOP on a symbolic link (open(2)).
    let descriptor = openat(directory.descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      switch errno {
      case ENOENT: return .gone
      case ELOOP: return .bad("is a symbolic link; a job file must be a regular file")
      case EACCES, EPERM: return .bad("may not be read by the pool's user")
      case ENXIO: return .bad("is a socket; a job file must be a regular file")
      case let reason: return .unreadable(error("be opened", reason))
      }
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return .unreadable(error("be examined", errno)) }
    guard status.st_mode & S_IFMT == S_IFREG else { return .bad("is not a regular file") }
    if let refusal = owners.refusal(status, from: source) { return .bad(refusal) }
    guard status.st_size <= JobFile.maximumSize else { return .bad("is larger than \(JobFile.maximumSize) bytes") }
    if Self.isFresh(status, minimumAge: minimumAge) { return .fresh }
    do {
      let bytes = try contents(descriptor, size: Int(status.st_size))
      return .jobs(try JobFile.parse(bytes), bytes.count)
    } catch let error as JobFileError {
      return .bad(error.description)
    } catch let error as FileError {
      return .unreadable(error)
    } catch {
      return .bad("\(error)")
    }
  }

  /// Whether a file was changed less than so many nanoseconds ago.
  static func isFresh(_ status: stat, minimumAge: Int64) -> Bool {
    guard minimumAge > 0 else { return false }
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return abs(OpenDirectory.nanoseconds(now) - OpenDirectory.nanoseconds(status.st_mtim)) < minimumAge
  }

  private func contents(_ descriptor: Int32, size: Int) throws(FileError) -> [UInt8] {
    // One byte more than the file has, so that one that grows meanwhile is noticed.
    var failure: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: size + 1) { buffer, count in
      while count <= size {
        let got = Glibc.read(descriptor, buffer.baseAddress.map { $0 + count }, size + 1 - count)
        if got < 0, errno == EINTR { continue }
        if got < 0 { failure = errno }
        if got <= 0 { break }
        count += got
      }
    }
    guard failure == 0 else { throw error("be read", failure) }
    guard bytes.count == size else { throw error("be read while it changes", EAGAIN) }
    return bytes
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
  /// A file of another user proves by two things that a member of the group put it there: its group, and a directory into which
  /// nobody else can put files. A file that everybody can write proves nothing.
  /// - Parameter source: the directory from which the file came.
  func refusal(_ status: stat, from source: OpenDirectory?) -> String? {
    if status.st_uid == geteuid() || status.st_uid == 0 { return nil }
    let owner = "belongs to user \(status.st_uid)"
    guard allowsGroup else { return "\(owner); a job file must belong to the pool's user or to root" }
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
