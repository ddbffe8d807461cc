import Foundation
import Glibc
import LinuxSystem
import TestFiles
import Testing
import WorkerPool

/// A plugin directory that does not answer keeps its own plugins from starting, and nothing else.
@Suite(
  .serialized, .enabled(if: HangingFiles.isPossible, "needs root, /dev/fuse and python3, to mount a hanging directory"))
struct HangingPluginTests {
  /// Describes itself, and is no worker beyond that.
  private static let farPlugin = """
    #!/bin/sh
    echo '{"name":"far","version":"1","protocolVersions":[2],"kinds":[{"kind":"far"}]}'
    """

  private func start(_ items: ItemPool, _ files: HangingFiles, _ options: String...) throws -> RunningPool {
    let pool = try items.start(
      workers: 2, options: ["--plugins", files.path, "--workers", "far=0"] + options)
    try pool.wait { status in Set(status.plugins.flatMap(\.kinds)).isSuperset(of: ["far", "add"]) }
    return pool
  }

  /// Asks for a status, which must not take as long as something that hangs.
  private func status(_ pool: RunningPool) throws -> PoolStatus {
    let client = try StatusClient(queue: pool.queue)
    return try #require(try client.request(StatusRequest(.status), within: Double(TestLimit.seconds)).status)
  }

  /// Other plugins' jobs are done, and the loop has not waited.
  private func checkThatOthersGoOn(_ items: ItemPool, _ pool: RunningPool) throws {
    _ = try status(pool)
    try items.submit("add")
    try pool.waitForJobs(1)
    #expect(try items.rows() == "3|1|0")
    let turn = try #require(status(pool).longestTurn)
    #expect(turn.seconds < 60, "the loop waited: \(turn)")
  }

  /// Waits until the pool says what does not answer.
  private func waitForHang(_ subject: String, _ pool: RunningPool) throws {
    try pool.wait { $0.hangs?.contains { $0.subject == subject } == true }
    let text = try pool.command("status").output
    #expect(text.contains("has not answered for") && text.contains("the pool goes on without it"), "\(text)")
    #expect(try pool.command("status", "--prometheus").output.contains("workerpool_hanging 1\n"))
  }

  @Test(.timeLimit(.minutes(20)))
  func aReloadDoesNotWaitForADirectoryThatHangs() throws {
    let items = try ItemPool()
    let files = try HangingFiles(items.place, ["worker-far": Self.farPlugin])
    defer { withExtendedLifetime(files) {} }
    let pool = try start(items, files)
    files.hang()
    pool.signal(SIGHUP)
    try checkThatOthersGoOn(items, pool)
    try waitForHang("the plugin directory \(files.path)", pool)
    #expect(try status(pool).plugins.map(\.name) == ["far", "test"], "its plugins stay as they were")
    // Then the directory answers
    files.goOn()
    try pool.wait { $0.hangs == nil }
    #expect(try status(pool).plugins.map(\.name) == ["far", "test"])
    // And a pool that ends does not wait for it, either
    files.hang()
    pool.signal(SIGHUP)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func aPoolStartsWithoutADirectoryThatHangs() throws {
    let items = try ItemPool()
    let files = try HangingFiles(items.place, ["worker-far": Self.farPlugin])
    defer { withExtendedLifetime(files) {} }
    files.hang()
    let pool = try items.start(workers: 2, options: ["--plugins", files.path])
    try checkThatOthersGoOn(items, pool)
    files.goOn()
    try pool.wait { Set($0.plugins.flatMap(\.kinds)).contains("far") }
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)), .enabled(if: Confinement.obstacle == nil, "this kernel has no Landlock"))
  func aConfinedPluginThatHangsKeepsNoOtherJob() throws {
    let items = try ItemPool()
    let files = try HangingFiles(items.place, ["worker-far": Self.farPlugin])
    defer { withExtendedLifetime(files) {} }
    let pool = try start(items, files, "--confine")
    files.hang()
    let scaled = try StatusClient(queue: pool.queue).request(
      StatusRequest(.scale, plugin: "far", count: 1), within: Double(TestLimit.seconds))
    #expect(scaled.ok)
    try checkThatOthersGoOn(items, pool)
    files.goOn()
    try pool.stop()
  }

  /// A file for the metrics on a file system that hangs.
  @Test(.timeLimit(.minutes(20)))
  func aMetricsFileThatHangsKeepsNoJob() throws {
    let items = try ItemPool()
    let files = try HangingFiles(items.place, [:])
    defer { withExtendedLifetime(files) {} }
    files.hang()
    let pool = try items.start(options: ["--metrics-file", files.path + "/metrics"])
    try checkThatOthersGoOn(items, pool)
    try waitForHang("the metrics file \(files.path)/metrics", pool)
    try pool.stop()
  }
}
