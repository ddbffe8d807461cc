import CoreData
import Foundation
import Glibc
import LinuxSystem

/// Guards the files that a person names for the output of a job, a pool or a command. A typing error in a path must not
/// cost a database: each writer asks first, and prints the answer after the path.
///
/// ```text
/// export of Book to app.sqlite-wal      app.sqlite-wal is a file of the store; choose another path
/// log to queue/incoming/pool.log        … lies in the queue directory, where the pool alone writes; …
/// ```
package enum OutputPath {
  /// Why no file may be written at a path, to follow its name; nil if one may.
  ///
  /// Refused are the files of the store, the folder of its large values, any other SQLite database, the model, without
  /// which no pool starts, and the queue directory, where the pool would take the file for one of its own.
  ///
  /// - Parameters:
  ///   - store: the files of the store; ``StoreFiles/none`` for one at a server.
  ///   - model: the path of the app's model, a file or a directory; nil where none is known.
  ///   - queue: the path of the queue directory; nil where none is known.
  package static func obstacle(to path: String, store: StoreFiles, model: String?, queue: String?) -> String? {
    if store.contains(path: path) { return "is a file of the store; choose another path" }
    if !store.path.isEmpty {
      let values = ExternalData.supportFolder(of: URL(fileURLWithPath: store.path))
      if isSamePlace(path, values.path) { return "is where the store keeps its large values; choose another path" }
      if DirectoryGuard(values.path).contains(path) {
        return "lies in the folder of the store's large values; choose another path"
      }
    }
    if let model, isSameFile(path, model) || DirectoryGuard(model).contains(path) {
      return "is a file of the model; choose another path"
    }
    if let queue, DirectoryGuard(queue).contains(path) {
      return "lies in the queue directory, where the pool alone writes; choose another path"
    }
    if start(of: path, magic.count).elementsEqual(magic) {
      return "is a SQLite database, which is not replaced; choose another path"
    }
    return nil
  }

  /// Why the file at a path must not be replaced, as the end of a sentence that begins with its name. Nil if there is
  /// no file, if it is empty, or if it holds the same kind of content.
  ///
  /// - Parameters:
  ///   - content: what the content is called.
  ///   - start: what files of that content begin with.
  package static func obstacle(to path: String, replacing content: String, whichBegin start: String) -> String? {
    mismatch(self.start(of: path, start.utf8.count), content, start)
  }

  /// Why content must not be appended to the file at a path, as the end of a sentence that begins with its name. Nil if
  /// there is no file, if it is empty, if it holds the same kind of content, or if it is a device. A symbolic link is
  /// followed; its target must be there.
  ///
  /// - Parameters:
  ///   - content: what the content is called.
  ///   - start: what files of that content begin with.
  package static func obstacle(to path: String, appending content: String, whichBegins start: String) -> String? {
    do throws(GuardedFile.Refusal) {
      let file = try GuardedFile(path, path: path, links: .followed)
      return mismatch(try file.nextBytes(atMost: start.utf8.count), content, start)
    } catch {
      switch error {
      case .missing:
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return "is \(FileKind(status)) to a file that is not there; choose another path"
      // A directory, or a pipe, for whose reader the pool would wait, is refused when it is opened.
      case .notRegular: return nil
      default: return "\(error)"
      }
    }
  }

  private static func mismatch(_ bytes: [UInt8], _ content: String, _ start: String) -> String? {
    if bytes.isEmpty || bytes.elementsEqual(start.utf8) { return nil }
    return "holds something other than \(content); choose another path"
  }

  /// Whether both paths are those of one file, which need not be there.
  private static func isSamePlace(_ path: String, _ other: String) -> Bool {
    let (url, otherURL) = (URL(fileURLWithPath: path), URL(fileURLWithPath: other))
    return url.lastPathComponent == otherURL.lastPathComponent
      && isSameFile(url.deletingLastPathComponent().path, otherURL.deletingLastPathComponent().path)
  }

  private static func isSameFile(_ path: String, _ other: String) -> Bool {
    guard let file = FileID(path: path) else { return false }
    return file == FileID(path: other)
  }

  /// Source: https://www.sqlite.org/fileformat.html, "Magic Header String".
  private static let magic = Array("SQLite format 3\0".utf8)

  /// The first bytes of a file, as many as there are; none if it is not a regular file.
  private static func start(of path: String, _ count: Int) -> [UInt8] {
    // A file that cannot be read is no SQLite database that would be lost here: writing it gives the error.
    guard let file = try? GuardedFile(path, path: path) else { return [] }
    return (try? file.nextBytes(atMost: count)) ?? []
  }
}
