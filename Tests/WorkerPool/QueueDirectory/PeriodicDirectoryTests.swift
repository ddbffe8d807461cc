import Foundation
import Glibc
import TestFiles
import Testing

@testable import WorkerPool

/// What may lie in `periodic/`: it submits jobs, as job files do.
@Suite struct PeriodicDirectoryTests {
  private let root = temporaryURL("periodic")
  private let entry = #"{"cron": "@daily", "job": {"kind": "a"}}"#

  private func put(_ name: String) throws -> String {
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    let path = root.appendingPathComponent(name).path
    try Data(entry.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  private func remove() { try? FileManager.default.removeItem(at: root) }

  @Test func onlyRegularFilesAreEntries() throws {
    defer { remove() }
    _ = try put("good.json")
    let elsewhere = try put("elsewhere")
    try FileManager.default.createSymbolicLink(atPath: root.path + "/link.json", withDestinationPath: elsewhere)
    #expect(mkfifo(root.path + "/pipe.json", 0o600) == 0)
    #expect(mkdir(root.path + "/directory.json", 0o700) == 0)
    let (entries, problems) = try PeriodicDirectory(path: root.path).entries()
    #expect(entries.map(\.name) == ["good"])
    #expect(problems.keys.sorted() == ["directory", "link", "pipe"])
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
  func anEntryOfAnotherUserIsNone() throws {
    defer { remove() }
    #expect(chown(try put("theirs.json"), 65_534, 65_534) == 0)
    let (entries, problems) = try PeriodicDirectory(path: root.path).entries()
    #expect(entries.isEmpty)
    #expect(problems["theirs"]?.contains("belongs to user 65534") == true, "\(problems)")
  }
}
