import Foundation
import Glibc
import Testing
import WorkerPool

/// Runs mixed jobs while ten random processes are killed every second, the supervisor among them: no job is lost, and
/// none is done twice.
///
/// Twenty seconds of it are part of the default run; `WORKERPOOL_SOAK=3600` makes it an hour.
@Suite(.serialized) struct SoakTests {
  /// Seconds that it shall take.
  static let duration = ProcessInfo.processInfo.environment["WORKERPOOL_SOAK"].flatMap(Double.init) ?? 20
  /// Kills in a second, on average, and how many of them hit the supervisor.
  static let killsPerSecond = 10.0
  static let supervisorShare = 0.03
  /// Jobs that wait at a time: there is always work, and it is soon done at the end.
  static let backlog = 60

  @Test(.timeLimit(.minutes(150)))
  func nothingIsLostOrDoneTwiceWhateverIsKilled() throws {
    let soak = try Soak()
    let result = try soak.run(seconds: Self.duration)
    print(result.summary)
    #expect(result.lost == 0, "\(result.summary)")
    #expect(result.doubled == 0, "\(result.summary)")
    #expect(result.jobs > 0 && result.kills > 0)
    if Self.duration >= 3600 { #expect(result.kills >= 1000) }
  }
}

/// One long run.
private final class Soak {
  struct Result {
    var jobs = 0
    var effects = 0
    var lost = 0
    var doubled = 0
    var kills = 0
    var supervisorKills = 0
    var retried = 0
    var seconds = 0.0

    var summary: String {
      "soak: \(jobs) jobs in, \(effects) effects, lost \(lost), doubled \(doubled); \(kills) kills in "
        + "\(Int(seconds)) s, \(supervisorKills) of them of the supervisor; \(retried) times a job was brought back "
        + "that had been in hand too often"
    }
  }

  private let items: ItemPool
  private var pool: RunningPool
  private var result = Result()
  private var submitted = 0
  private static let itemCount = 200

  init() throws {
    items = try ItemPool(items: Self.itemCount)
    pool = try items.start(workers: 4)
  }

  func run(seconds: Double) throws -> Result {
    let start = Date()
    try submit(Soak.jobsAtATime)
    while -start.timeIntervalSinceNow < seconds {
      try pause()
      try killSomebody()
      if result.kills % 20 == 0 { try bringBackDeadJobs() }
      if result.kills % 10 == 0 { try keepBusy() }
    }
    try finish()
    result.seconds = -start.timeIntervalSinceNow
    return result
  }

  private static let jobsAtATime = SoakTests.backlog

  /// The time between two kills is the one thing here that has to take time: poll(2) on nothing.
  private func pause() throws {
    poll(nil, 0, Int32(.random(in: 0...(2000 / SoakTests.killsPerSecond))))
  }

  private func killSomebody() throws {
    if Double.random(in: 0..<1) < SoakTests.supervisorShare {
      try pool.kill9()
      result.supervisorKills += 1
      result.kills += 1
      pool = try items.start(workers: 4)
    } else if let victim = try pool.leftovers().randomElement() {
      if kill(victim, SIGKILL) == 0 { result.kills += 1 }
    }
  }

  private func keepBusy() throws {
    let unfinished = Int(try sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB WHERE ZSTATE IN (0, 1, 2)")) ?? 0
    if unfinished < SoakTests.backlog / 2 { try submit(Soak.jobsAtATime) }
  }

  /// Job files of mixed jobs, renamed into place: single jobs, jobs in one transaction, jobs that submit others, and
  /// jobs with checkpoints.
  private func submit(_ count: Int) throws {
    var lines = ""
    for _ in 0..<count {
      let item = items.items[submitted % items.items.count]
      let kind = ["add", "add-slowly", "add", "spawn"][submitted % 4]
      lines += #"{"kind": "\#(kind)", "objects": ["\#(item)"], "maxAttempts": 100}"# + "\n"
      submitted += 1
    }
    let name = "soak-\(submitted).json"
    let temporary = items.queue + "/incoming/." + name
    try Data(lines.utf8).write(to: URL(fileURLWithPath: temporary))
    try #require(rename(temporary, items.queue + "/incoming/" + name) == 0)
  }

  /// Jobs that were in hand at three deaths are dead; a person would look, and run them again.
  private func bringBackDeadJobs() throws {
    let dead = try sqlite(items.store, "SELECT 'p' || Z_PK FROM WPPOOLJOB WHERE ZSTATE = 4")
    guard !dead.isEmpty else { return }
    let jobs = dead.split(separator: "\n").map(String.init)
    result.retried += jobs.count
    // The pool may die meanwhile; the next round asks again.
    _ = try EndToEndTests.run(
      Built.path("workerpool"), ["retry", "--queue", items.queue, "--store", items.store] + jobs)
  }

  /// Lets the pool do the rest in peace, and counts.
  private func finish() throws {
    try waitUntil("all jobs are done", timeout: .seconds(1200)) {
      try bringBackDeadJobs()
      let waiting = "SELECT count(*) FROM WPPOOLJOB WHERE ZSTATE != 3"
      if try sqlite(items.store, waiting) == "0", try items.isTaken { return true }
      try #require(pool.isRunning, "the pool has ended by itself: \(pool.lastLines)")
      try pause()
      return false
    }
    try pool.stop()
    #expect(try pool.leftovers().isEmpty)
    #expect(try sqlite(items.store, "PRAGMA integrity_check") == "ok")
    // Each job of the four kinds adds one to its item in the end, `spawn` through the job that it submits.
    result.jobs = submitted
    let values = try sqlite(items.store, "SELECT ZVALUE FROM ZITEM ORDER BY Z_PK").split(separator: "\n").compactMap {
      Int($0)
    }
    for (index, value) in values.enumerated() {
      let expected = submitted / Self.itemCount + (index < submitted % Self.itemCount ? 1 : 0)
      result.effects += value
      result.lost += max(0, expected - value)
      result.doubled += max(0, value - expected)
    }
  }
}
