import Foundation
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

/// `run/` in the queue directory, mode 0700: the sockets of the pool, its process ID and its identity.
struct RuntimeDirectory {
  private let layout: QueueLayout
  private var path: String { layout.run }
  private var queue: String { layout.root }

  init(queue: String) { layout = QueueLayout(root: queue) }

  /// Holds the identity of the pools on this queue directory.
  private var identityFile: String { path + "/identity" }
  private var pidFile: String { layout.pidFile }

  /// Another pool runs on this queue directory.
  struct Occupied: Error, CustomStringConvertible {
    let queue: String
    let pid: String?
    /// Whether that process is not there, or not in this container.
    var isGone = false

    var description: String {
      if isGone {
        return "\(queue) is locked, and its pool, process \(pid ?? ""), does not run here: a process that it was "
          + "starting still has the directory open, or the pool runs in another container; try again, or stop that pool"
      }
      return "another pool\(pid.map { ", process \($0)," } ?? "") runs on \(queue); a queue directory has one pool: "
        + "stop that one first (workerpool stop --queue \(ShellWord.quoted(queue)))"
    }
  }

  /// The file or directory at the path cannot be trusted.
  struct Unsafe: Error, CustomStringConvertible {
    let path: String
    let reason: String
    var description: String { "\(path) cannot be used: \(reason)" }
  }

  /// The lock that makes one pool the only one of a queue directory, until it is released or its process ends.
  struct Lock {
    let descriptor: Descriptor

    /// Lets another pool have the directory. Closing the descriptor would not do: a child has a copy until it runs its
    /// program.
    func release() { flock(descriptor.number, LOCK_UN) }
  }

  /// Makes the directory and locks the queue directory. Waits up to a second for the lock of a process that is gone.
  /// Throws ``Occupied``, ``Unsafe`` or `SystemCallError`.
  ///
  /// The queue directory itself is locked, and no file in it: a file could be removed, and a second pool would lock its
  /// successor.
  ///
  /// - Parameter inherited: the descriptor by which the program before this one in the process has locked it; nil where
  ///   none was.
  func lock(_ inherited: Int32? = nil) throws -> Lock {
    try makeSafe()
    let descriptor = try Descriptor(
      inherited ?? open(queue, O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open", path: queue)
    var patience = LockPatience()
    while flock(descriptor.number, LOCK_EX | LOCK_NB) != 0 {
      if errno != EWOULDBLOCK { throw SystemCallError("flock", path: queue) }
      // A pool that begins has not written the file, and one that ends has removed it.
      let text = try? String(contentsOfFile: pidFile, encoding: .utf8)
      let pid = text.flatMap { Int32($0) }
      guard !patience.waits(for: pid) else { continue }
      throw Occupied(queue: queue, pid: text, isGone: pid.map(ProcFile.isGoneOrDying) ?? false)
    }
    let lock = Lock(descriptor: descriptor)
    do {
      unlink(pidFile)
      try writePID()
    } catch {
      lock.release()
      throw error
    }
    return lock
  }

  /// The identity of the pools on this queue directory, by which they know their processes: 128 random bits in
  /// hexadecimal. It is made once, and bound to the directory: a copy of the directory gets one of its own.
  ///
  /// - Throws: `FileError`.
  func identity() throws -> String {
    guard let directory = FileID(path: queue) else {
      throw FileError(path: queue, action: "be examined", errno: errno)
    }
    // A file that cannot be read is written anew.
    if let text = try? String(contentsOfFile: identityFile, encoding: .utf8) {
      let words = text.split(whereSeparator: \.isWhitespace)
      if words.count == 2, words[0].count == 32, FileID(words[1]) == directory { return String(words[0]) }
    }
    let identity = RandomName.make()
    try write(identity, of: directory)
    return identity
  }

  private func write(_ identity: String, of directory: FileID) throws(FileError) {
    // The lock is held, so no other pool writes the file.
    try ReplacingFile.write(
      "\(identity) \(directory)\n".utf8, to: identityFile, mode: 0o600, temporaryName: "identity.new",
      surviving: .processes)
  }

  private func writePID() throws { try "\(getpid())".write(toFile: pidFile, atomically: false, encoding: .utf8) }

  /// Makes the directory and its files again where they are missing; the caller holds the lock. Returns the names of
  /// those that were missing.
  ///
  /// - Parameter identity: that of the running pool; nil in a process that keeps none.
  /// - Throws: ``Unsafe``, `SystemCallError` or `FileError`.
  func restore(identity: String?) throws -> [String] {
    var restored: [String] = []
    if access(path, F_OK) != 0 { restored.append("run") }
    try makeSafe()
    guard let identity, let directory = FileID(path: queue) else { return restored }
    if access(identityFile, F_OK) != 0 {
      try write(identity, of: directory)
      restored.append("identity")
    }
    if access(pidFile, F_OK) != 0 {
      try writePID()
      restored.append("pid")
    }
    return restored
  }

  /// The directory belongs to this user, and other users cannot look into it.
  private func makeSafe() throws {
    if mkdir(path, 0o700) != 0, errno != EEXIST { throw SystemCallError("mkdir", path: path) }
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOTDIR || errno == ELOOP { throw Unsafe(path: path, reason: "it is not a directory") }
      throw SystemCallError("open", path: path)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw SystemCallError("fstat", path: path) }
    guard status.st_uid == geteuid() else { throw Unsafe(path: path, reason: "it belongs to another user") }
    guard fchmod(descriptor, 0o700) == 0 else { throw SystemCallError("chmod", path: path) }
  }

  /// Removes the socket and the process ID.
  func clear() {
    unlink(layout.statusSocket)
    unlink(pidFile)
  }
}

/// Names that nothing else has.
enum RandomName {
  /// 128 random bits in hexadecimal.
  static func make() -> String {
    (0..<16).map { _ in
      let digits = String(UInt8.random(in: .min ... .max), radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
  }
}
