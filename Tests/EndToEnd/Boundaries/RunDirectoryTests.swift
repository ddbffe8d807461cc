import Foundation
import Glibc
import Testing
import WorkerProtocol

@testable import WorkerPool

/// What happens to a pool's `run/` and to its descriptors from outside.
@Suite(.serialized) struct RunDirectoryTests {
  /// The next pool knows who held which job, although the ledger was removed while the job ran.
  @Test(.timeLimit(.minutes(20)))
  func thePoolGoesOnWhenItsRunDirectoryIsRemoved() throws {
    let items = try ItemPool()
    try items.submit("deaf")
    let pool = try items.start()
    let worker = try pool.waitForRunningWorker()
    // Out of the way first: the pool may come between the steps of removing it.
    let gone = items.place.path("gone")
    try #require(rename(items.queue + "/run", gone) == 0)
    try FileManager.default.removeItem(atPath: gone)
    try waitUntil("the pool answers") { (try? pool.status()) != nil }
    let before = try String(contentsOfFile: items.queue + "/run/identity", encoding: .utf8)
    try waitUntil("the ledger is there") {
      try FileManager.default.contentsOfDirectory(atPath: items.queue + "/run")
        .contains { $0.hasPrefix("ledger-") && !$0.hasSuffix(".new") }
    }
    pool.signal(SIGKILL)
    kill(worker, SIGKILL)
    _ = pool.waitForExit()
    let next = try items.start()
    #expect(try String(contentsOfFile: items.queue + "/run/identity", encoding: .utf8) == before)
    // The crash is counted, and the job runs again.
    try waitUntil("the crash is counted") { try items.rows().hasSuffix("|1") }
    #expect(try next.command("cancel", "p1").code == 0)
    try next.wait { $0.jobs?["cancelled"] == 1 }
    try next.stop()
  }

  /// Clients that hold their connections have taken every descriptor.
  @Test(.timeLimit(.minutes(20)))
  func aPoolWithoutADescriptorCanBeAsked() throws {
    let items = try ItemPool()
    let pool = try items.start()
    try pool.wait { $0.workers.contains { $0.phase == "up" } }
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pool.pid)/fd").compactMap { Int($0) }
    let limit = (descriptors.max() ?? 0) + 3
    let limited = try run("/usr/bin/prlimit", ["--pid", "\(pool.pid)", "--nofile=\(limit):\(limit)"])
    try #require(limited.code == 0, "\(limited.errors)")
    var clients: [Int32] = []
    defer { for client in clients { close(client) } }
    for _ in 0..<40 { clients.append(try UnixSocket.connect(to: QueueLayout(root: items.queue).statusSocket)) }
    #expect(try pool.command("status").code == 0)
    #expect(try pool.command("stop").code == 0)
  }
}
