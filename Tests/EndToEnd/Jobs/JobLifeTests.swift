import Foundation
import Jobs
import Testing

/// A job's life from its file to its end and its deletion, as real pools lead it.
@Suite(.serialized) struct JobLifeTests {
  /// The kind would wait for up to an hour after each of two failures; the job's own attempts and backoff go before
  /// that.
  @Test(.timeLimit(.minutes(20))) func aJobIsTriedAgainAsItWantsAndEachErrorIsKept() throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("fail-patiently", "--max-attempts", "4", "--backoff", "0.05")
    try pool.wait { $0.jobs?["dead"] == 1 }
    let job = try #require(try items.jobs(pool).first)
    #expect(job["attempts"]?.intValue == 4 && job["crashes"]?.intValue == 0)
    let errors = try #require(job["errors"]?.arrayValue)
    #expect(errors.compactMap { $0["attempt"]?.intValue } == [1, 2, 3, 4])
    for error in errors {
      #expect(error["type"]?.stringValue == "Refused" && error["message"]?.stringValue == "this job always fails")
      #expect(error["host"]?.stringValue == ProcessInfo.processInfo.hostName)
      #expect(error["pid"]?.intValue ?? 0 > 0)
    }
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aKindsBackoffIsSpreadByChance() throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.drop(Array(repeating: #"{"kind": "fail-patiently"}"#, count: 8), as: "jobs.json")
    try pool.wait { $0.jobs?["retryable"] == 8 }
    let waits = try items.jobs(pool).map { job in
      let failed = job["errors"]?.arrayValue?.first?["date"]?.stringValue.flatMap(Timestamp.date)
      let next = job["runAt"]?.stringValue.flatMap(Timestamp.date)
      return try #require(next).timeIntervalSince(try #require(failed))
    }
    // An hour, up to a fifth more or less. That eight lie within a minute of each other happens once in 10^8 runs.
    #expect(waits.allSatisfy { (2879...4321).contains($0) }, "\(waits)")
    #expect((waits.max() ?? 0) - (waits.min() ?? 0) > 60, "\(waits)")
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aCrashIsKeptWithProcessSignalAndLastWords() throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("crash")
    try pool.wait { $0.jobs?["dead"] == 1 }
    let job = try #require(try items.jobs(pool).first)
    #expect(job["attempts"]?.intValue == 0 && job["crashes"]?.intValue == 3)
    let errors = try #require(job["errors"]?.arrayValue)
    #expect(Set(errors.compactMap { $0["pid"]?.intValue }).count == 3, "a process each")
    for error in errors {
      #expect(error["type"]?.stringValue == "crash" && error["signal"]?.intValue == Int(SIGABRT))
      #expect(error["stderr"]?.arrayValue?.last?.stringValue == "this job always crashes")
      #expect(error["host"]?.stringValue == ProcessInfo.processInfo.hostName)
    }
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aUniqueKeyIsTakenUntilItsJobHasEndedOrItsTimeIsOver() throws {
    let items = try ItemPool()
    let pool = try items.start()
    #expect(try pool.command("pause").code == 0)
    let line = #"{"kind": "nothing", "unique": "until finished"}"#
    try items.drop([line, line, #"{"kind": "nothing"}"#], as: "first.json")
    try pool.wait { $0.jobs?["available"] == 2 }
    #expect(try pool.command("resume", "--all").code == 0)
    try pool.waitForJobs(2)
    let keyed = #"{"kind": "nothing", "unique": "for an hour", "uniqueFor": 3600}"#
    try items.drop([line, keyed], as: "second.json")
    try pool.waitForJobs(4)
    // Both have ended; one of the keys is free again. The last line tells when the file has been taken.
    try items.drop([line, keyed, #"{"kind": "nothing"}"#], as: "third.json")
    try pool.waitForJobs(6)
    #expect(try items.jobs(pool).count { $0["unique"]?.stringValue == "for an hour" } == 1)
    #expect(try items.jobs(pool).count == 6)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func whatWaitsForADeadJobDoesAsItWasTold() throws {
    let items = try ItemPool(items: 3)
    let pool = try items.start(workers: 2)
    // The labels of a file are known in its later lines.
    func after(_ rule: String, _ item: String) -> String {
      #"{"kind": "add", "after": ["bad"], "whenFailed": "\#(rule)", "objects": ["\#(item)"]}"#
    }
    let waiting = zip(["wait", "cancel", "run"], items.items).map(after)
    try items.drop([#"{"kind": "fail-for-good", "label": "bad"}"#] + waiting, as: "chain.json")
    try pool.wait { status in
      let jobs = status.jobs ?? [:]
      return jobs["dead"] == 1 && jobs["cancelled"] == 1 && jobs["succeeded"] == 1 && jobs["blocked"] == 1
    }
    #expect(try sqlite(items.store, "SELECT group_concat(ZVALUE) FROM ZITEM") == "0,0,1")
    try pool.stop()
  }

  /// The youngest stay, then none; what is not finished stays in any case.
  @Test(.timeLimit(.minutes(20))) func thePoolPrunesByCountAndByAge() throws {
    let items = try ItemPool()
    let first = try items.start()
    try items.drop(Array(repeating: #"{"kind": "nothing"}"#, count: 5), as: "jobs.json")
    try first.waitForJobs(5)
    try items.drop(
      [#"{"kind": "fail-for-good"}"#, #"{"kind": "nothing", "runAt": "2999-01-01T00:00:00Z"}"#], as: "more.json")
    try first.wait { $0.jobs?["dead"] == 1 && $0.jobs?["scheduled"] == 1 }
    try first.stop()
    let second = try items.start(options: ["--keep-count", "2"])
    try second.wait { $0.jobs?["succeeded"] == 2 }
    #expect(
      try items.jobs(second).filter { $0["state"]?.stringValue == "succeeded" }
        .compactMap { $0["job"]?.stringValue?.split(separator: "/").last } == ["p4", "p5"])
    #expect(try second.status().jobs?["dead"] == 1)
    try second.stop()
    let third = try items.start(options: ["--keep", "0", "--keep-dead", "0"])
    try third.wait { ($0.jobs?["succeeded"] ?? 0) == 0 && ($0.jobs?["dead"] ?? 0) == 0 }
    #expect(try items.jobs(third).compactMap { $0["state"]?.stringValue } == ["scheduled"])
    try third.stop()
  }
}
