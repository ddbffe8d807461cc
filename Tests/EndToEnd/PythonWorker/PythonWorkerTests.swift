import Foundation
import Jobs
import Testing
import WorkerPool

/// PROTOCOL.md is enough to write a worker in another language: Tests/Support/PythonWorker was written from it, and
/// runs in a real pool.
@Suite(.serialized, .enabled(if: Python.isThere, "python3 is not there")) struct PythonWorkerTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// A pool that also has the Python worker.
  private func pool(_ items: ItemPool, workers: Int = 2) throws -> RunningPool {
    try FileManager.default.createSymbolicLink(
      atPath: items.plugins + "/worker-python",
      withDestinationPath: Self.root.appendingPathComponent("Tests/Support/PythonWorker/worker-python").path)
    return try items.start(workers: workers)
  }

  /// The jobs by kind, as `workerpool jobs --json` shows them.
  private func jobs(_ pool: RunningPool) throws -> [String: JSONValue] {
    let jobs = try pool.command("jobs", "--json", "--limit", "0").lines.map { try JSONParser.parse($0) }
    return Dictionary(jobs.map { ($0["kind"]?.stringValue ?? "", $0) }, uniquingKeysWith: { first, _ in first })
  }

  @Test(.timeLimit(.minutes(20))) func jobsEndInEveryWayThatTheProtocolHas() throws {
    let items = try ItemPool(items: 5)
    let pool = try pool(items)
    try items.submit("py-add", items: [items.items[0]])
    try pool.submit("py-insert", "--set", "value=7")
    try items.submit("py-snooze", items: [items.items[1]], ["--set", "mark=\(items.place.path("mark"))"])
    try pool.submit("py-chunks", items.items[2], items.items[3])
    try items.submit("py-follow", items: [items.items[4]])
    for kind in ["py-fail", "py-broken", "py-crash"] { try pool.submit(kind) }
    try pool.wait { $0.jobs?["succeeded"] == 6 && $0.jobs?["dead"] == 3 }

    #expect(try sqlite(items.store, "SELECT ZVALUE FROM ZITEM ORDER BY Z_PK") == "1\n1\n1\n1\n2\n7")
    let jobs = try jobs(pool)
    let failure = try #require(jobs["py-fail"]?["errors"]?.arrayValue)
    #expect(failure.map { $0["message"]?.stringValue } == ["this job always fails", "this job always fails"])
    #expect(failure[0]["type"]?.stringValue == "ValueError" && failure[0]["attempt"]?.intValue == 1)
    #expect(failure[0]["date"]?.stringValue.flatMap(Timestamp.date) != nil)
    #expect(jobs["py-broken"]?["attempts"]?.intValue == 1)
    #expect(jobs["py-crash"]?["crashes"]?.intValue == 1 && jobs["py-crash"]?["attempts"]?.intValue == 0)
    #expect(jobs["py-chunks"]?["crashes"]?.intValue == 1)
    #expect(jobs["py-snooze"]?["attempts"]?.intValue == 1 && jobs["py-snooze"]?["errors"]?.arrayValue?.isEmpty != false)
    let result = jobs["py-insert"]?["results"]?.arrayValue?.first?.stringValue
    #expect(result == items.items[0].replacing("/p1", with: "/p6"))

    // What it wrote is as Core Data would have written it.
    let fetched = try workerpool(
      "fetch", "Item", "--where", "value == 7", "--store", items.store, "--model", items.model, "--json")
    #expect(fetched.lines.count == 1 && fetched.output.contains("/Item/p6"), "\(fetched.output)\(fetched.errors)")
    #expect(try sqlite(items.store, "SELECT count(*) FROM ZITEM WHERE Z_OPT <> 1 + (ZVALUE % 7)") == "0")
    #expect(try sqlite(items.store, "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Item'") == "6")
    #expect(try sqlite(items.store, "PRAGMA integrity_check") == "ok")
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aKeyIsFreeAgainWhenItsJobHasEnded() throws {
    let items = try ItemPool()
    let pool = try pool(items)
    for number in 1...2 {
      try items.drop(
        [#"{"kind": "py-add", "objects": ["\#(items.items[0])"], "unique": "once"}"#], as: "\(number).json")
      try pool.waitForJobs(number)
    }
    #expect(try sqlite(items.store, "SELECT ZVALUE FROM ZITEM") == "2")
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)), .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"))
  func noJobBeginsWhileTheDiskIsAsGoodAsFull() throws {
    let place = try TestPlace()
    let disk = try SmallDisk(place)
    let items = try ItemPool(in: place, store: "disk/app.sqlite")
    let pool = try pool(items)
    let lines = place.path("lines")
    try disk.fill()
    try disk.makeRoom(800_000)
    try items.submit("py-add", items: items.items, ["--set", "lines=\(lines)"])
    try pool.wait { status in status.workers.contains { $0.waitsForStore == "full" } }
    #expect(!FileManager.default.fileExists(atPath: lines))
    disk.empty()
    try pool.waitForJobs(1)
    #expect(try String(contentsOfFile: lines, encoding: .utf8) == "ran\n")
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func everyColumnOfAJobAndEveryVariableIsInTheProtocol() throws {
    let text = try String(contentsOf: Self.root.appendingPathComponent("Protocol/PROTOCOL.md"), encoding: .utf8)
    let items = try ItemPool()
    let pool = try pool(items)
    try pool.wait { !$0.workers.isEmpty && $0.workers.allSatisfy { $0.phase == "up" } }
    let columns = try sqlite(items.store, "SELECT name FROM pragma_table_info('WPPOOLJOB')").split(separator: "\n")
    #expect(columns.count > 20)
    for column in columns { #expect(text.contains("`\(column)`"), "\(column) is not in PROTOCOL.md") }
    let worker = try #require(try pool.status().workers.first?.pid)
    let environment = FileManager.default.contents(atPath: "/proc/\(worker)/environ") ?? Data()
    let names = String(decoding: environment, as: UTF8.self).split(separator: "\0")
      .compactMap { $0.split(separator: "=").first }.filter { $0.hasPrefix("WORKERPOOL_") }
    #expect(names.count > 5)
    for name in names { #expect(text.contains("`\(name)`"), "\(name) is not in PROTOCOL.md") }
    try pool.stop()
  }
}

enum Python {
  static let isThere = (try? run("/usr/bin/env", ["python3", "-c", "import sqlite3"]))?.code == 0
}
