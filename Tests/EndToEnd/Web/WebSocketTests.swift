import Foundation
import Testing
import WorkerProtocol

/// The sockets that `workerpool web` opens, and those that a service manager passes to it.
@Suite(.serialized) struct WebSocketTests {
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
    let longPath = try web(other, "--socket", String(repeating: "x", count: 108))
    #expect(longPath.code == 1 && longPath.errors.contains("may have 107 bytes"), "\(longPath)")
  }
}
