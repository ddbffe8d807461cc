import Foundation
import PoolClient
import Testing

/// Why jobs wait: in the list, as a filter, and on the web.
@Suite(.serialized) struct JobWaitTests {
  /// The reason that the list gives for each job, by its name, and the reasons by which a filter finds it.
  private func waits(_ items: ItemPool, store: String? = nil) throws -> (
    listed: [String: String], found: [String: [String]]
  ) {
    func list(_ more: [String]) throws -> [JSONValue] {
      let store = store.map { ["--store", $0] } ?? []
      let output = try run(Built.path("workerpool"), ["jobs", "--queue", items.queue, "--json"] + store + more)
      #expect(output.code == 0, "\(output)")
      return try output.lines.map { try JSONParser.parse($0) }
    }
    func name(_ job: JSONValue) -> String { ObjectURI(job["job"]?.stringValue ?? "")?.name ?? "" }
    var listed: [String: String] = [:]
    for job in try list([]) { listed[name(job)] = job["waitsFor"]?.stringValue }
    var found: [String: [String]] = [:]
    for wait in JobWait.allCases {
      for job in try list(["--waits-for", wait.rawValue]) { found[name(job), default: []].append(wait.rawValue) }
    }
    return (listed, found)
  }

  @Test(.timeLimit(.minutes(20)))
  func eachJobThatWaitsSaysWhyAndIsFoundByIt() throws {
    // Given a job that is done, and others that wait.
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("add")
    try pool.waitForJobs(1)
    #expect(try pool.command("pause", "closed").code == 0)
    try items.submit("add", "--run-at", "2099-01-01T00:00:00Z")
    try pool.wait { $0.jobs?["scheduled"] == 1 }
    let first = try #require(pool.command("jobs", "--state", "scheduled", "--json").lines.first)
    let uri = try #require(JSONParser.parse(first)["job"]?.stringValue)
    try items.submit("add", "--after", uri)
    try pool.wait { $0.jobs?["blocked"] == 1 }
    try items.submit("add", "--job-queue", "closed")
    try pool.wait { $0.jobs?["available"] == 1 }
    try items.submit("unheard-of", "--even-if-unknown")
    try pool.wait { status in
      let jobs = status.jobs ?? [:]
      return jobs["available"] == 2 && jobs["scheduled"] == 1 && jobs["blocked"] == 1
    }
    // Then each says why it waits, and no other filter finds it.
    var (listed, found) = try waits(items)
    #expect(listed == ["p2": "time", "p3": "jobs", "p4": "paused", "p5": "worker"])
    #expect(found == listed.mapValues { [$0] })
    let table = try pool.command("jobs").output
    for text in ["until 2099-01-01 00:00:00 UTC", "for other jobs", "the queue closed is paused"] {
      #expect(table.contains(text), "\(text): \(table)")
    }
    let web = try RunningWeb(queue: items.queue)
    let client = try web.client()
    try waitUntil("the pool has answered") { try client.get("/jobs").body.contains("the queue closed is paused") }
    let page = try client.get("/jobs?waits-for=worker")
    #expect(page.body.contains(">p5</a>") && !page.body.contains(">p4</a>"), "\(page.body)")
    #expect(page.body.contains("no plugin runs the kind unheard-of"))

    // When the pool is paused, what is ready waits for that; without one, for a pool.
    #expect(try pool.command("pause").code == 0)
    (listed, found) = try waits(items)
    #expect(listed == ["p2": "time", "p3": "jobs", "p4": "paused", "p5": "paused"])
    #expect(found == listed.mapValues { [$0] })
    try pool.stop()
    (listed, found) = try waits(items, store: items.store)
    #expect(listed == ["p2": "time", "p3": "jobs", "p4": "pool", "p5": "pool"])
    #expect(found == listed.mapValues { [$0] })
  }

  @Test(.timeLimit(.minutes(20)))
  func aFullLimitKeyIsNamed() throws {
    let items = try ItemPool()
    let pool = try items.start()
    // Given a job that runs until it is told to end, and has its limit key for itself.
    try items.submit("wait", "--limit-key", "tenant", "--set", "until=\(items.place.path("end"))")
    try pool.wait { $0.jobs?["running"] == 1 }
    try items.submit("wait", "--limit-key", "tenant", "--set", "until=\(items.place.path("end"))")
    try pool.wait { $0.jobs?["available"] == 1 }
    let (listed, found) = try waits(items)
    #expect(listed == ["p2": "limit"])
    #expect(found == listed.mapValues { [$0] })
    #expect(try pool.command("cancel", "p1", "p2").code == 0)
    try pool.wait { $0.jobs?["cancelled"] == 2 }
    try pool.stop()
  }
}
