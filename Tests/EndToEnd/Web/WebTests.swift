import Foundation
import PoolClient
import Testing

/// `workerpool web` over HTTP, without a browser.
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
    #expect(try client.get("/workers/\(try pool.status().workers[0].pid)").status == 200)
    #expect(try client.get("/jobs/p99").status == 404)
    #expect(try client.get("/nothing").status == 404)
    #expect(try client.get("/jobs?where=nonsense%20%3D%3D").status == 400)

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
    #expect(preview.body.contains("Delete 3 jobs?"))
    let key = try #require(preview.formKey)
    #expect(try client.post("/change", ["key": key, "do": "delete", "kind": "fail"]).status == 400)
    #expect(try pool.status().jobs?["dead"] == 3)
    #expect(try client.get("/change?do=delete").body.contains("Choose the jobs by a filter first"))
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

  /// Floods, slow readers and large requests cost bounded memory, and the pages still answer.
  @Test(.timeLimit(.minutes(20)))
  func hostileConnectionsCostNothing() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let web = try RunningWeb(queue: items.queue)
    let client = try web.client()
    _ = try client.get("/")
    let before = try web.memory()

    let large = String(repeating: "x", count: 1 << 20)
    #expect(try client.request("GET", "/", headers: ["X-Large": large]).status >= 400)
    let body = try client.post("/pause", ["key": large])
    #expect(body.status == 413 || body.status == 0)
    #expect(try client.send(Array("nonsense\r\n\r\n".utf8)).status != 200)

    // Browsers that never read what they asked for.
    var sockets: [Int32] = []
    for _ in 0..<40 {
      let socket = try client.connected()
      let text = "GET /events?page=/ HTTP/1.1\r\nHost: 127.0.0.1:\(web.port)\r\nCookie: \(client.cookie ?? "")\r\n\r\n"
      _ = text.withCString { send(socket, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
      sockets.append(socket)
    }
    for _ in 0..<200 { #expect(try client.get("/jobs").status == 200) }
    sockets.forEach { close($0) }
    let grown = try web.memory() - before
    #expect(grown < 64 << 10, "\(grown) KiB more")
    #expect(try pool.status().phase == "running")
    try pool.stop()
  }

  /// Anybody on the machine can connect. Connections that send a line now and then are closed, and keep nobody out.
  @Test(.timeLimit(.minutes(20)))
  func slowConnectionsKeepNobodyOut() throws {
    let items = try ItemPool()
    let web = try RunningWeb(queue: items.queue)
    let client = try web.client()
    var sockets: [Int32] = []
    for _ in 0..<100 { sockets.append(try client.connected()) }
    defer { sockets.forEach { close($0) } }
    func sendLine(_ text: String) {
      for socket in sockets { _ = text.withCString { send(socket, $0, strlen($0), Int32(MSG_NOSIGNAL)) } }
    }
    sendLine("GET / HTTP/1.1\r\n")
    #expect(try client.get("/jobs").status == 200)
    // They go on sending, and the server closes each of them.
    let start = ContinuousClock.now
    for socket in sockets {
      var isClosed = false
      while !isClosed, ContinuousClock.now - start < .seconds(120) {
        sendLine("X: y\r\n")
        var ready = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        var byte: UInt8 = 0
        isClosed = poll(&ready, 1, 500) == 1 && recv(socket, &byte, 1, Int32(MSG_DONTWAIT)) <= 0
      }
      #expect(isClosed)
    }
    #expect(try client.get("/jobs").status == 200)
    #expect(web.isRunning)
  }

  @Test(.timeLimit(.minutes(20)))
  func aUnixSocketIsThisUsersOnly() throws {
    let items = try ItemPool()
    let socket = items.place.path("web.sock")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Built.path("workerpool"))
    process.arguments = ["web", "--queue", items.queue, "--socket", socket, "--read-only"]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    try output.fileHandleForWriting.close()
    let line = LineReader(output.fileHandleForReading).next()
    #expect(line?.hasPrefix("listening on \(socket)") == true)
    let attributes = try FileManager.default.attributesOfItem(atPath: socket)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    process.terminate()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(!FileManager.default.fileExists(atPath: socket))
  }

  @Test func wrongArgumentsAreExplained() throws {
    #expect(try workerpool("web", "--port", "x").code == 2)
    #expect(try workerpool("web", "--port", "1", "--socket", "s").code == 2)
    #expect(try run(Built.path("workerpool-web"), ["--nonsense"]).code == 2)
    #expect(try run(Built.path("workerpool-web"), ["--help"]).code == 0)
  }
}
