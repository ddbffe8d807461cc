import CoreData
import Glibc
package import LinuxSystem

/// A store's file that is being made: a backup, or a copy. It gets its name when it is complete, so that no program
/// takes a part for the whole.
///
/// Until then it is `.NAME.PURPOSE.UUID.tmp` in the same directory, with a folder for large values of its own. The next
/// of the same name and purpose removes what a killed process has left.
package final class UnfinishedStore {
  /// The file, empty at first.
  package let url: URL
  private let file: LockedFile
  private static let ends = ["", "-journal", "-wal", "-shm"]

  /// Makes the file.
  ///
  /// - Parameters:
  ///   - name: what the file is about: a store's name.
  ///   - purpose: a word.
  /// - Throws: `FileError` when no file can be made in the directory.
  package init(of name: String, for purpose: String, in directory: String) throws(FileError) {
    let prefix = ".\(name).\(purpose)."
    LockedFile.removeAbandoned(in: directory) { name in
      guard name.hasPrefix(prefix), name.hasSuffix(".tmp") else { return false }
      return UUID(uuidString: String(name.dropFirst(prefix.count).dropLast(".tmp".count))) != nil
    } remove: {
      Self.remove($0)
    }
    file = try LockedFile(mode: 0o666) { "\(directory)/\(prefix)\(UUID().uuidString).tmp" }
    url = URL(fileURLWithPath: file.path)
  }

  /// Removes the file and its large values, unless they got another name.
  deinit { Self.remove(file.path) }

  private static func remove(_ path: String) {
    for end in ends { unlink(path + end) }
    // A folder that cannot be removed is looked at again with the next file that is left behind.
    try? FileManager.default.removeItem(at: ExternalData.supportFolder(of: URL(fileURLWithPath: path)))
  }

  /// Gives the file its name, after its large values and all of it are on disk. No connection may be open.
  ///
  /// - Parameters:
  ///   - replaces: whether a regular file at the place is replaced; else that is an error with the number EEXIST.
  /// - Throws: `FileError`, and an `NSError` of Core Data for the large values.
  package func putInPlace(at place: URL, replaces: Bool) throws {
    let ownFolder = ExternalFolder(of: url)
    try ExternalFolder(of: place).bring(ownFolder.valueNames, from: ownFolder, moving: true) {
      var status = stat()
      if stat(file.path + "-wal", &status) == 0, status.st_size > 0 {
        throw FileError(path: file.path, action: "be closed", errno: EBUSY)
      }
      try synchronizeFile(file.path)
      try checkReplaceable(place.path)
      try rename(to: place.path, replaces)
      try synchronizeDirectory(place.deletingLastPathComponent().path)
    }
  }

  private func rename(to path: String, _ replaces: Bool) throws(FileError) {
    if !replaces {
      // Fails where a file is, other than rename(2).
      if link(file.path, path) == 0 {
        unlink(file.path)
        return
      }
      // A file system without hard links: between these two steps another file may come, which is replaced then.
      guard errno != EEXIST, access(path, F_OK) != 0 else {
        throw FileError(path: path, action: "be replaced", errno: EEXIST)
      }
    }
    guard Glibc.rename(file.path, path) == 0 else {
      throw FileError(path: path, action: "be put in place", errno: errno)
    }
  }
}
