import Foundation
import PoolClient
import Synchronization
import Testing
import WorkerProtocol

/// `workerpool web` over HTTP, without a browser: its pages and forms.
@Suite(.serialized) struct WebTests {
  @Test(.timeLimit(.minutes(20)))
  func pagesShowThePoolAndFormsChangeIt() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let web = try RunningWeb(queue: items.queue)
    let client = try web.client()
    try items.submit("add")
    try pool.waitForJobs(1)
    try items.submit("fail", items: items.items, ["--max-attempts", "1"])
    try pool.wait { $0.jobs?["dead"] == 1 }

    let list = try client.get("/jobs")
    #expect(list.status == 200)
    #expect(list.body.contains(">p1</a>") && list.body.contains(">p2</a>"))
    #expect(list.header("content-security-policy")?.contains("default-src 'none'") == true)
    #expect(try !client.get("/jobs?state=dead").body.contains(">p1</a>"))
    let job = try client.get("/jobs/p2")
    #expect(job.body.contains("attempt 1:"))
    for path in ["/", "/?period=5min", "/?period=7d", "/queues", "/kinds", "/workers", "/periodic"] {
      let page = try client.get(path)
      #expect(page.status == 200, "\(path)")
      #expect(!page.body.contains("role=\"alert\""), "\(path): \(page.body)")
    }
    #expect(try client.get("/workers/\(try #require(pool.status().workers[0].pid))").status == 200)
    #expect(try client.get("/jobs/p99").status == 404)
    #expect(try client.get("/nothing").status == 404)
    #expect(try client.get("/assets/style.css%00.js").status == 404, "a zero byte does not end the path")
    #expect(try client.get("/assets/style.css").status == 200)
    // What scrolls gets the focus, so that the keyboard scrolls it.
    for path in ["/jobs", "/jobs/p2", "/queues", "/workers"] {
      let body = try client.get(path).body
      #expect(!body.contains("<pre>") && !body.contains("class=\"sheet\">"), "\(path)")
    }
    #expect(job.body.contains("Retry") && !job.body.contains("workerpool retry"), "a button does it")
    let refused = try client.get("/jobs?where=nonsense%20%3D%3D")
    #expect(refused.status == 400 && refused.body.contains("The condition cannot be used"))
    #expect(refused.body.contains("value=\"nonsense ==\""), "the condition can be mended where it stands")
    #expect(try client.get("/jobs?kind=ad").body.contains("No job fits; no job has the kind ad; did you mean add?<"))
    let order = try [#require(job.body.range(of: "attempt 1:")), #require(job.body.range(of: "dead</span></li>"))]
    #expect(order[0].upperBound < order[1].lowerBound, "what led to the end comes before it: \(job.body)")

    let key = try #require(try client.get("/queues").formKey)
    #expect(try client.post("/pause", ["key": key, "queue": "slow"]).status == 303)
    #expect(try pool.status().pausedQueues == ["slow"])
    #expect(try client.post("/resume", ["key": key, "queue": "slow"]).status == 303)
    #expect(try pool.status().pausedQueues == [])
    #expect(try client.post("/scale", ["key": key, "count": "2"]).status == 303)
    #expect(try pool.status().workerCount == 2)
    #expect(try client.post("/scale", ["key": key, "count": "a few"]).status == 400)
    // A dead job fails again when it is retried.
    #expect(try client.post("/change", ["key": key, "do": "retry", "job": "p2"]).status == 303)
    try pool.wait { $0.jobs?["dead"] == 1 && $0.counters.failed == 2 }
    #expect(try client.post("/change", ["key": key, "do": "delete", "job": "p2"]).status == 303)
    try pool.wait { $0.jobs?["dead"] ?? 0 == 0 }
    try pool.stop()
  }

