import Foundation
import PoolClient
import Synchronization
import Testing
import WorkerProtocol

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
    let web = try RunningWeb(queue: items.queue, socket: socket)
    #expect(web.url.hasPrefix("listening on \(socket)"))
    let attributes = try FileManager.default.attributesOfItem(atPath: socket)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    let second = try workerpool("web", "--queue", items.queue, "--socket", socket)
    #expect(second.code == 1 && second.errors.contains("in use by another program"))
    web.stop()
    #expect(web.exitCode == 0)
    #expect(!FileManager.default.fileExists(atPath: socket))
  }

  /// What stands at the path of the socket: a socket without a program is replaced, and nothing else.
  @Test(.timeLimit(.minutes(20)))
  func aUnixSocketReplacesOnlyDeadSockets() throws {
    let items = try ItemPool()
    let socket = items.place.path("web.sock")
    let killed = try RunningWeb(queue: items.queue, socket: socket)
    kill(killed.pid, SIGKILL)
    killed.stop()
    #expect(FileManager.default.fileExists(atPath: socket))
    let first = try RunningWeb(queue: items.queue, socket: socket)

    // The file is removed, and the next program makes its own: the first one leaves that alone.
    try FileManager.default.removeItem(atPath: socket)
    let second = try RunningWeb(queue: items.queue, socket: socket)
    first.stop()
    #expect(FileManager.default.fileExists(atPath: socket))
    second.stop()
    #expect(!FileManager.default.fileExists(atPath: socket))

    let file = try items.place.write("a text", to: "file")
    let refused = try workerpool("web", "--queue", items.queue, "--socket", file)
    #expect(refused.code == 1 && refused.errors.contains("\(file) is there already and is no socket"))
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "a text")
    let long = try workerpool("web", "--queue", items.queue, "--socket", String(repeating: "x", count: 108))
    #expect(long.code == 1 && long.errors.contains("may have 107 bytes, this one has 108"))
  }

  /// A listening socket of any address of this machine; it takes connections to 127.0.0.1, too.
  private func listeningSocket() throws -> Int32 {
    let socket = Glibc.socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
    try #require(socket >= 0)
    var (off, address) = (Int32(0), sockaddr_in6())
    setsockopt(socket, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &off, socklen_t(MemoryLayout<Int32>.size))
    address.sin6_family = sa_family_t(AF_INET6)
    let isBound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
      }
    }
    try #require(isBound && listen(socket, 8) == 0)
    return socket
  }

  /// The service manager has opened the socket before, so that no connection is refused while the program starts.
  @Test(.timeLimit(.minutes(20)))
  func aSocketOfTheServiceManagerIsServed() throws {
    let items = try ItemPool()
    let port = try listeningSocket()
    defer { close(port) }
    let web = try RunningWeb(queue: items.queue, passed: port)
    #expect(web.url.hasPrefix("http://[::1]:\(web.port)/?token="), "\(web.url)")
    let client = try web.client()
    #expect(try client.get("/jobs").status == 200)
    #expect(try client.get("/jobs", headers: ["Host": "[::1]:\(web.port)"]).status == 200)
    #expect(try client.get("/jobs", headers: ["Host": "evil.example:\(web.port)"]).status == 403)
    web.stop()
    // The manager still has the socket: who connects now waits for the next program.
    let waiting = try client.connected()
    defer { close(waiting) }
    let next = try RunningWeb(queue: items.queue, passed: port)
    let request = "GET /healthz HTTP/1.0\r\n\r\n"
    #expect(request.withCString { send(waiting, $0, strlen($0), Int32(MSG_NOSIGNAL)) } == request.utf8.count)
    var answer = [UInt8](repeating: 0, count: 12)
    #expect(recv(waiting, &answer, answer.count, Int32(MSG_WAITALL)) == answer.count)
    #expect(String(decoding: answer, as: UTF8.self).hasSuffix(" 200"))
    #expect(next.isRunning)
  }

  @Test(.timeLimit(.minutes(20)))
  func aUnixSocketOfTheServiceManagerIsServedAndLeft() throws {
    let items = try ItemPool()
    let path = items.place.path("passed.sock")
    let listener = try UnixSocket.listen(at: path)
    defer { close(listener) }
    let web = try RunningWeb(queue: items.queue, passed: listener)
    #expect(web.url.hasPrefix("listening on \(path)"), "\(web.url)")
    var client = WebClient(port: 0)
    client.socket = path
    #expect(try client.get("/healthz").body == "alive\n")
    web.stop()
    #expect(FileManager.default.fileExists(atPath: path), "it is the manager's")
  }

  @Test func socketsThatCannotBeServedAreRefused() throws {
    let items = try ItemPool()
    let port = try listeningSocket()
    defer { close(port) }
    func web(_ script: String, _ options: String...) throws -> Finished {
      try run(
        "/bin/sh", ["-c", script, Built.path("workerpool"), "web", "--queue", items.queue] + options,
        input: FileHandle(fileDescriptor: port, closeOnDealloc: false))
    }
    for option in ["--port", "--socket"] {
      let refused = try web(RunningWeb.passing, option, "0")
      #expect(refused.code == 2 && refused.errors.contains("\(option) cannot be given when"), "\(refused)")
    }
    let two = try web(RunningWeb.passing.replacingOccurrences(of: "FDS=1", with: "FDS=2"))
    #expect(two.code == 1 && two.errors.contains("the service manager passes 2 sockets"), "\(two)")
    let file = try web(RunningWeb.passing.replacingOccurrences(of: "3<&0", with: "3</dev/null"))
    #expect(file.code == 1 && file.errors.contains("descriptor 3 of the service manager does not listen"), "\(file)")
    // Sockets for another process are none for this one.
    let other = RunningWeb.passing.replacingOccurrences(of: "LISTEN_PID=$$", with: "LISTEN_PID=1")
    let own = try web(other, "--socket", String(repeating: "x", count: 108))
    #expect(own.code == 1 && own.errors.contains("may have 107 bytes"), "\(own)")
  }

  /// `--config`: the options of a file, as the unit of the package has them.
  @Test(.timeLimit(.minutes(20)))
  func optionsComeFromAFile() throws {
    let items = try ItemPool()
    let tokens = try items.place.write(String(repeating: "t", count: 32), to: "tokens")
    #expect(chmod(tokens, 0o600) == 0)
    let file = try items.place.write("# of the pages\nread-only\ntoken-file \(tokens)\n", to: "web.conf")
    let web = try RunningWeb(queue: items.queue, options: ["--config", file])
    let client = try web.client(token: String(repeating: "t", count: 32))
    #expect(try client.get("/queues").body.contains("read-only"))
    let bad = try items.place.write("session-hours\nport 0\n", to: "bad.conf")
    let refused = try workerpool("web", "--config", bad)
    #expect(refused.code == 2 && refused.errors.contains("\(bad), line 1: --session-hours needs a value"), "\(refused)")
  }

  /// `--read-only`: no form is on any page, and none is obeyed, however it comes.
  @Test(.timeLimit(.minutes(20)))
  func readOnlyPagesHaveNoFormsAndObeyNone() throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("fail", items: items.items, ["--max-attempts", "1"])
    try pool.wait { $0.jobs?["dead"] == 1 }
    let web = try RunningWeb(queue: items.queue, options: ["--read-only"])
    let client = try web.client()
    let other = try RunningWeb(queue: items.queue)
    let keys = [
      try #require(try client.get("/queues").formKey), try #require(try other.client().get("/queues").formKey),
    ]
    for path in ["/", "/jobs?state=dead", "/jobs/p1", "/queues", "/kinds", "/workers", "/periodic"] {
      let page = try client.get(path)
      #expect(page.status == 200 && page.forms == ["/logout"], "\(path): \(page.forms)")
      #expect(!page.body.contains("href=\"/change"), "\(path)")
    }
    let preview = try client.get("/change?do=delete&state=dead")
    #expect(
      preview.status == 403 && preview.body.contains("These pages are read-only")
        && !preview.body.contains("Delete 1 job?"))
    let changes: [(path: String, fields: [String: String])] = [
      ("/pause", [:]), ("/resume", [:]), ("/scale", ["count": "5"]), ("/run", ["entry": "nightly"]),
      ("/change", ["do": "delete", "job": "p1"]),
      ("/change", ["do": "delete", "state": "dead", "confirmed": "yes"]),
    ]
    for (path, fields) in changes {
      for key in keys {
        #expect(try client.post(path, fields.merging(["key": key]) { $1 }).status == 403, "\(path)")
      }
      for method in ["GET", "HEAD", "PUT", "DELETE", "PATCH"] {
        let query = fields.merging(["key": keys[0]]) { $1 }.map { "\($0)=\($1)" }.joined(separator: "&")
        let answer = try client.request(method, "\(path)?\(query)", headers: [:])
        #expect(answer.status != 303, "\(method) \(path)")
      }
    }
    let status = try pool.status()
    #expect(!status.isPaused && status.workerCount == 1 && status.jobs?["dead"] == 1)
    try pool.stop()
  }

  /// `--token-file`: two people with different rights at one program, until one logs out and the program ends.
  @Test(.timeLimit(.minutes(20)))
  func tokensOfAFileHaveTheirRoles() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let (anna, wall) = (String(repeating: "a", count: 32), String(repeating: "w", count: 32))
    let file = try items.place.write("\(anna) operate Anna\n\(wall) look wall display\n", to: "tokens")
    let open = try workerpool("web", "--queue", items.queue, "--port", "0", "--token-file", file)
    #expect(open.code == 1 && open.errors.contains("\(file) may be read or written by other users"), "\(open)")
    #expect(chmod(file, 0o600) == 0)
    var web = try RunningWeb(queue: items.queue, options: ["--token-file", file])
    #expect(web.url == "http://127.0.0.1:\(web.port)/" && web.token == nil, "it prints no token")

    var client = WebClient(port: web.port)
    let asked = try client.get("/jobs?state=dead")
    #expect(asked.status == 401 && asked.forms == ["/login"])
    #expect(asked.body.contains("name=\"page\" value=\"/jobs?state=dead\""))
    #expect(try client.post("/login", ["token": String(repeating: "b", count: 32)]).status == 401)
    let answer = try client.post("/login", ["token": wall, "page": "/jobs?state=dead"])
    #expect(answer.status == 303 && answer.header("location") == "/jobs?state=dead")
    client.cookie = answer.header("set-cookie").map { String($0.prefix { $0 != ";" }) }
    let page = try client.get("/queues")
    #expect(page.forms == ["/logout"] && page.body.contains("wall display") && page.body.contains("read-only"))
    let key = try #require(page.formKey)
    let refused = try client.post("/pause", ["key": key, "queue": "slow"])
    #expect(refused.status == 403 && refused.body.contains("your token has the role look"))
    #expect(try WebClient(port: web.port).get("/metrics", headers: ["Authorization": "Bearer \(wall)"]).status == 200)

    let operate = try web.client(token: anna)
    let annasKey = try #require(try operate.get("/queues").formKey)
    #expect(annasKey != key)
    #expect(try operate.post("/pause", ["key": annasKey, "queue": "slow"]).status == 303)
    #expect(try pool.status().pausedQueues == ["slow"])

    let out = try client.post("/logout", ["key": key])
    #expect(out.status == 303 && out.header("location") == "/login")
    #expect(try client.get("/queues").status == 401)
    #expect(try operate.get("/queues").status == 200)
    // The cookie of an earlier program leads to the page that says what to do.
    web.stop()
    web = try RunningWeb(queue: items.queue, options: ["--token-file", file])
    let late = try WebClient(port: web.port).get(
      "/queues",
      headers: [
        "Cookie": (operate.cookie ?? "").replacingOccurrences(of: "\(operate.port)=", with: "\(web.port)=")
      ])
    #expect(late.status == 401 && late.body.contains("You are logged out") && late.forms == ["/login"])
    try pool.stop()
  }

  /// A page that is being shown is no more once its reader has logged out, in another window for example.
  @Test(.timeLimit(.minutes(20)))
  func loggingOutEndsThePagesThatAreOpen() throws {
    let items = try ItemPool()
    let web = try RunningWeb(queue: items.queue)
    let client = try web.client()
    let key = try #require(try client.get("/queues").formKey)
    let stream = try client.connected()
    defer { close(stream) }
    let text = "GET /events?page=/ HTTP/1.1\r\nHost: 127.0.0.1:\(web.port)\r\nCookie: \(client.cookie ?? "")\r\n\r\n"
    #expect(text.withCString { send(stream, $0, strlen($0), Int32(MSG_NOSIGNAL)) } == text.utf8.count)
    var received = ""
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while !received.contains("event: page") {
      let count = read(stream, &chunk, chunk.count)
      try #require(count > 0, "the stream ends before a page came: \(received)")
      received += String(decoding: chunk[..<count], as: UTF8.self)
    }
    #expect(try client.post("/logout", ["key": key]).status == 303)
    // The last chunk of a body is an empty one.
    while !received.hasSuffix("\r\n0\r\n\r\n") {
      let count = read(stream, &chunk, chunk.count)
      guard count > 0 else { break }
      received = String((received + String(decoding: chunk[..<count], as: UTF8.self)).suffix(100))
    }
    #expect(received.hasSuffix("0\r\n\r\n"), "\(received)")
    #expect(try client.get("/events?page=/").status == 401)
  }

  /// Requests that a proxy may read in another way are refused before anything is looked at.
  @Test(.timeLimit(.minutes(20)))
  func requestsWithTwoMeaningsAreRefused() throws {
    let items = try ItemPool()
    let web = try RunningWeb(queue: items.queue)
    let client = try web.client()
    let own = "Host: 127.0.0.1:\(web.port)\r\nCookie: \(client.cookie ?? "")\r\nConnection: close\r\n"
    func status(_ line: String, _ headers: String, _ body: String = "") throws -> Int {
      try client.send(Array("\(line)\r\n\(headers)\r\n\(body)".utf8)).status
    }
    #expect(try status("GET /jobs HTTP/1.1", own) == 200)
    let site = "Sec-Fetch-Site: none\r\n"
    for twice in ["Host: evil.example\r\n", "Host: 127.0.0.1:\(web.port)\r\n", "cookie: a=b\r\n", site + site] {
      #expect(try status("GET /jobs HTTP/1.1", own + twice) == 400, "\(twice)")
    }
    let post = "POST /pause HTTP/1.1"
    #expect(try status(post, own + "Origin: null\r\nOrigin: http://127.0.0.1:\(web.port)\r\n") == 400)
    #expect(try status(post, own + "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n") == 400)
    #expect(try status(post, own + "Content-Length: 1\r\nContent-Length: 2\r\n", "ab") == 400)
    #expect(try status(post, own + "Content-Length: -1\r\n") == 400)
    #expect(try status("GET http://evil.example/jobs HTTP/1.1", own) == 404)
    #expect(try status("GET /jobs HTTP/1.1", "Cookie: \(client.cookie ?? "")\r\nConnection: close\r\n") >= 400)
    #expect(web.isRunning)
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
    // It goes on, and answers nobody.
    pool.signal(SIGSTOP)
    try waitUntil("the pool is silent") { try stranger.get("/readyz", headers: other).status == 503 }
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
