import Foundation
import Jobs

/// The directory that job files come into, by its descriptor: what is listed, read, moved and removed is in that very
/// directory, whatever happens to its path.
final class IncomingDirectory: Sendable {
  let layout: QueueLayout
  private let incoming: Int32
  private let rejected: Int32

  init(layout: QueueLayout) throws {
    self.layout = layout
    incoming = try Self.open(layout.incoming)
    do {
      rejected = try Self.open(layout.rejected)
    } catch {
      close(incoming)
      throw error
    }
  }

  deinit {
    close(incoming)
    close(rejected)
  }

  private static func open(_ path: String) throws -> Int32 {
    let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(path: path, action: "be opened", errno: errno) }
    return descriptor
  }

  /// Whether a file of that name is for the pool: not hidden, and not still being written under a temporary name.
  ///
  static func isJobFileName(_ name: String) -> Bool { isForPool(name) && name.utf8.count <= longestName }

  private static func isForPool(_ name: String) -> Bool { !name.hasPrefix(".") && !name.hasSuffix(".tmp") }

  /// In bytes: the name of an `.error` file must fit beside it, too.
  private static let longestName = 240

  /// A file whose name no job file can have, being too long or not UTF-8: the name's bytes, with a zero at the end.
  struct Unusable {
    let bytes: [CChar]

    /// What it is called in `rejected/`: as much of the name as can be read.
    var legibleName: String {
      let text = String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      // Four bytes each at most.
      return String(String.UnicodeScalarView(text.unicodeScalars.prefix(longestName / 4)))
    }

    var reason: String {
      bytes.count - 1 > longestName ? "its name has more than \(longestName) bytes" : "its name is not UTF-8"
    }
  }

  /// The names of all job files that wait, in the order of their last changes unless they are very many, and what waits besides in vain.
  func names() throws -> (names: [String], unusable: [Unusable]) {
    // A new description: `fdopendir` takes its descriptor over, and a duplicate would share the reading position.
    let descriptor = openat(incoming, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0, let directory = fdopendir(descriptor) else {
      let reason = errno
      if descriptor >= 0 { close(descriptor) }
      throw FileError(path: layout.incoming, action: "be listed", errno: reason)
    }
    defer { closedir(directory) }
    var names: [String] = []
    var unusable: [Unusable] = []
    while let entry = readdir(directory) {
      withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { bytes in
          if let name = String(validatingCString: bytes), Self.isJobFileName(name) {
            names.append(name)
          } else if Self.isForPool(String(cString: bytes)) {
            unusable.append(Unusable(bytes: Array(UnsafeBufferPointer(start: bytes, count: strlen(bytes) + 1))))
          }
        }
      }
    }
    return (names.count <= Self.mostInOrder ? inOrder(names) : names, unusable)
  }

  /// To put so many files in order takes a moment; more would keep the first job waiting.
  static let mostInOrder = 100_000

  private func inOrder(_ names: [String]) -> [String] {
    let times = names.map { name in
      var status = stat()
      guard fstatat(incoming, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return Int64.max }
      return Self.nanoseconds(status.st_mtim)
    }
    return zip(times, names).sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.1)
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// What became of an attempt to read a file.
  enum Reading {
    case jobs([JobRequest], FileIdentity)
    /// The file is no good, and will not get better.
    case bad(String)
    /// Written a moment ago by somebody who does not rename: it is read when it has rested.
    case fresh
    /// No longer there.
    case gone
    /// Cannot be read now, through no fault of its own.
    case unreadable(FileError)
  }

  /// Reads and checks one file: a regular one, not a link or a pipe, not too large, and all of it right.
  ///
  /// - Parameter minimumAge: files that were changed less long ago, in nanoseconds, are `fresh`.
  func read(_ name: String, minimumAge: Int64) -> Reading {
    // O_NONBLOCK keeps a named pipe from blocking the open; O_NOFOLLOW fails with ELOOP on a symbolic link (open(2)).
    let descriptor = openat(incoming, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      switch errno {
      case ENOENT: return .gone
      case ELOOP: return .bad("is a symbolic link; a job file must be a regular file")
      case EACCES, EPERM: return .bad("may not be read by the pool's user")
      case ENXIO: return .bad("is a socket; a job file must be a regular file")
      case let reason: return .unreadable(FileError(path: path(name), action: "be opened", errno: reason))
      }
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      return .unreadable(FileError(path: path(name), action: "be examined", errno: errno))
    }
    guard status.st_mode & S_IFMT == S_IFREG else { return .bad("is not a regular file") }
    guard status.st_uid == geteuid() || status.st_uid == 0 else {
      return .bad("belongs to user \(status.st_uid); a job file must belong to the pool's user or to root")
    }
    guard status.st_size <= JobFile.maximumSize else {
      return .bad("is larger than \(JobFile.maximumSize) bytes")
    }
    let modified = Self.nanoseconds(status.st_mtim)
    if minimumAge > 0, abs(Self.now() - modified) < minimumAge { return .fresh }
    do {
      let bytes = try contents(descriptor, size: Int(status.st_size), name: name)
      let identity = FileIdentity(
        name: name, device: Int64(bitPattern: UInt64(status.st_dev)), inode: Int64(bitPattern: UInt64(status.st_ino)),
        modified: modified, size: Int64(status.st_size))
      return .jobs(try JobFile.parse(bytes), identity)
    } catch let error as JobFileError {
      return .bad(error.description)
    } catch let error as FileError {
      return .unreadable(error)
    } catch {
      return .bad("\(error)")
    }
  }

  private func contents(_ descriptor: Int32, size: Int, name: String) throws -> [UInt8] {
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
    guard failure == 0 else { throw FileError(path: path(name), action: "be read", errno: failure) }
    guard bytes.count == size else {
      throw FileError(path: path(name), action: "be read while it changes", errno: EAGAIN)
    }
    return bytes
  }

  private static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return nanoseconds(time)
  }

  private func path(_ name: String) -> String { layout.incoming + "/" + name }

  // MARK: Taking files away

  /// Removes files; ones that are gone already are fine. Returns for each what kept it, if something did.
  ///
  /// Many files are removed on several threads: a file system that gives freed blocks back to the disk at once
  /// (ext4's `discard`) lets each removal wait for the disk.
  func remove(_ names: [String]) -> [FileError?] {
    var failures = [FileError?](repeating: nil, count: names.count)
    let share = 64
    let shares = (names.count + share - 1) / share
    guard shares > 1 else {
      for (index, name) in names.enumerated() { failures[index] = remove(name) }
      return failures
    }
    failures.withUnsafeMutableBufferPointer { buffer in
      // Each iteration writes elements of its own.
      nonisolated(unsafe) let buffer = buffer
      DispatchQueue.concurrentPerform(iterations: shares) { number in
        for index in (number * share)..<min((number + 1) * share, names.count) { buffer[index] = remove(names[index]) }
      }
    }
    return failures
  }

  private func remove(_ name: String) -> FileError? {
    guard unlinkat(incoming, name, 0) == 0 || errno == ENOENT else {
      return FileError(path: path(name), action: "be removed", errno: errno)
    }
    return nil
  }

  /// Makes removals outlast a power failure.
  func synchronize() throws {
    guard fsync(incoming) == 0 else {
      throw FileError(path: layout.incoming, action: "be synchronised", errno: errno)
    }
  }

  /// Moves a bad file to `rejected/`, with a file beside it that says why. An older file of that name is kept.
  ///
  /// - Returns: the name that it has there.
  @discardableResult
  func reject(_ name: String, reason: String) throws -> String {
    try reject(Array(name.utf8CString), as: name, reason: reason)
  }

  /// Moves a file whose name no job file can have.
  func reject(_ file: Unusable) throws -> String {
    try reject(file.bytes, as: file.legibleName, reason: file.reason)
  }

  private func reject(_ bytes: [CChar], as name: String, reason: String) throws -> String {
    for number in 0..<10_000 {
      let target = number == 0 ? name : "\(name).\(number)"
      guard try makeErrorFile(target + ".error", text: "\(name): \(reason)\n") else { continue }
      if renameat(incoming, bytes, rejected, target) == 0 || errno == ENOENT { return target }
      let error = FileError(path: path(name), action: "be moved to \(layout.rejected)", errno: errno)
      unlinkat(rejected, target + ".error", 0)
      throw error
    }
    throw FileError(path: path(name), action: "be moved to \(layout.rejected)", errno: EEXIST)
  }

  /// False when a file of that name is there already.
  private func makeErrorFile(_ name: String, text: String) throws -> Bool {
    let descriptor = openat(rejected, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    if descriptor < 0, errno == EEXIST { return false }
    guard descriptor >= 0 else {
      throw FileError(path: layout.rejected + "/" + name, action: "be created", errno: errno)
    }
    defer { close(descriptor) }
    try text.utf8.writeAll(to: descriptor, path: layout.rejected + "/" + name)
    return true
  }
}
