import Foundation
import Jobs
import TestFiles
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

/// The worker of the page WorkerInPython for a store at a server.
@Suite(
  .enabled(if: Python.hasPostgreSQL, "/usr/bin/python3 has no psycopg2 (package python3-psycopg2)"),
  .enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(20)))
struct PythonAtServerTests {
  private func start(at server: PostgreSQLServer = .shared) throws -> (hosts: HostPools, pool: RunningPool) {
    let page = DocumentationPage(path: "Sources/WorkerKit/WorkerKit.docc/WorkerInPython.md")
    let worker = try #require(page.blocks.first { $0.file == "server/worker-shout" })
    let hosts = try HostPools(at: server.address(), model: Self.writeModel)
    try FileManager.default.createDirectory(atPath: hosts.plugins, withIntermediateDirectories: true)
    try hosts.place.write(worker.text, to: "plugins/worker-shout", mode: 0o755)
    return (hosts, try hosts.start("a", workers: 2, counts: false))
  }

  private static func writeModel(into place: TestPlace) throws -> String {
    try place.write(
      """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" sourceLanguage="Swift">
        <entity name="Country" representedClassName="Country" syncable="YES">
          <attribute name="name" optional="YES" attributeType="String"/>
        </entity>
      </model>
      """, to: "App.xcdatamodel/contents")
    return place.path("App.xcdatamodel")
  }

  @Test func jobsSucceedAndFailAtAServer() throws {
    let (hosts, pool) = try start()
    try hosts.psql(#"INSERT INTO "\#(hosts.schema)"."Country" (name) VALUES ('Iceland'), ('Kenya')"#)
    try pool.submit("shout", "--entity", "Country", "--even-if-unknown", "--wait")
    let names = try hosts.psql(#"SELECT name, _version FROM "\#(hosts.schema)"."Country" ORDER BY name"#)
    #expect(names == "ICELAND|2\nKENYA|2")
    try hosts.drop(
      [#"{"kind": "shout", "objects": ["x-coredata://0/Country/p999"], "maxAttempts": 2, "backoff": 0.1}"#],
      as: "bad.json", on: "a")
    try pool.wait { $0.jobs?["dead"] == 1 }
    let dead = try hosts.psql("SELECT attempt, crashes, claimant FROM \(hosts.table("PoolJob")) WHERE state = 4")
    #expect(dead == "2|0|")
    try pool.stop()
  }

  /// The workers' sessions end again and again, as when a standby takes the server's place.
  @Test func lostSessionsLoseAndDoubleNothing() throws {
    let server = PostgreSQLServer(["fsync=off"])
    defer { server.stop() }
    let (hosts, pool) = try start(at: server)
    let jobs = 200
    let table = #""\#(hosts.schema)"."Country""#
    try hosts.psql("INSERT INTO \(table) (name) SELECT 'name ' || n FROM generate_series(1, \(jobs)) n")
    try pool.submit("shout", "--entity", "Country", "--chunk", "1", "--even-if-unknown")
    for round in 1...4 {
      try waitUntil("some jobs have ended") { try hosts.succeeded() >= round * jobs / 5 }
      // The pool's own sessions name themselves.
      try hosts.psql(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
        AND backend_type = 'client backend' AND application_name = ''
        """)
    }
    try waitUntil("all jobs have succeeded") { try hosts.succeeded() == jobs }
    #expect(try hosts.psql("SELECT count(*) FROM \(table) WHERE name = upper(name) AND _version = 2") == "\(jobs)")
    try pool.stop()
  }
}

enum Python {
  static let hasPostgreSQL = (try? run("/usr/bin/python3", ["-c", "import psycopg2"]))?.code == 0
  static let isThere = (try? run("/usr/bin/env", ["python3", "-c", "import sqlite3"]))?.code == 0
}
