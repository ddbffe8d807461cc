import Foundation
import Glibc
import Testing
import WorkerPool

/// A plugin's file that is replaced while the pool runs: whatever is seen in between costs nothing.
@Suite(.serialized) struct UpgradeTests {
  /// How the new version comes.
  enum Way: String, CaseIterable {
    /// The file is removed, and comes back.
    case removed
    /// Half of it is there for a while.
    case halfWritten
    /// It lies elsewhere, and the plugin directory has a link to it: no event of the directory tells.
    case linked
    /// It may not be executed for a while.
    case notExecutable
  }

  @Test(.timeLimit(.minutes(20)), arguments: Way.allCases)
  func aPluginWhoseFileIsReplacedGoesOn(way: Way) throws {
    // Given a pool with one plugin, whose file is a program of its own
    let items = try ItemPool()
    let link = items.plugins + "/worker-test"
    let file = way == .linked ? items.place.path("elsewhere") : link
    let script = "#!/bin/bash\nexec -a \"$0\" '\(Built.path("test-worker"))' \"$@\"\n"
    func write(_ text: String, mode: Int = 0o755) throws {
      try Data(text.utf8).write(to: URL(fileURLWithPath: file))
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    }
    if way == .linked {
      unlink(link)
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
    }
    unlink(file)
    try write(script)
    let pool = try items.start()
    try pool.wait { $0.workers.contains { $0.phase == "up" } }
    // When its file cannot be started any more, and its worker ends
    switch way {
    case .removed, .linked: unlink(file)
    // A program that cannot be executed, as a binary of which the first bytes are missing
    case .halfWritten: try write("\u{7f}ELF")
    case .notExecutable: try write(script, mode: 0o644)
    }
    let worker = try #require(pool.status().workers.first)
    #expect(try kill(#require(worker.pid), SIGKILL) == 0)
    // Then the pool says so
    try pool.wait { $0.plugins.contains { $0.name == "test" && $0.failure != nil } }
    try items.submit("add")
    let advice = try pool.command("status").output
    #expect(advice.contains("plugin test is not in use"), "\(advice)")
    // And goes on when the new version is there
    unlink(file)
    try write(script)
    try pool.waitForJobs(1)
    #expect(try pool.status().plugins.allSatisfy { $0.failure == nil })
    #expect(try items.rows() == "3|1|0")
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }

  /// A deployment writes the model in place. A worker that starts meanwhile cannot read it.
  @Test(.timeLimit(.minutes(20))) func aModelThatIsNotWholeForAWhileCostsNoPlugin() throws {
    let items = try ItemPool()
    let pool = try items.start()
    try pool.wait { $0.workers.contains { $0.phase == "up" } }
    let file = URL(fileURLWithPath: items.model + "/contents")
    let model = try Data(contentsOf: file)
    try model.prefix(model.count / 2).write(to: file)
    #expect(try kill(#require(pool.status().workers.first?.pid), SIGKILL) == 0)
    // As many processes as a plugin gets that fails at its start, and one more
    var pids: Set<Int32> = []
    try pool.wait {
      pids.formUnion($0.workers.compactMap(\.pid))
      return pids.count > 6 || $0.plugins.contains { $0.failure != nil }
    }
    try model.write(to: file)
    try items.submit("add")
    try pool.waitForJobs(1)
    #expect(try items.rows() == "3|1|0")
    try pool.stop()
  }

  /// An upgrade that went wrong: the processes of the former file do the work until a good one is there.
  ///
  /// - Parameter text: the bad file; nil for none.
  @Test(.timeLimit(.minutes(20)), arguments: ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho '{}'\n", "\u{7f}ELF", nil])
  func aReloadOfABrokenFileKeepsTheWorkers(text: String?) throws {
    let items = try ItemPool()
    let file = items.plugins + "/worker-test"
    let good = try FileManager.default.destinationOfSymbolicLink(atPath: file)
    let pool = try items.start()
    try pool.wait { $0.workers.contains { $0.phase == "up" } }
    let worker = try #require(pool.status().workers.first?.pid)
    func replace(_ make: (String) throws -> Void) throws {
      try make(file + ".new")
      try #require(rename(file + ".new", file) == 0)
    }
    if let text {
      try replace {
        try Data(text.utf8).write(to: URL(fileURLWithPath: $0))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: $0)
      }
    } else {
      unlink(file)
    }
    #expect(try pool.command("reload").code == 0)
    try pool.wait { $0.plugins.contains { $0.name == "test" && $0.failure != nil } }
    try items.submit("add")
    try pool.waitForJobs(1)
    #expect(try pool.status().workers.map(\.pid) == [worker])
    try replace { try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: good) }
    try pool.wait { status in
      status.plugins.allSatisfy { $0.failure == nil }
        && status.workers.contains { $0.phase == "up" && $0.pid != worker }
    }
    try items.submit("add")
    try pool.waitForJobs(2)
    try pool.stop()
    try items.checkNothingIsLeft(of: pool, value: 2)
  }

  /// A plugin that was removed for good: the second `reload` forgets it, and the pool waits for others.
  @Test(.timeLimit(.minutes(20)))
  func theSecondReloadForgetsAPluginWhoseFileIsMissing() throws {
    let items = try ItemPool()
    let file = items.plugins + "/worker-test"
    let good = try FileManager.default.destinationOfSymbolicLink(atPath: file)
    let pool = try items.start()
    try pool.wait { $0.workers.contains { $0.phase == "up" } }
    unlink(file)
    #expect(try pool.command("reload").code == 0)
    try pool.wait { $0.plugins.contains { $0.name == "test" && $0.failure != nil } }
    #expect(try pool.command("reload").code == 0)
    try pool.wait { $0.plugins.isEmpty && $0.workers.isEmpty }
    try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: good)
    #expect(try pool.command("reload").code == 0)
    try items.submit("add")
    try pool.waitForJobs(1)
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }
}
