import Foundation
import Testing

/// Each system call of the pool that can fail does so: the pool does not crash, says why, and when it is over every job has taken effect once.
///
/// By default each kind of call on each kind of file fails once, at its first and at its last occurrence. `WORKERPOOL_FAULTS=all` lets every
/// single call fail with every error, once and for good, which takes hours.
@Suite(.serialized) struct FaultLoopTests {
  private static let isComplete = ProcessInfo.processInfo.environment["WORKERPOOL_FAULTS"] == "all"

  @Test(.timeLimit(.minutes(600)))
  func whateverFailsNothingIsLostAndTheReasonIsShown() throws {
    let place = try TestPlace()
    let library = try FaultyPool.library(in: place)
    let faults = try faults(library, place)
    #expect(
      Set(faults.map(\.call.group)).isSuperset(of: [
        "write", "sync", "rename", "send", "accept", "spawn", "open", "lock",
      ]))
    for fault in faults { try check(fault, library) }
    print("fault loop: \(faults.count) faults")
  }

  /// What is to fail: the calls of a run in which nothing does.
  private func faults(_ library: String, _ place: TestPlace) throws -> [FaultyPool.Fault] {
    let items = try itemsWithJobs()
    let record = place.path("calls")
    let pool = try FaultyPool(items, library: library, fault: nil, record: record)
    try pool.follow(silences: 300) { log in try log.contains("is rejected") && isDone(items) }
    #expect(pool.end() == (0, false), "\(pool.log)")
    let calls = try String(contentsOfFile: record, encoding: .utf8).split(separator: "\n")
      .compactMap(FaultyPool.Call.init(line:))
    try #require(calls.count > 50, "\(pool.log)")
    if Self.isComplete {
      return calls.flatMap { call in
        call.errors.flatMap { error in
          [false, true].map { FaultyPool.Fault(call: call, isForGood: $0, error: error) }
        }
      }
    }
    // Names of job files and temporary files differ from run to run.
    let classes = Dictionary(grouping: calls) { call in
      let file = call.file.replacing(/[0-9A-Fa-f-]{8,}/, with: "#")
      return "\(call.function) \(call.group == "open" || call.group == "lock" ? "" : file)"
    }
    return classes.values.flatMap { calls -> [FaultyPool.Fault] in
      guard let first = calls.first, let last = calls.last, let error = first.errors.first else { return [] }
      return [
        FaultyPool.Fault(call: first, isForGood: false, error: error),
        FaultyPool.Fault(call: last, isForGood: false, error: first.errors.last ?? error),
      ]
    }.sorted { $0.call.number < $1.call.number }
  }

  /// Three jobs in one file, and a file that has to be rejected.
  private func itemsWithJobs() throws -> ItemPool {
    let items = try ItemPool(items: 3)
    let lines = items.items.map { #"{"kind": "add", "objects": ["\#($0)"]}"# }.joined(separator: "\n")
    for directory in ["incoming", "rejected"] {
      try FileManager.default.createDirectory(
        atPath: items.queue + "/" + directory, withIntermediateDirectories: true)
    }
    try Data(lines.utf8).write(to: URL(fileURLWithPath: items.queue + "/incoming/jobs.json"))
    try Data("nonsense".utf8).write(to: URL(fileURLWithPath: items.queue + "/incoming/bad.json"))
    for name in ["jobs.json", "bad.json"] {
      try FileManager.default.setAttributes(
        [.modificationDate: Date() - 60], ofItemAtPath: items.queue + "/incoming/" + name)
    }
    return items
  }

  private func isDone(_ items: ItemPool) throws -> Bool {
    let tables = try sqlite(items.store, "SELECT count(*) FROM sqlite_master WHERE name = 'WPPOOLJOB'")
    return try tables == "1" && sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB WHERE ZSTATE = 3") == "3"
  }

  private func check(_ fault: FaultyPool.Fault, _ library: String) throws {
    let items = try itemsWithJobs()
    let pool = try FaultyPool(items, library: library, fault: fault)
    // A fault for good may leave nothing to wait for but its being told.
    try pool.follow(silences: fault.isForGood ? 40 : 150) { log in
      try isDone(items) || fault.isForGood && tellsReason(log, fault)
    }
    let wasDone = try isDone(items)
    let ending = pool.end()
    #expect(!ending.isSignal, "\(fault): the pool was ended by signal \(ending.status)\n\(pool.log)")
    if !wasDone { #expect(tellsReason(pool.log, fault), "\(fault): the reason is not shown\n\(pool.log)") }

    // Without the fault the next pool does what is left.
    let next = try items.start()
    try next.waitForJobs(3)
    try next.wait { $0.rejectedFiles == 1 }
    try next.stop()
    let rejected = items.queue + "/rejected"
    for file in try FileManager.default.contentsOfDirectory(atPath: rejected) { unlink(rejected + "/" + file) }
    try items.checkNothingIsLeft(of: next)
  }

  /// The error's own text, or SQLite's for it.
  private func tellsReason(_ log: String, _ fault: FaultyPool.Fault) -> Bool {
    let sentences = [
      String(cString: strerror(fault.error)), "disk is full", "disk I/O error", "unable to open database file",
      "database is locked", "locking protocol", "not a data model that can be read",
    ]
    return sentences.contains { log.contains($0) }
  }
}
