import Glibc
@_exported import struct LinuxSystem.FileError
import LinuxSystem

/// Writes a conversation to a file as it happens, for people and for tests: `> ` before lines of the coordinator, `< `
/// before lines of the worker.
///
/// Each line is one `write` to a file opened for appending: several processes may record into one file.
public final class ConversationRecorder: Sendable {
  /// Who said a line.
  public enum Speaker: String, Sendable {
    /// The pool.
    case coordinator = ">"
    /// The worker.
    case worker = "<"
  }

  private let descriptor: Int32

  /// What every recording begins with: the worker speaks first.
  public static let start = "\(Speaker.worker.rawValue) "

  /// Appends to the file at `path`, which is made with mode 0600 where there is none.
  ///
  /// - Throws: `FileError`, also for a symbolic link to a file that is not there, and for a named pipe or a socket: the
  ///   pool would wait for a reader of it.
  public init(path: String) throws(FileError) {
    // Opening a pipe for writing waits for its reader, and with O_NONBLOCK fails without one (open(2), ENXIO).
    let flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
    var number = open(path, flags)
    // O_EXCL makes no file through a symbolic link (open(2)).
    if number < 0, errno == ENOENT { number = open(path, flags | O_CREAT | O_EXCL, 0o600) }
    // Another process has made it meanwhile, or a link leads to no file.
    if number < 0, errno == EEXIST { number = open(path, flags) }
    let reason = errno
    descriptor = number
    var status = stat()
    let isKnown = (descriptor >= 0 ? fstat(descriptor, &status) : stat(path, &status)) == 0
    if isKnown, [FileKind.namedPipe, .socket].contains(FileKind(status)) {
      throw FileError(
        path: path, action: "be opened", errno: ENXIO,
        reason: "is \(FileKind(status)), for whose reader the pool would wait; record to a regular file")
    }
    guard descriptor >= 0 else { throw FileError(path: path, action: "be opened", errno: reason) }
  }

  deinit { close(descriptor) }

  /// Checks that a recording can be begun at `path`, and makes nothing. Another process may change that afterwards.
  ///
  /// - Throws: `FileError`.
  public static func check(path: String) throws(FileError) {
    var status = stat()
    let isThere = stat(path, &status) == 0
    let directory = path.lastIndex(of: "/").map { path[...$0] } ?? "."
    let isAllowed = isThere ? access(path, W_OK) == 0 : access(String(directory), W_OK | X_OK) == 0
    if !isAllowed { throw FileError(path: path, action: "be opened", errno: errno) }
    if isThere, FileKind(status) == .directory { throw FileError(path: path, action: "be opened", errno: EISDIR) }
  }

  /// Writes a line that `speaker` said.
  public func record(_ line: String, by speaker: Speaker) {
    write("\(speaker.rawValue) \(line)\n")
  }

  /// Writes the lines of encoded messages.
  public func record(_ bytes: some Sequence<UInt8>, by speaker: Speaker) {
    var text = ""
    for line in String(decoding: Array(bytes), as: UTF8.self).split(separator: "\n") {
      text += "\(speaker.rawValue) \(line)\n"
    }
    write(text)
  }

  /// A full disk ends the recording silently: nothing stops for it.
  private func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      guard let base = bytes.baseAddress else { return }
      _ = Glibc.write(descriptor, base, bytes.count)
    }
  }
}
