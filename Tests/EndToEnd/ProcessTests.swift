import Foundation
import Testing
import WorkerPool

/// What an operator does to processes, and what they may use, while jobs go on.
@Suite(.serialized) struct ProcessTests {
  @Test(.timeLimit(.minutes(20)))
  func reloadingReplacesEachProcessAndLosesNoJob() throws {
    let items = try ItemPool(items: 40)
    let pool = try items.start(workers: 2)
    try pool.wait { $0.workers.count { $0.phase == "up" } == 2 }
    let before = Set(try pool.status().workers.map(\.pid))
    let lines = items.items.map { #"{"kind": "add-slowly", "objects": ["\#($0)"]}"# }
    try items.drop(Array(lines[..<20]), as: "first.json")
    pool.signal(SIGHUP)
    try items.drop(Array(lines[20...]), as: "second.json")
    try pool.wait { status in
      status.workers.count { $0.phase == "up" } == 2 && before.isDisjoint(with: status.workers.map(\.pid))
    }
    try pool.waitForJobs(40)
    #expect(try pool.status().restarts == 0, "none of them died")
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
    #expect(try items.rows() == "3|1|0")
  }

  @Test(.timeLimit(.minutes(20)))
  func aProcessThatUsesUpItsTimeIsEndedByTheKernelAndItsJobTriedAgain() throws {
    let items = try ItemPool()
    let pool = try items.start(options: ["--cpu", "2"])
    try items.submit("misbehave", "--set", "how=loop")
    try pool.waitForJobs(1)
    #expect(try pool.command("jobs", "--json").output.contains("was killed by signal \(SIGXCPU) (CPU time limit"))
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
    #expect(try items.rows() == "3|1|1")
  }

  /// A reader of another process keeps the log from getting shorter for as long as it reads. Then it gets short by
  /// itself, and the end of the pool leaves nothing of it beside the app's store.
  @Test(.timeLimit(.minutes(20)))
  func whoKeepsTheLogFromGettingShorterIsNamed() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let reader = try StoreShell(store: items.store, "BEGIN; SELECT count(*) FROM ZITEM;")
    try items.submit("add")
    try pool.wait { $0.walReaders?.contains { $0.pid == reader.pid && $0.command == "sqlite3" && $0.age >= 0 } == true }
    let text = try pool.command("status").output
    #expect(text.contains("process \(reader.pid) (sqlite3) keeps it from getting shorter"), "\(text)")
    try reader.letGo()
    try pool.wait { $0.walReaders?.isEmpty == true }
    #expect(try pool.status().walBytes ?? 0 > 0)
    // Nor does an app that has it open keep the log from being emptied.
    let app = try StoreShell(store: items.store, "SELECT count(*) FROM ZITEM;")
    try pool.stop()
    let log = try? FileManager.default.attributesOfItem(atPath: items.store + "-wal")[.size] as? Int
    #expect(log ?? 0 == 0)
    try app.letGo()
    try items.checkNothingIsLeft(of: pool)
  }
}
