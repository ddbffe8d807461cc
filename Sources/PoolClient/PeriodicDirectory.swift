import Foundation
import Jobs
import LinuxSystem

/// The entries in `queue/periodic/`, one in each file that ends in `.json`. The pool that leads reads them all before
/// it submits the jobs that are due, and ``PeriodicReport`` reads them for a person.
///
/// ```text
/// periodic/nightly.json        {"cron": "0 3 * * *", "job": {"kind": "export"}}     the entry "nightly"
/// periodic/.nightly.json                                                            passed over, for its dot
/// periodic/broken.json         {"cron": "0 3 * *"}                                  a problem, "broken"
/// ```
///
/// A program that writes an entry should write a file whose name begins with a dot and rename it: then no reader sees
/// half of a file.
package struct PeriodicDirectory: Sendable {
  private let path: String

  package init(path: String) { self.path = path }

  /// The entries, and what is wrong with the other files, by the name of the file. A bad file does not keep the others
  /// from running.
  ///
  /// Throws when the directory cannot be listed.
  package func entries() throws -> (entries: [PeriodicEntry], problems: [String: String]) {
    let files = try FileManager.default.contentsOfDirectory(atPath: path)
      .filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.sorted()
    var entries: [PeriodicEntry] = []
    var problems: [String: String] = [:]
    for file in files {
      let name = String(file.dropLast(".json".count))
      do {
        entries.append(try PeriodicEntry(name: name, contents: try contents(of: file)))
      } catch {
        problems[name] = "\(error)"
      }
    }
    return (entries, problems)
  }

  /// The bytes of a file, at most `PeriodicEntry.maximumSize`. It must be a regular file of the pool's user or of root:
  /// an entry starts jobs with the pool's rights, so those of other users are refused.
  private func contents(of name: String) throws(BadEntryFile) -> [UInt8] {
    let path = path + "/" + name
    let file: GuardedFile
    let bytes: [UInt8]
    do throws(GuardedFile.Refusal) {
      file = try GuardedFile(path, path: path)
      bytes = try file.bytes(atMost: PeriodicEntry.maximumSize)
    } catch {
      throw BadEntryFile(path: path, reason: "\(error)")
    }
    guard file.isOwn else {
      let reason = "belongs to user \(file.status.st_uid); an entry must belong to the pool's user or to root"
      throw BadEntryFile(path: path, reason: reason)
    }
    return bytes
  }
}

/// A file in `periodic/` that is not read as an entry.
private struct BadEntryFile: Error, CustomStringConvertible {
  let path: String
  let reason: String
  var description: String { "\(path) \(reason)" }
}