  /// A change of many jobs first shows how many they are, and needs a second step.
  @Test(.timeLimit(.minutes(20)))
  func changesOfManyJobsAreShownBeforeTheyAreMade() throws {
    let items = try ItemPool(items: 3)
    let pool = try items.start()
    let web = try RunningWeb(queue: items.queue)
    let client = try web.client()
    try items.submit("fail", items: items.items, ["--max-attempts", "1"])
    try pool.wait { $0.jobs?["dead"] == 3 }
    let preview = try client.get("/change?do=delete&kind=fail")
    #expect(preview.body.contains("Delete 3 jobs?") && !preview.body.contains("All jobs that fit are meant"))
    // A sorted list shows a part of the jobs that fit: the question says that all are meant, or which.
    let sorted = try client.get("/jobs?kind=fail&sort=attempts")
    #expect(sorted.body.contains("/change?do=delete&amp;kind=fail&amp;sort=attempts"), "\(sorted.body)")
    let whole = try client.get("/change?do=delete&kind=fail&sort=attempts").body
    #expect(whole.contains("Delete 3 jobs?") && whole.contains("All jobs that fit are meant, also those that the list"))
    #expect(whole.contains("/jobs?kind=fail&amp;sort=attempts"), "the way back leads to the same list")
    let key = try #require(preview.formKey)
    #expect(try client.post("/change", ["key": key, "do": "delete", "kind": "fail"]).status == 400)
    #expect(try pool.status().jobs?["dead"] == 3)
    #expect(try client.get("/change?do=delete").body.contains("choose them by a filter first"))
    // Two that are checked.
    let checked = try client.get("/change?do=delete&job=p1&job=p2")
    #expect(checked.body.contains("Delete 2 jobs?") && checked.body.contains("value=\"p2\""), "\(checked.body)")
    #expect(try client.post("/change", ["key": key, "do": "delete", "confirmed": "yes"]).status == 400)
    let answer = try client.post("/change", ["key": key, "do": "delete", "kind": "fail", "confirmed": "yes"])
    #expect(answer.status == 303)
    try pool.wait { $0.jobs?["dead"] ?? 0 == 0 }
    let after = try #require(answer.header("location"))
    try waitUntil("the page tells the result") { try client.get(after).body.contains("3 jobs deleted") }
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func aPoolThatIsDownIsSaidAndComesBack() throws {
    let items = try ItemPool()
    let web = try RunningWeb(queue: items.queue)
    let client = try web.client()
    for path in ["/", "/queues", "/kinds", "/workers", "/jobs"] {
      let page = try client.get(path)
      #expect(page.status == 200 && page.body.contains("workerpool run"), "\(path)")
    }
    var pool = try items.start()
    try waitUntil("the page sees the pool") {
      try client.get("/workers").body.contains("pool \(pool.pid)")
    }
    try items.submit("add")
    try pool.waitForJobs(1)
    try pool.kill9()
    try waitUntil("the page sees that the pool is gone") {
      try client.get("/").body.contains("The pool does not answer")
    }
    #expect(try client.get("/jobs/p1").body.contains("p1"), "the store can be read without a pool")
    let periodic = items.place.path("queue/periodic/nightly.json")
    try #"{"cron": "@daily", "job": {"kind": "add"}}"#.write(toFile: periodic, atomically: true, encoding: .utf8)
    let key = try #require(try client.get("/periodic").formKey)
    #expect(try client.post("/pause", ["key": key]).status == 502, "nobody is there who could pause")
    let run = try client.post("/run", ["key": key, "entry": "nightly"])
    #expect(run.status == 303, "the job waits for the next pool")
    pool = try items.start()
    try waitUntil("the page sees the next pool") { try client.get("/").body.contains("pool \(pool.pid)") }
    #expect(web.isRunning)
    try pool.stop()
  }

  /// A pattern that takes seconds for each text is ended, and no other page waits for it.
  ///
  /// Six requests       | This one
  /// -------------------+---------------------------------------
  /// search without end |
  ///                    | all other pages come, a form is obeyed
  /// are ended          |
  @Test(.timeLimit(.minutes(20)))
  func aSearchWithoutEndHoldsNoOtherPage() throws {
    let items = try ItemPool(items: 60)
    let pool = try items.start()
    let web = try RunningWeb(queue: items.queue)
    let client = try web.client()
    try items.submit("add", items: items.items, ["--batch", String(repeating: "a", count: 60) + "b"])
    try pool.waitForJobs(60)
    let search = "/jobs?where=batch%20MATCHES%20%22(a%2B)%2B%24%22"
    let searches = DispatchQueue(label: "searches", attributes: .concurrent)
    let ended = Mutex<[WebClient.Answer]>([])
    let group = DispatchGroup()
    for _ in 0..<6 {
      searches.async(group: group) {
        guard let answer = try? client.get(search) else { return }
        ended.withLock { $0.append(answer) }
      }
    }
    let key = try #require(try client.get("/queues").formKey)
    for path in ["/", "/jobs", "/jobs?state=succeeded", "/jobs/p1", "/queues", "/kinds", "/workers", "/periodic"] {
      #expect(try client.get(path).status == 200, "\(path)")
    }
    #expect(try client.post("/pause", ["key": key, "queue": "slow"]).status == 303)
    #expect(ended.withLock { $0.count } < 6, "the searches have ended before the other pages came")
    #expect(group.wait(timeout: .now() + 600) == .success)
    let answers = ended.withLock { $0 }
    #expect(answers.count == 6)
    #expect(answers.allSatisfy { $0.status == 503 && $0.body.contains("The search was ended after 10 seconds") })
    #expect(try client.get("/jobs?where=kind%20MATCHES%20%22a.%2B%22").body.contains(">p60</a>"), "searches go on")
    try pool.stop()
  }

  /// Probes of a proxy under another name, and a scrape of Prometheus, while a pool runs, hangs, and is gone.
  @Test(.timeLimit(.minutes(20)))
  func probesTellWhetherAPoolAnswers() throws {
    let items = try ItemPool()
    let web = try RunningWeb(queue: items.queue)
    let stranger = WebClient(port: web.port)
    let other = ["Host": "10.0.0.7", "X-Forwarded-For": "10.0.0.1"]
    let scrape = ["Host": "10.0.0.7", "Authorization": "Bearer \(try #require(web.token))"]
    func expectNoPool(_ when: Comment) throws {
      #expect(try stranger.get("/healthz", headers: other).status == 200, when)
      let ready = try stranger.get("/readyz", headers: other)
      #expect(ready.status == 503 && ready.body == "not ready: no pool answers\n", when)
      let metrics = try stranger.get("/metrics", headers: scrape)
      #expect(metrics.status == 200 && metrics.body.hasSuffix("\nworkerpool_up 0\n"), when)
    }
    try expectNoPool("before there is a pool")
    let pool = try items.start()
    try items.submit("add")
    try pool.waitForJobs(1)
    // What was heard is used for a second.
    try waitUntil("the pool is ready") { try stranger.get("/readyz", headers: other).body == "ready\n" }
    let alive = try stranger.get("/healthz", headers: other)
    #expect(alive.status == 200 && alive.body == "alive\n" && alive.header("content-type")?.contains("plain") == true)
    #expect(try stranger.get("/metrics").status == 401)
    let metrics = try stranger.get("/metrics", headers: scrape)
    #expect(metrics.status == 200 && metrics.header("content-type")?.hasPrefix("text/plain; version=0.0.4") == true)
    let names = { (text: String) in
      Set(text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ")[2] })
    }
    #expect(try names(metrics.body) == names(pool.command("status", "--prometheus").output))
    #expect(metrics.body.contains("workerpool_up 1\n") && metrics.body.contains("outcome=\"done\"} 1\n"))
    #expect(try web.client().get("/metrics").body.contains("workerpool_up 1\n"))
    // It goes on, and answers nobody. Those who want to know that do not wait for the others who ask it.
    pool.signal(SIGSTOP)
    var longest = Duration.zero
    try waitUntil("the pool is silent") {
      Thread { _ = try? stranger.get("/metrics", headers: scrape) }.start()
      let start = ContinuousClock.now
      defer { longest = max(longest, .now - start) }
      return try stranger.get("/readyz", headers: other).status == 503
    }
    #expect(longest < .seconds(5))
    try expectNoPool("while it is stopped")
    pool.signal(SIGCONT)
    try waitUntil("the pool is ready") { try stranger.get("/readyz", headers: other).status == 200 }
    try pool.stop()
    try waitUntil("the pool is gone") { try stranger.get("/readyz", headers: other).status == 503 }
    try expectNoPool("after its end")
  }

  @Test func wrongArgumentsAreExplained() throws {
    #expect(try workerpool("web", "--port", "x").code == 2)
    #expect(try workerpool("web", "--port", "1", "--socket", "s").code == 2)
    #expect(try workerpool("web", "--session-hours", "0").code == 2)
    #expect(try workerpool("web", "--port", "0", "--token-file", "/nowhere/tokens").errors.contains("is not there"))
    #expect(try run(Built.path("workerpool-web"), ["--nonsense"]).code == 2)
    #expect(try run(Built.path("workerpool-web"), ["--help"]).code == 0)
  }
}
