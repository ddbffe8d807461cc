import Foundation
import Testing

/// The queue directory as producers and operators meet it.
@Suite(.serialized) struct QueueDirectoryTests {
  /// Given a pool that runs, when another directory takes the place of `incoming/`, in one step or in two, then files
  /// in the new one are taken, at once and not with the next look.
  @Test(.timeLimit(.minutes(20)))
  func aPoolGoesOnWithTheDirectoryThatTookThePlaceOfIncoming() throws {
    let items = try ItemPool(items: 3)
    let pool = try items.start()
    let incoming = items.queue + "/incoming"

    try FileManager.default.moveItem(atPath: incoming, toPath: items.queue + "/old")
    try FileManager.default.createDirectory(atPath: incoming, withIntermediateDirectories: false)
    try items.submit("add", items: [items.items[0]])
    try pool.waitForJobs(1)

    try FileManager.default.removeItem(atPath: incoming)
    try FileManager.default.moveItem(atPath: items.queue + "/old", toPath: incoming)
    try items.submit("add", items: [items.items[1]])
    try pool.waitForJobs(2)

    // The new one is watched: what comes later is announced.
    let start = Date()
    try items.submit("add", items: [items.items[2]])
    try pool.waitForJobs(3)
    #expect(Date().timeIntervalSince(start) < 9, "a rescan comes after ten seconds")
    #expect(pool.lastLines.components(separatedBy: "incoming is another directory now").count == 3, "\(pool.lastLines)")
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }

  @Test func aPeriodicEntryInANewDirectoryIsSeen() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let periodic = items.queue + "/periodic"
    try FileManager.default.moveItem(atPath: periodic, toPath: items.queue + "/old")
    try FileManager.default.createDirectory(atPath: periodic, withIntermediateDirectories: false)
    try items.place.write(#"{"cron": "@yearly", "job": {"kind": "nothing"}}"#, to: "entry")
    try FileManager.default.moveItem(atPath: items.place.path("entry"), toPath: periodic + "/yearly.json")
    try pool.wait { _ in try sqlite(items.store, "SELECT ZNAME FROM WPPOOLPERIODIC") == "yearly" }
    try pool.stop()
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
  func aPoolThatAllowsItsGroupTakesTheFilesOfItsMembers() throws {
    let items = try ItemPool(items: 2)
    let incoming = items.queue + "/incoming"
    let pool = try items.start(options: ["--allow-group"])
    try #require(chmod(incoming, 0o2770) == 0)
    for (number, group) in [getegid(), 65_534].enumerated() {
      let path = try items.place.write(
        #"{"kind": "add", "objects": ["\#(items.items[number])"]}"#, to: "\(number).json")
      try #require(chown(path, 65_534, group) == 0)
      try #require(rename(path, incoming + "/\(number).json") == 0)
    }
    try pool.waitForJobs(1)
    try pool.wait { $0.rejectedFiles == 1 }
    try pool.stop()
    #expect(try sqlite(items.store, "SELECT ZVALUE FROM ZITEM ORDER BY Z_PK") == "1\n0")
    let reason = try String(contentsOfFile: items.queue + "/rejected/1.json.error", encoding: .utf8)
    #expect(reason.contains("belongs to user 65534 and group 65534; a job file must belong to the pool's user"))
  }

  @Test func submitMakesNoQueueDirectory() throws {
    let place = try TestPlace()
    let finished = try workerpool("submit", "import", "--queue", place.path("qeue"))
    #expect(finished.code == 1)
    #expect(finished.errors.contains("qeue is not a queue directory: name the one of a pool with --queue"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path).isEmpty)
  }

  /// A rename is on disk when its directory is.
  @Test func whatSubmitHasSubmittedIsOnDisk() throws {
    let place = try TestPlace()
    let calls = try submit(place, ["FAULT_LOG": place.path("calls")])
    #expect(calls.code == 0)
    let lines = try String(contentsOfFile: place.path("calls"), encoding: .utf8).split(separator: "\n").map {
      $0.split(separator: " ").dropFirst()
    }
    let rename = try #require(lines.firstIndex { $0.first == "rename" })
    #expect(lines[..<rename].contains { $0.first == "sync" && $0.last?.hasSuffix(".tmp") == true })
    #expect(lines[rename...].contains { $0.first == "sync" && $0.last == "incoming" })
  }

  @Test func whatMayNotBeOnDiskIsNotSubmitted() throws {
    let place = try TestPlace()
    let log = place.path("calls")
    _ = try submit(place, ["FAULT_LOG": log])
    let calls = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
    let last = try #require(
      calls.last { $0.contains(" sync ") && $0.hasSuffix("incoming") }?.split(separator: " ").first)
    let finished = try submit(
      place, ["FAULT_GROUP": "sync", "FAULT_AT": String(last), "FAULT_MODE": "once", "FAULT_ERRNO": "\(EIO)"])
    #expect(finished.code == 1)
    #expect(finished.errors.contains("incoming cannot be synchronised"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.path("queue/incoming")).isEmpty)
  }

  /// Runs `submit` with Tests/Support/FaultyCalls in an empty queue directory.
  private func submit(_ place: TestPlace, _ environment: [String: String]) throws -> Finished {
    let library = try FaultyPool.library(in: place)
    let queue = place.path("queue")
    try? FileManager.default.removeItem(atPath: queue)
    try FileManager.default.createDirectory(atPath: queue + "/incoming", withIntermediateDirectories: true)
    let variables = environment.merging(["LD_PRELOAD": library, "FAULT_PROGRAM": "workerpool"]) { $1 }
    return try run(
      "/usr/bin/env", variables.map { "\($0)=\($1)" } + [Built.path("workerpool"), "submit", "add", "--queue", queue])
  }
}
