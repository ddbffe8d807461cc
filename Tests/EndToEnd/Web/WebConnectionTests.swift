import Foundation
import Testing

/// Clients of `workerpool web` that flood it, stay silent, or send requests that can be read in two ways.
@Suite(.serialized) struct WebConnectionTests {
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

  /// Every user of the machine can connect. Connections that send a line now and then are closed, and keep nobody out.
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

  /// Requests that a proxy may read in another way are refused before anything is looked at.
  @Test(.timeLimit(.minutes(20)))
  func requestsWithTwoMeaningsAreRefused() throws {
    let items = try ItemPool()
    let web = try RunningWeb(queue: items.queue)
    let client = try web.client()
    let headers = "Host: 127.0.0.1:\(web.port)\r\nCookie: \(client.cookie ?? "")\r\nConnection: close\r\n"
    func status(_ line: String, _ headers: String, _ body: String = "") throws -> Int {
      try client.send(Array("\(line)\r\n\(headers)\r\n\(body)".utf8)).status
    }
    #expect(try status("GET /jobs HTTP/1.1", headers) == 200)
    let site = "Sec-Fetch-Site: none\r\n"
    for twice in ["Host: evil.example\r\n", "Host: 127.0.0.1:\(web.port)\r\n", "cookie: a=b\r\n", site + site] {
      #expect(try status("GET /jobs HTTP/1.1", headers + twice) == 400, "\(twice)")
    }
    let post = "POST /pause HTTP/1.1"
    #expect(try status(post, headers + "Origin: null\r\nOrigin: http://127.0.0.1:\(web.port)\r\n") == 400)
    #expect(try status(post, headers + "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n") == 400)
    #expect(try status(post, headers + "Content-Length: 1\r\nContent-Length: 2\r\n", "ab") == 400)
    #expect(try status(post, headers + "Content-Length: -1\r\n") == 400)
    #expect(try status("GET http://evil.example/jobs HTTP/1.1", headers) == 404)
    #expect(try status("GET /jobs HTTP/1.1", "Cookie: \(client.cookie ?? "")\r\nConnection: close\r\n") >= 400)
    #expect(web.isRunning)
  }
}
