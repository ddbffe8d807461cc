import Foundation
import Testing
import WorkerPool

/// Another process has the store locked when the pool starts: the pool says so, obeys meanwhile, and does not wait for ever.
@Suite(.serialized) struct LockedStoreTests {
  /// Has the store for itself.
  private func holder(_ items: ItemPool) throws -> StoreShell {
    try StoreShell(store: items.store, "PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE t (a); DROP TABLE t;")
  }

  @Test(.timeLimit(.minutes(20)), arguments: [SIGTERM, SIGINT, SIGQUIT])
  func thePoolSaysWhoHasItAndObeysSignals(signal: Int32) throws {
    let items = try ItemPool()
    let holder = try holder(items)
    let pool = try StartingPool(items)
    let line = try #require(pool.line(with: "is not open after 1 s"))
    #expect(line.contains("process \(holder.pid) (sqlite3) has it locked"), "\(line)")
    let status = try workerpool("status", "--queue", items.queue)
    #expect(status.output.contains(", opening for "), "\(status.output)\(status.errors)")
    #expect(status.output.contains("process \(holder.pid) (sqlite3) has it locked"))
    #expect(status.output.contains("let the process that has it locked end"))
    let pause = try workerpool("pause", "--queue", items.queue)
    #expect(pause.code == 1 && pause.errors.contains("the store is not open yet"))
    let ending = pool.end(signal)
    #expect(ending.code == 0 && ending.lines.last?.hasSuffix("stopped") == true, "\(ending)")
    try holder.letGo()
    #expect(try FileManager.default.contentsOfDirectory(atPath: items.queue + "/run").allSatisfy { $0 == "write-turn" })
  }

  @Test(.timeLimit(.minutes(20)))
  func itEndsWithACodeOfItsOwnWhenTheLockStays() throws {
    let items = try ItemPool()
    let holder = try holder(items)
    let ending = try StartingPool(items, options: ["--store-wait", "2"]).end()
    #expect(ending.code == 5)
    #expect(
      ending.lines.last
        == "workerpool run: the store \(items.store) could not be opened within 2.0 seconds: process \(holder.pid) "
        + "(sqlite3) has it locked", "\(ending.lines)")
    try holder.letGo()
  }

  @Test(.timeLimit(.minutes(20)))
  func itGoesOnWhenTheLockIsGone() throws {
    let items = try ItemPool()
    let holder = try holder(items)
    let pool = try StartingPool(items)
    try #require(pool.line(with: "has it locked") != nil)
    try holder.letGo()
    try #require(pool.line(with: "running on") != nil)
    let client = try StatusClient(queue: items.queue)
    #expect(try client.request(StatusRequest(.status)).status?.phase == "running")
    #expect(pool.end(SIGTERM).code == 0)
  }

  /// The turn at writing is a lock, too, which SQLite knows nothing of.
  @Test(.timeLimit(.minutes(20)))
  func aWriteTurnThatSomebodyKeepsIsWaitedForInTheSameWay() throws {
    let items = try ItemPool()
    try FileManager.default.createDirectory(atPath: items.queue + "/run", withIntermediateDirectories: true)
    let turn = open(items.queue + "/run/write-turn", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(turn) }
    var lock = flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
    // F_OFD_SETLK of fcntl(2).
    try #require(fcntl(turn, 37, &lock) == 0)
    let pool = try StartingPool(items, options: ["--store-wait", "3"])
    try #require(pool.line(with: "is not open after 1 s") != nil)
    let ending = pool.end()
    #expect(ending.code == 5 && ending.lines.last?.contains("could not be opened within 3.0 seconds") == true)
  }
}
