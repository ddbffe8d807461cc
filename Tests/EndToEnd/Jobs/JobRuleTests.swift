import Foundation
import Jobs
import Testing

/// What a pool is told about its jobs, seen in when they start: weights, priorities, rates and limits.
@Suite(.serialized) struct JobRuleTests {
  /// A weight decides between queues, whatever the priorities, and inside a queue priority decides.
  @Test(.timeLimit(.minutes(20))) func weightsShareTheStartsAndPriorityDecidesInside() throws {
    let items = try ItemPool()
    let record = items.place.path("conversation.txt")
    let pool = try items.start(options: ["--weight", "mail=3"], record: record)
    #expect(try pool.command("pause").code == 0)
    let requests = (0..<120).map { number in
      number % 2 == 0 ? (queue: "mail", priority: number / 2 % 3) : (queue: "bulk", priority: number / 2 % 3 + 10)
    }
    let lines = requests.map { #"{"kind": "nothing", "queue": "\#($0.queue)", "priority": \#($0.priority)}"# }
    try items.drop(lines, as: "jobs.json")
    try pool.wait { $0.jobs?["available"] == 120 }
    #expect(try pool.command("resume", "--all").code == 0)
    try pool.waitForJobs(120)
    try pool.stop()
    // Jobs that begin together have one time in their rows; the conversation has their order.
    let begun = try beginnings(record).map { requests[$0 - 1] }
    #expect(begun.count == 120)
    let mail = begun.prefix(60).count { $0.queue == "mail" }
    #expect((42...48).contains(mail), "\(mail) of the first 60 are of the queue that should have 45")
    for queue in ["mail", "bulk"] {
      let priorities = begun.filter { $0.queue == queue }.map(\.priority)
      #expect(priorities == priorities.sorted(by: >), "\(queue): \(priorities)")
    }
  }

  /// The keys of the jobs in the order in which a worker has begun them. On a slow machine a worker gives back jobs of
  /// a group that it has begun together and not run; they count where they are begun again.
  private func beginnings(_ record: String) throws -> [Int] {
    let begun = try String(contentsOfFile: record, encoding: .utf8).split(separator: "\n").flatMap { line in
      line.hasPrefix("< BEGIN ")
        ? line.split(separator: " ").dropFirst(2).compactMap { Int($0.split(separator: "/p").last ?? "") } : []
    }
    let last = Dictionary(zip(begun, begun.indices)) { $1 }
    return begun.indices.filter { last[begun[$0]] == $0 }.map { begun[$0] }
  }

  @Test(.timeLimit(.minutes(20))) func aRateSpreadsTheStarts() throws {
    let items = try ItemPool()
    let pool = try items.start(workers: 2, options: ["--rate", "nothing=4/1"])
    #expect(try pool.command("pause").code == 0)
    try items.drop(Array(repeating: #"{"kind": "nothing"}"#, count: 12), as: "jobs.json")
    try pool.wait { $0.jobs?["available"] == 12 }
    let resumed = Date()
    #expect(try pool.command("resume", "--all").code == 0)
    try pool.waitForJobs(12)
    let starts = try items.jobs(pool).map { $0.started.timeIntervalSince(resumed) }.sorted()
    // Four at once, and four in each further second.
    for (number, start) in starts.enumerated() where number >= 4 {
      #expect(start >= Double(number / 4), "job \(number) started after \(start) s")
    }
    try pool.stop()
  }

  /// What began before a pool was killed counts in the next one.
  @Test(.timeLimit(.minutes(20))) func aRateHoldsOverARestart() throws {
    let items = try ItemPool()
    let options = ["--rate", "nothing=2/3600"]
    var pool = try items.start(options: options)
    try items.drop(Array(repeating: #"{"kind": "nothing"}"#, count: 4), as: "jobs.json")
    try pool.waitForJobs(2)
    pool.signal(SIGKILL)
    _ = pool.waitForExit()
    pool = try items.start(options: options)
    // A job of another kind, which comes later, runs; those two do not.
    try items.submit("add")
    try pool.waitForJobs(3)
    #expect(try pool.status().jobs?["available"] == 2)
    let waiting = try pool.command("jobs", "--state", "available", "--json")
    let name = try #require(waiting.output.firstMatch(of: /p[0-9]+/)?.output)
    let shown = try pool.command("jobs", "show", String(name))
    #expect(shown.output.contains("because the rate of the kind nothing is"), "\(shown.output)")
    try pool.stop()
    #expect(try items.rows() == "0|0|0\n3|1|0")
  }

  /// Of three workers one stays idle though a job waits; a job that nothing keeps back goes past it.
  @Test(
    .timeLimit(.minutes(20)),
    arguments: [#", "limitKey": "disk", "limit": 2"#, "misbehave=2", "queue:mail=2", "queue:*ai*=2"])
  func limitsPerKeyAndPerKindAndPerQueueKeepJobsBack(rule: String) throws {
    let items = try ItemPool(items: 4)
    let stop = try StopPoint(items.place)
    let isByKey = rule.hasPrefix(",")
    let pool = try items.start(workers: 3, options: isByKey ? [] : ["--limit", rule])
    let key = (isByKey ? rule : "") + #", "queue": "mail""#
    let parameters = #""parameters": {"how": "wait", "stop": "\#(stop.path)"}"#
    let lines = items.items[..<3].map { #"{"kind": "misbehave", "objects": ["\#($0)"], \#(parameters)\#(key)}"# }
    try items.drop(lines, as: "jobs.json")
    let first = try stop.waitForArrival()
    let second = try stop.waitForArrival()
    #expect(first.pid != second.pid)
    // What comes later and is not limited is done by the third worker, while the third job waits.
    try items.submit("add", items: [items.items[3]])
    try pool.waitForJobs(1)
    let status = try pool.status()
    #expect(status.workers.reduce(0) { $0 + $1.running.count } == 2)
    #expect(status.jobs?["running"] == 2 && status.jobs?["available"] == 1 && status.jobs?["succeeded"] == 1)
    stop.release()
    // The third begins when one of the two has ended.
    let third = try stop.waitForArrival()
    #expect(try pool.status().workers.contains { $0.pid == third.pid })
    stop.release()
    stop.release()
    try pool.waitForJobs(4)
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }

  /// Jobs that were short so far turn out long, and a worker holds many of them. A better job is the next to begin all
  /// the same.
  @Test(.timeLimit(.minutes(20))) func aBetterJobBeginsBeforeWhatWorkersHoldAndHaveNotBegun() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    let pool = try items.start(workers: 1)
    try items.drop(Array(repeating: #"{"kind": "nothing"}"#, count: 500), as: "short.json")
    try pool.waitForJobs(500)
    let parameters = #""parameters": {"how": "wait", "stop": "\#(stop.path)"}"#
    try items.drop(Array(repeating: #"{"kind": "misbehave", \#(parameters)}"#, count: 20), as: "long.json")
    _ = try stop.waitForArrival()
    try items.drop([#"{"kind": "misbehave", "priority": 100, \#(parameters)}"#], as: "better.json")
    // The worker has begun all of the long jobs together, or has given back those that it has not begun.
    try pool.wait { status in
      (status.jobs?["available"] ?? 0) + (status.jobs?["running"] ?? 0) == 21
        && status.workers.allSatisfy { $0.running.count == 20 || $0.holding == $0.running.count }
    }
    stop.release()
    _ = try stop.waitForArrival()
    let running = try pool.status().workers.flatMap(\.running)
    #expect(running.count == 1 && running.first?.hasSuffix("/p521") == true, "\(running)")
    for _ in 0..<20 { stop.release() }
    try pool.waitForJobs(521)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aPausedKindWaitsAndGoesOn() throws {
    let items = try ItemPool()
    let pool = try items.start()
    #expect(try pool.command("pause", "--kind", "add").code == 0)
    try items.submit("add")
    try items.drop([#"{"kind": "nothing"}"#], as: "other.json")
    try pool.waitForJobs(1)
    #expect(try pool.status().jobs?["available"] == 1)
    #expect(try pool.command("resume", "--kind", "add").code == 0)
    try pool.waitForJobs(2)
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }
}

extension ItemPool {
  /// Renames a file with these lines into the pool's directory.
  func drop(_ lines: [String], as name: String) throws {
    let temporary = queue + "/incoming/.\(name)"
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: temporary))
    try #require(rename(temporary, queue + "/incoming/" + name) == 0)
  }

  /// All jobs as `workerpool jobs --json` shows them, the oldest first.
  func jobs(_ pool: RunningPool) throws -> [JSONValue] {
    try pool.command("jobs", "--json", "--limit", "0").lines.map { try JSONParser.parse($0) }.reversed()
  }
}

extension JSONValue {
  /// When the job's last attempt began.
  fileprivate var started: Date { self["startedAt"]?.stringValue.flatMap(Timestamp.date) ?? .distantPast }
}
