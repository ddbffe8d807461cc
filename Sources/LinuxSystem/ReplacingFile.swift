import Glibc
import Synchronization

/// A file that is written under a temporary name beside its own, and takes its place in one step: a reader sees all of
/// it, or the earlier file. It replaces nothing but a regular file.
package final class ReplacingFile {
  /// What a complete file survives.
  package enum Durability {
    /// The death of processes, and no loss of power.
    case processes
    /// A loss of power, too, once the directory is synchronised.
    case power
  }

  private let path: String
  private let temporaryPath: String
  private let file: LockedFile
  private var isInPlace = false
  private var buffer: [UInt8] = []

  private static let bufferSize = 256 * 1024
  /// Temporary names that writers of this process have now: two of them may write to the same path.
  private static let taken = Mutex<Set<String>>([])

  /// - Parameters:
  ///   - mode: without what the process's umask denies, unless the file is for all users.
  ///   - isForAll: whether the umask does not count.
  ///   - temporaryName: the name that the file has until it is complete; nil for a name of this process. With a fixed
  ///     name the next writer replaces what a killed process left: use it for files that one process writes at a time.
  /// - Throws: ``FileError`` when no file can be made in that directory, and when something other than a regular file
  ///   stands at the path.
  package init(_ path: String, mode: mode_t, isForAll: Bool = false, temporaryName: String? = nil) throws(FileError) {
    try checkReplaceable(path)
    self.path = path
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    let directory = parts.dropLast().map { "\($0)/" }.joined()
    temporaryPath = Self.take {
      let number = $0 == 0 ? "" : ".\($0)"
      return directory + (temporaryName ?? ".\(parts.last ?? "").\(getpid())\(number).tmp")
    }
    do {
      file = try LockedFile(mode: mode) { [temporaryPath] in
        // A process that was killed may have left a file. If another file comes to this name meanwhile, nothing is
        // written to it.
        unlink(temporaryPath)
        return temporaryPath
      }
    } catch {
      Self.giveBack(temporaryPath)
      let reason = error.errno == ENOENT ? "cannot be created: its directory is not there" : nil
      throw FileError(path: path, action: "be created", errno: error.errno, reason: reason)
    }
    if isForAll, fchmod(file.descriptor.number, mode) != 0 {
      throw FileError(path: path, action: "be made readable for all users", errno: errno)
    }
  }

  /// Whether a name is one that a file of this type has by default before it is complete.
  package static func isTemporaryName(_ name: String) -> Bool {
    guard name.hasPrefix("."), name.hasSuffix(".tmp") else { return false }
    let parts = name.dropLast(".tmp".count).split(separator: ".")
    return parts.count > 1 && parts[parts.count - 1].utf8.allSatisfy { 0x30...0x39 ~= $0 }
  }

  /// Removes what killed processes have written of a file at a path, under names that it has by default. It reads the
  /// names in the directory.
  package static func removeAbandoned(of path: String) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    let prefix = ".\(parts.last ?? "")."
    let directory = parts.dropLast().joined(separator: "/")
    LockedFile.removeAbandoned(in: parts.count == 1 ? "." : directory.isEmpty ? "/" : directory) { name in
      isTemporaryName(name) && name.hasPrefix(prefix)
        && name.dropFirst(prefix.count).dropLast(".tmp".count).utf8.allSatisfy { 0x30...0x39 ~= $0 || $0 == 0x2e }
    } remove: {
      unlink($0)
    }
  }

  /// Removes what was written, unless it is in place.
  deinit {
    if !isInPlace { unlink(temporaryPath) }
    Self.giveBack(temporaryPath)
  }

  /// The first path that no other writer has, of those that `path` gives for 0, 1, and so on; a fixed path in any case.
  private static func take(_ path: (Int) -> String) -> String {
    taken.withLock { taken in
      var number = 0
      while taken.contains(path(number)), path(number) != path(number + 1) { number += 1 }
      taken.insert(path(number))
      return path(number)
    }
  }

  private static func giveBack(_ path: String) { taken.withLock { _ = $0.remove(path) } }

  package func write(_ bytes: some Collection<UInt8>) throws(FileError) {
    buffer += bytes
    if buffer.count >= Self.bufferSize { try flush() }
  }

  /// Renames the file into its place.
  package func complete(surviving durability: Durability) throws(FileError) {
    try flush()
    if durability == .power, fsync(file.descriptor.number) != 0 {
      throw FileError(path: temporaryPath, action: "be synchronised", errno: errno)
    }
    try checkReplaceable(path)
    guard rename(temporaryPath, path) == 0 else { throw FileError(path: path, action: "be put in place", errno: errno) }
    isInPlace = true
  }

  /// Writes a whole file.
  package static func write(
    _ bytes: some Collection<UInt8>, to path: String, mode: mode_t, isForAll: Bool = false,
    temporaryName: String? = nil, surviving durability: Durability
  ) throws(FileError) {
    let file = try ReplacingFile(path, mode: mode, isForAll: isForAll, temporaryName: temporaryName)
    try file.write(bytes)
    try file.complete(surviving: durability)
  }

  private func flush() throws(FileError) {
    try buffer.writeAll(to: file.descriptor.number, path: temporaryPath)
    buffer.removeAll(keepingCapacity: true)
  }
}

extension Collection<UInt8> {
  /// Writes all the bytes to a descriptor, in as many calls as it takes.
  ///
  /// - Parameter path: the path of the descriptor's file, for the error.
  /// - Throws: ``FileError``; then a part may be written.
  package func writeAll(to descriptor: Int32, path: String) throws(FileError) {
    var unwrittenBytes = Array(self)[...]
    while !unwrittenBytes.isEmpty {
      let written = unwrittenBytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { throw FileError(path: path, action: "be written", errno: errno) }
      unwrittenBytes = unwrittenBytes.dropFirst(written)
    }
  }
}

/// Refuses a path at which something other than a regular file stands. rename(2) would remove the device, the pipe or
/// the link that has the name, and its users would lose it.
package func checkReplaceable(_ path: String) throws(FileError) {
  var status = stat()
  guard lstat(path, &status) == 0, FileKind(status) != .regular else { return }
  throw FileError(
    path: path, action: "be replaced", errno: EEXIST,
    reason: "is \(FileKind(status)), which is never replaced; choose another path")
}

/// Makes the content of a file outlast a loss of power, no matter which process has written it. Source: fsync(2).
package func synchronizeFile(_ path: String) throws(FileError) { try synchronize(path, O_RDONLY | O_CLOEXEC) }

/// Makes the names in a directory outlast a loss of power. Source: fsync(2), "NOTES".
package func synchronizeDirectory(_ path: String) throws(FileError) {
  try synchronize(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
}

private func synchronize(_ path: String, _ flags: Int32) throws(FileError) {
  let descriptor: Descriptor
  do {
    descriptor = try Descriptor(open(path, flags), "open")
  } catch {
    throw FileError(path: path, action: "be opened", errno: error.number)
  }
  guard fsync(descriptor.number) == 0 else { throw FileError(path: path, action: "be synchronised", errno: errno) }
}
