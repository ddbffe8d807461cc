import Foundation
import Glibc
@_exported import PostgreSQLServers
import Synchronization

/// A path that no file has yet, for a file or directory of one test.
///
/// The test removes its files when it is done with them. What it cannot remove goes when the tests' process exits:
/// files of an object in a static property, for example, and those of exit tests, which end in a trap.
///
/// - Parameter purpose: the beginning of the name. Paths of sockets may have 107 bytes, so it is short.
public func temporaryURL(_ purpose: String) -> URL {
  TestFiles.directory.appendingPathComponent("\(purpose)-\(TestFiles.count.next())")
}

/// The directory of this process in the directory for temporary files.
private enum TestFiles {
  static let count = Count()

  /// The name has the process and its parent: a process that traps cannot clean up, but its parent can.
  static let directory: URL = {
    let number = String(UInt32.random(in: 0 ... .max), radix: 16)
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
      "tests-\(getppid())-\(owner)-\(number)", isDirectory: true)
    do {
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    } catch { fatalError("\(error)") }
    atexit { TestFiles.removeAll() }
    return directory
  }()

  private static let owner = getpid()

  /// Removes the directories of this process and of its children.
  private static func removeAll() {
    // A child that was forked and not replaced has this handler, too.
    guard getpid() == owner else { return }
    let temporary = directory.deletingLastPathComponent()
    let names = (try? FileManager.default.contentsOfDirectory(atPath: temporary.path)) ?? []
    for name in names where name == directory.lastPathComponent || name.hasPrefix("tests-\(owner)-") {
      do {
        try FileManager.default.removeItem(at: temporary.appendingPathComponent(name))
      } catch {
        let line = "The tests leave \(temporary.path)/\(name) behind: \(error)\n"
        FileHandle.standardError.write(Data(line.utf8))
      }
    }
  }
}

/// Numbers for names.
private final class Count: Sendable {
  private let last = Mutex(0)

  func next() -> Int {
    last.withLock {
      $0 += 1
      return $0
    }
  }
}
