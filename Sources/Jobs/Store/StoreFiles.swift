import CoreData
import LinuxSystem
@_exported import struct LinuxSystem.FileError
@_exported import struct LinuxSystem.FileID

/// The files of a store that SQLite has open. Tells when a path leads to another file, or to none.
///
/// ```swift
/// let files = StoreFiles(path: "app.sqlite")
/// do throws(StoreParted) { try files.check() } catch { print(error) }
/// ```
///
/// SQLite goes on with the files that it has open; other processes open the files at the paths. Commits after the two
/// have parted are lost or damage the store (https://www.sqlite.org/howtocorrupt.html, 2.4).
///
/// A file is known by its device and inode, so a file that is moved away and back is the same one.
public struct StoreFiles: Hashable, Sendable {
  /// The path of the database file.
  public let path: String
  /// The database file; nil for a store without a file.
  public var main: FileID? { files[""] }
  /// The database file, its log and the log's index, by what their paths end in.
  private let files: [String: FileID]

  /// Notes the files that stand at the path now, when the store has just been opened.
  public init(path: String) {
    self.path = path
    files = ["", "-wal", "-shm"].reduce(into: [:]) { $0[$1] = FileID(path: path + $1) }
  }

  /// No files: those of a store at a server.
  public static let none = StoreFiles()

  private init() {
    path = ""
    files = [:]
  }

  /// Refuses a path that leads to something other than a regular file: SQLite would wait without end for the writer of
  /// a named pipe. Accepts a path at which there is nothing.
  public static func requireRegular(_ path: String) throws(NotAStoreFile) {
    var status = stat()
    guard stat(path, &status) == 0, FileKind(status) != .regular else { return }
    throw NotAStoreFile(path: path, kind: FileKind(status).description)
  }

  /// The paths of the files.
  public var paths: [String] { files.keys.sorted().map { path + $0 } }

  /// Whether a file that is put at the path would take the place of one of them, or of a file that SQLite makes beside
  /// them when it needs it.
  public func contains(path other: String) -> Bool {
    if files.isEmpty, path.isEmpty { return false }
    if let file = FileID(path: other), files.values.contains(file) { return true }
    let (place, name) = Self.split(path)
    let (otherPlace, otherName) = Self.split(other)
    // Source of the names: https://www.sqlite.org/tempfiles.html
    return ["", "-wal", "-shm", "-journal"].contains { name + $0 == otherName }
      && FileID(path: place) == FileID(path: otherPlace)
  }

  /// The directory of a path, and the name in it.
  private static func split(_ path: String) -> (directory: String, name: Substring) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path[...]) }
    return (String(path[...slash]), path[path.index(after: slash)...])
  }

  /// Checks that the paths still lead to the files. Costs three stat(2). A file that cannot be looked at for another
  /// reason, such as a directory without rights, counts as there.
  ///
  /// - Throws: ``StoreParted`` for the first path that leads elsewhere.
  public func check() throws(StoreParted) {
    for (suffix, file) in files.sorted(by: { $0.key < $1.key }) {
      var status = stat()
      if stat(path + suffix, &status) == 0 {
        if FileID(status) != file { throw StoreParted(path: path + suffix, isReplaced: true) }
      } else if [ENOENT, ENOTDIR, ELOOP].contains(errno) {
        throw StoreParted(path: path + suffix, isReplaced: false)
      }
    }
  }
}

/// A store's path does not lead to the file that is open.
public struct StoreParted: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path that leads elsewhere now.
  public let path: String
  /// Whether another file is there, or none.
  public let isReplaced: Bool

  /// An error about a path.
  public init(path: String, isReplaced: Bool) {
    self.path = path
    self.isReplaced = isReplaced
  }

  /// A sentence with the path.
  public var description: String {
    isReplaced
      ? "\(path) was replaced by another file while the pool had it open"
      : "\(path) was deleted or renamed while the pool had it open"
  }
}

/// Something that is not a regular file stands at the path of a store.
public struct NotAStoreFile: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path.
  public let path: String
  /// What stands there: "a directory".
  public let kind: String

  /// An error about a path.
  public init(path: String, kind: String) {
    self.path = path
    self.kind = kind
  }

  /// What stands at the path, without the path.
  public var reason: String { "it is \(kind), not a regular file" }
  /// A sentence with the path.
  public var description: String { "the store \(path) cannot be opened: \(reason)" }
}
