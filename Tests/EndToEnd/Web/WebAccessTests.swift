import Foundation
import Testing

/// Who may see and change what in `workerpool web`.
@Suite(.serialized) struct WebAccessTests {
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
}
