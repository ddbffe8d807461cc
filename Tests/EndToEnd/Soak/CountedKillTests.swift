import Foundation
import Glibc
import Testing

/// Workers, the pool, or both at once are killed at random moments, and every job is counted by itself: in the store,
/// where it counts once, and in a file outside, where an attempt that died before its save is repeated.
///
/// 20 kills are part of the default run; `WORKERPOOL_KILLS=1000` makes it that many.
@Suite(.serialized) struct CountedKillTests {
  static let kills = ProcessInfo.processInfo.environment["WORKERPOOL_KILLS"].flatMap(Int.init) ?? 20

  @Test(.timeLimit(.minutes(150)))
  func everyJobCountsOnceInTheStoreWhoeverIsKilled() throws {
    let harness = try KillHarness()
    let count = try harness.run(kills: Self.kills)
    print(count.summary)
    #expect(count.lostInside.isEmpty, "\(count.summary)")
    #expect(count.doubledInside.isEmpty, "\(count.summary)")
    #expect(count.lostOutside.isEmpty, "\(count.summary)")
    // A death costs each of the four workers the job in hand, and no other.
    #expect(count.repeatedOutside <= 4 * Self.kills, "\(count.summary)")
    #expect(count.jobs > 0 && count.kills.values.reduce(0, +) == Self.kills)
  }
}

/// What came of each job of a run, by the job's number.
private struct JobCount {
  var jobs = 0
  /// Kills by victim.
  var kills: [KillHarness.Victim: Int] = [:]
  var lostInside: [Int] = []
  var doubledInside: [Int] = []
  var lostOutside: [Int] = []
  /// Lines in the file beyond the first of each job.
  var repeatedOutside = 0
  /// Jobs whose row counts a crash.
  var crashed = 0
  var seconds = 0.0

  /// Takes the numbers that were found in the store and in the file.
  mutating func compare(inside: [Int], outside: [Int]) {
    let inside = Dictionary(inside.map { ($0, 1) }, uniquingKeysWith: +)
    let outside = Dictionary(outside.map { ($0, 1) }, uniquingKeysWith: +)
    for number in 0..<jobs {
      let count = inside[number, default: 0]
      if count == 0 { lostInside.append(number) }
      if count > 1 { doubledInside.append(number) }
      let lines = outside[number, default: 0]
      if lines == 0 { lostOutside.append(number) }
      repeatedOutside += max(0, lines - 1)
    }
  }

  var summary: String {
    let victims = KillHarness.Victim.allCases.map { "\(kills[$0, default: 0]) of \($0.rawValue)" }
    return "counted kills: \(jobs) jobs; \(victims.joined(separator: ", ")) in \(Int(seconds)) s; in the store lost "
      + "\(lostInside.count), doubled \(doubledInside.count); outside lost \(lostOutside.count), repeated "
      + "\(repeatedOutside); \(crashed) jobs count a crash"
  }
}

/// One run: jobs come without end, and a victim is killed every few hundredths of a second.
private final class KillHarness {
  enum Victim: String, CaseIterable {
    case worker = "a worker"
    case pool = "the pool"
    case both = "pool and workers at once"

    /// Of twelve kills nine hit a worker: a pool that dies all the time gets no work done.
    static func random() -> Victim {
      switch Int.random(in: 0..<12) {
      case 0..<9: .worker
      case 9..<11: .pool
      default: .both
      }
    }
  }

  private let items: ItemPool
  private let trace: String
  private var pool: RunningPool
  private var count = JobCount()
  private static let backlog = 400
  private static let workers = 4

  init() throws {
    items = try ItemPool(items: 0)
    trace = items.place.path("trace")
    pool = try items.start(workers: Self.workers, environment: ["TEST_WORKER_COUNTS": "1"])
  }

  func run(kills: Int) throws -> JobCount {
    let start = Date()
    var done = 0
    while done < kills {
      try keepBusy()
      // The moment of a kill is the one thing here that is left to chance.
      poll(nil, 0, .random(in: 0...250))
      let victim = Victim.random()
      guard try kill(victim) else { continue }
      count.kills[victim, default: 0] += 1
      done += 1
    }
    try finish()
    count.seconds = -start.timeIntervalSinceNow
    return count
  }

  /// False when there was nobody to kill.
  private func kill(_ victim: Victim) throws -> Bool {
    switch victim {
    case .worker:
      guard let worker = try pool.leftovers().randomElement() else { return false }
      return Glibc.kill(worker, SIGKILL) == 0
    case .pool:
      // The next one starts while workers of this one still finish their job.
      pool.signal(SIGKILL)
    case .both:
      for process in (try pool.leftovers() + [pool.pid]).shuffled() { Glibc.kill(process, SIGKILL) }
    }
    _ = pool.waitForExit()
    pool = try items.start(workers: Self.workers, environment: ["TEST_WORKER_COUNTS": "1"])
    return true
  }

  /// Renames job files into place, always by the same few names: of one job, and of many in one transaction.
  private func keepBusy() throws {
    let waiting = Int(try sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB WHERE ZSTATE IN (0, 1, 2)")) ?? 0
    guard waiting < Self.backlog else { return }
    for name in ["one.json", "many.json", "some.json"] {
      let path = items.queue + "/incoming/" + name
      // To rename over a file that waits would take it back. Only the pool takes files away, so this stays true.
      if FileManager.default.fileExists(atPath: path) { continue }
      let jobs = name == "one.json" ? 1 : Int.random(in: 2...Self.backlog / 2)
      let lines = (count.jobs..<count.jobs + jobs).map { number in
        let parameters = #"{"number": \#(number), "file": "\#(trace)", "milliseconds": \#(number % 4 * 40)}"#
        return #"{"kind": "counted", "parameters": \#(parameters)}"#
      }
      let temporary = items.queue + "/incoming/.\(name)"
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: temporary))
      try #require(rename(temporary, path) == 0)
      count.jobs += jobs
    }
  }

  /// Lets the pool do the rest in peace, and counts.
  private func finish() throws {
    try pool.wait { status in
      let files = try FileManager.default.contentsOfDirectory(atPath: items.queue + "/incoming")
      return files.isEmpty && status.jobs?["succeeded"] == count.jobs
    }
    try pool.stop()
    #expect(try FileManager.default.contentsOfDirectory(atPath: items.queue + "/rejected").isEmpty)
    #expect(try sqlite(items.store, "PRAGMA integrity_check") == "ok")
    count.crashed = Int(try sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB WHERE ZCRASHES > 0")) ?? 0
    let outside = try String(contentsOfFile: trace, encoding: .utf8)
    count.compare(
      inside: numbers(try sqlite(items.store, "SELECT ZVALUE FROM ZITEM")), outside: numbers(outside))
  }

  private func numbers(_ lines: String) -> [Int] { lines.split(separator: "\n").compactMap { Int($0) } }
}
