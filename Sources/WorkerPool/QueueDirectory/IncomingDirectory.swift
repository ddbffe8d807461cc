import Foundation
import Jobs
import LinuxSystem
import Synchronization

/// Where job files come from, `incoming/`, and where the pool keeps those that it has made its own, `taken/`.
///
/// Both are held by their descriptors and must be on one file system.
final class IncomingDirectory: Sendable {
  let incoming: HeldDirectory
  let taken: HeldDirectory
  private let takenFileNames = Mutex(TakenFileNames(avoiding: []))

  init(layout: QueueLayout) throws {
    incoming = try HeldDirectory(layout.incoming, madeBy: .person)
    taken = try HeldDirectory(layout.taken, madeBy: .pool(QueueLayout.privateMode))
  }

  /// Whether a file with this name is for the pool: not hidden, and not still being written under a temporary name.
  static func isJobFileName(_ name: String) -> Bool { isForPool(name) && name.utf8.count <= longestName }

  private static func isForPool(_ name: String) -> Bool { !name.hasPrefix(".") && !name.hasSuffix(".tmp") }

  /// In bytes: a name in `taken/` has a prefix and one in `rejected/` a suffix, which need room, too.
  static let longestName = 240

  /// A file whose name no job file can have, being too long or not UTF-8: the name's bytes, with a zero at the end.
  struct Unusable {
    let bytes: [CChar]

    /// Its name in `rejected/`: the legible part of the name.
    var legibleName: String {
      let text = String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      // Four bytes each at most.
      return String(String.UnicodeScalarView(text.unicodeScalars.prefix(longestName / 4)))
    }

    var reason: String {
      bytes.count - 1 > longestName ? "its name has more than \(longestName) bytes" : "its name is not UTF-8"
    }
  }

  // MARK: Listing

  /// The names of all job files that wait, in the order of their last changes unless they are very many, and the files
  /// whose names are unusable.
  func names() throws(FileError) -> (names: [String], unusable: [Unusable]) {
    guard let incoming = incoming.current else { return ([], []) }
    var temporary: [String] = []
    let names = try names(in: incoming) { name in
      if let name = String(validatingCString: name), ReplacingFile.isTemporaryName(name) { temporary.append(name) }
    }
    removeAbandoned(temporary, in: incoming)
    return names
  }

  /// Seconds after its last change at which a file of `submit` or an app counts as abandoned by a killed process. They
  /// write one without pauses. A process that was stopped for so long gets an error when it renames its file.
  static let abandonedAge = 3600.0

  private func removeAbandoned(_ names: [String], in incoming: OpenDirectory) {
    let limit = Int64((Date().timeIntervalSince1970 - Self.abandonedAge) * 1e9)
    for name in names {
      guard let status = incoming.status(of: name), FileKind(status) == .regular,
        OpenDirectory.nanoseconds(status.st_mtim) < limit
      else { continue }
      unlinkat(incoming.descriptor, name, 0)
    }
  }

  /// The files in `taken/`, in the same order.
  func takenFiles() throws(FileError) -> [TakenJobFile] {
    guard let taken = taken.current else { return [] }
    return try names(in: taken).names.map { TakenJobFile(name: $0, directory: taken, source: nil) }
  }

  /// - Parameter skip: gets the names that are not for the pool.
  private func names(
    in directory: OpenDirectory, skip: (UnsafePointer<CChar>) -> Void = { _ in }
  ) throws(FileError) -> (names: [String], unusable: [Unusable]) {
    let isTaken = directory.path == taken.path
    var names: [String] = []
    var unusable: [Unusable] = []
    try directory.forEachName { bytes in
      if let name = String(validatingCString: bytes), isTaken ? !name.hasPrefix(".") : Self.isJobFileName(name) {
        names.append(name)
      } else if Self.isForPool(String(cString: bytes)) {
        unusable.append(Unusable(bytes: Array(UnsafeBufferPointer(start: bytes, count: strlen(bytes) + 1))))
      } else {
        skip(bytes)
      }
    }
    return (names.count <= Self.mostInOrder ? inOrder(names, directory) : names, unusable)
  }

  /// Sorting more files than this would delay the first job.
  static let mostInOrder = 100_000

  private func inOrder(_ names: [String], _ directory: OpenDirectory) -> [String] {
    let times = names.map { name in
      directory.status(of: name).map { OpenDirectory.nanoseconds($0.st_mtim) } ?? Int64.max
    }
    return zip(times, names).sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.1)
  }

  // MARK: Taking

  /// What became of an attempt to take a file.
  enum Taking {
    case taken(TakenJobFile)
    /// No longer there.
    case gone
    /// It was written a moment ago, by a producer that does not rename files: it is taken when it has rested.
    case fresh
    /// It cannot be moved now.
    case failed(FileError)
  }

  /// Keeps new names from beginning as these do.
  func avoid(_ names: [String]) { takenFileNames.withLock { $0 = TakenFileNames(avoiding: names) } }

  /// Moves the file with this name in `incoming/` to `taken/`, in one step: from then on no producer can replace it by
  /// its name.
  ///
  /// - Parameter minimumAge: files that were changed less long ago, in nanoseconds, are `fresh`.
  func take(_ name: String, minimumAge: Int64) -> Taking {
    guard let incoming = incoming.current, let taken = taken.current else { return .gone }
    if minimumAge > 0 {
      guard let status = incoming.status(of: name) else { return .gone }
      if FileKind(status) == .regular, TakenJobFile.isFresh(status, minimumAge: minimumAge) { return .fresh }
    }
    let privateName = takenFileNames.withLock { $0.next(for: name) }
    guard renameat(incoming.descriptor, name, taken.descriptor, privateName) == 0 else {
      let reason = errno
      if reason == ENOENT { return .gone }
      let hint = reason == EXDEV ? ", which must be on the same file system and mount" : ""
      let path = incoming.path + "/" + name
      return .failed(FileError(path: path, action: "be moved to \(taken.path)\(hint)", errno: reason))
    }
    return .taken(TakenJobFile(name: privateName, directory: taken, source: incoming))
  }
}
