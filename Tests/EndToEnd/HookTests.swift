import Foundation
import Glibc
import Jobs
import Testing

/// Programs and servers that pools tell of failed, dead and stalled jobs.
@Suite(.serialized) struct HookTests {
  /// Commands of `exec.json` by name: the texts of shell scripts.
  private func pool(
    _ place: TestPlace, _ scripts: [String: String], hooks: String..., options: [String] = []
  ) throws -> RunningPool {
    var commands: [JSONMember] = []
    for (name, text) in scripts.sorted(by: { $0.key < $1.key }) {
      let path = try place.write("#!/bin/sh\n" + text, to: "\(name).sh")
      #expect(chmod(path, 0o755) == 0)
      commands.append(JSONMember(name, ["path": .string(path), "input": "event"]))
    }
    try place.write(JSONValue.object([JSONMember("commands", .object(commands))]).text, to: "queue/exec.json")
    #expect(chmod(place.path("queue/exec.json"), 0o600) == 0)
    let plugins = place.path("plugins")
    return try RunningPool(
      place, store: place.path("items.sqlite"), model: try ISOCodesModel.write(into: place),
      plugins: FileManager.default.fileExists(atPath: plugins) ? plugins : try place.plugins("worker-exec"),
      options: hooks.flatMap { ["--hook", $0] } + options)
  }

  /// A pipe with a name. What is written into it is read by ``read(_:)``.
  private func pipe(_ place: TestPlace, _ name: String) throws -> String {
    let path = place.path(name)
    try #require(mkfifo(path, 0o600) == 0)
    return path
  }

  /// All that is written into a pipe until its writer closes it.
  private func read(_ pipe: String) throws -> String {
    let handle = try #require(FileHandle(forReadingAtPath: pipe))
    return String(decoding: handle.readDataToEndOfFile(), as: UTF8.self)
  }

  @Test(.timeLimit(.minutes(20))) func aProgramIsToldOfEachFailureAndOfTheDeathWithTheError() throws {
    let place = try TestPlace()
    let told = try pipe(place, "told")
    let pool = try pool(
      place, ["tell": "cat >\(told)", "bad": "echo no room >&2; exit 3"], hooks: "failed=exec:tell", "dead=exec:tell")
    try pool.submit("exec", "--set", "command=bad", "--max-attempts", "2", "--backoff", "0.01")
    let failed = try JSONParser.parse(try read(told))
    #expect(failed["event"] == "failed" && failed["name"] == "p1" && failed["kind"] == "exec")
    #expect(failed["error"]?["message"] == "\"bad\" exited with 3: no room", "\(failed.text)")
    #expect(failed["attempts"]?.intValue == 1 && failed["nextAttempt"]?.stringValue != nil)
    let dead = try JSONParser.parse(try read(told))
    #expect(dead["event"] == "dead" && dead["name"] == "p1" && dead["attempts"]?.intValue == 2, "\(dead.text)")
    try pool.wait { $0.jobs?["succeeded"] == 2 && $0.jobs?["dead"] == 1 }
    try pool.stop()
  }

  /// The hook itself dies, and nobody is told of that.
  @Test(.timeLimit(.minutes(20))) func aHookThatDiesHasNoHook() throws {
    let place = try TestPlace()
    let pool = try pool(place, ["bad": "exit 3"], hooks: "failed,dead=exec:missing")
    try pool.submit("exec", "--set", "command=bad", "--max-attempts", "1")
    try pool.wait { $0.jobs?["dead"] == 2 }
    #expect(try sqlite(pool.store, "SELECT COUNT(*) FROM WPPOOLJOB") == "2")
    try pool.stop()
  }

  /// Pool              Worker             Test
  ///                   runs p1
  ///                                      kills the pool
  ///                                      lets the job's program end
  ///                   p1 is dead
  ///                   ends
  /// begins anew
  ///                   runs the hook      is told of p1
  @Test(.timeLimit(.minutes(20))) func aJobThatDiesWithoutAPoolIsToldOfByTheNextPool() throws {
    let place = try TestPlace()
    let (told, begun, goOn) = (try pipe(place, "told"), try pipe(place, "begun"), try pipe(place, "go-on"))
    let scripts = ["tell": "cat >\(told)", "bad": "echo begun >\(begun); read word <\(goOn); exit 3"]
    let first = try pool(place, scripts, hooks: "dead=exec:tell")
    try first.submit("exec", "--set", "command=bad", "--max-attempts", "1")
    #expect(try read(begun) == "begun\n")
    first.signal(SIGKILL)
    #expect(first.waitForExit() == SIGKILL)
    try #require(FileHandle(forWritingAtPath: goOn)).write(Data("go\n".utf8))
    try first.kill9()
    try waitUntil("the worker has written the job's end") {
      try sqlite(first.store, "SELECT COUNT(*) FROM WPPOOLJOB WHERE ZSTATE = 4") == "1"
    }
    #expect(try sqlite(first.store, "SELECT COUNT(*) FROM WPPOOLJOB WHERE ZQUEUE = 'hooks'") == "1")

    let second = try pool(place, scripts, hooks: "dead=exec:tell")
    let event = try JSONParser.parse(try read(told))
    #expect(event["event"] == "dead" && event["name"] == "p1", "\(event.text)")
    try second.wait { $0.jobs?["succeeded"] == 1 }
    #expect(try sqlite(second.store, "SELECT COUNT(*) FROM WPPOOLJOB") == "2", "told of once")
    try second.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aStalledKindIsToldOfAndSoIsItsRecovery() throws {
    let place = try TestPlace()
    let told = try pipe(place, "told")
    let pool = try pool(
      place, ["tell": "cat >\(told)"], hooks: "stalled,recovered=exec:tell", options: ["--stalled-after", "1"])
    try pool.submit("nothing-runs-this", "--even-if-unknown")
    let stalled = try JSONParser.parse(try read(told))
    #expect(stalled["event"] == "stalled" && stalled["kind"] == "nothing-runs-this", "\(stalled.text)")
    #expect(stalled["ready"]?.intValue == 1 && stalled["advice"]?.arrayValue?.isEmpty == false)
    #expect(try pool.command("cancel", "p1").code == 0)
    let recovered = try JSONParser.parse(try read(told))
    #expect(recovered["event"] == "recovered" && recovered["kind"] == "nothing-runs-this", "\(recovered.text)")
    try pool.stop()
  }

  /// The files that the page shows, with the address of a server of the test. The server is away at first.
  @Test(.timeLimit(.minutes(20)), .enabled(if: HookServer.isPossible, "curl and jq are not there"))
  func theScriptsOfThePagePostToAServer() throws {
    let page = try #require(DocumentationPage.all.first { $0.path.hasSuffix("/Hooks.md") })
    let files = Dictionary(
      page.blocks.compactMap { block in block.file.map { ($0, block.text) } }, uniquingKeysWith: { $1 })
    let place = try TestPlace()
    let server = try HookServer()
    let url = "http://127.0.0.1:\(server.port)"
    for name in ["post.conf", "sentry.conf"] {
      let text = try #require(files[name]).replacing(#/https?://[^/"]*/#, with: url)
      try place.write(text, to: name)
    }
    let sentry = try #require(files["tell-sentry"]).replacing("/etc/workerpool/", with: place.url.path + "/")
    let pool = try pool(
      place,
      [
        "post": "exec curl --config \(place.path("post.conf")) --data-binary @-", "sentry": sentry,
        "bad": "echo no room >&2; exit 3",
      ], hooks: "dead=exec:post", options: ["--limit", "queue:hooks=2"])
    try pool.submit("exec", "--set", "command=bad", "--max-attempts", "1")
    let refused = try server.answer(503)
    let taken = try server.answer(200)
    #expect(refused.body == taken.body && refused.head.contains("POST /"), "an answer other than 2xx is tried again")
    #expect(taken.head.lowercased().contains("content-type: application/json"))
    #expect(try JSONParser.parse(taken.body)["error"]?["message"] == "\"bad\" exited with 3: no room")
    try pool.wait { $0.jobs?["succeeded"] == 1 }
    try pool.stop()

    let other = try self.pool(place, ["sentry": sentry, "bad": "exit 3"], hooks: "dead=exec:sentry")
    #expect(try other.command("retry", "p1").code == 0)
    let event = try server.answer(200)
    #expect(event.head.lowercased().contains("x-sentry-auth:"), "\(event.head)")
    let json = try JSONParser.parse(event.body)
    #expect(json["exception"]?["values"]?.arrayValue?.first?["value"]?.stringValue?.contains("exited") == true)
    #expect(json["event_id"]?.stringValue?.count == 32 && json["tags"]?["kind"] == "exec", "\(json.text)")
    try other.wait { $0.jobs?["succeeded"] == 2 }
    try other.stop()
  }
}

/// A server that takes one request after another.
private struct HookServer: ~Copyable {
  static let isPossible = ["curl", "jq"].allSatisfy { (try? run("/usr/bin/env", [$0, "--version"]))?.code == 0 }

  private let listener: Int32
  let port: UInt16

  init() throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, $0, &size) == 0
      }
    }
    try #require(isBound)
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit { close(listener) }

  /// Waits for a request and answers it.
  func answer(_ status: Int) throws -> (head: String, body: String) {
    let client = accept(listener, nil, nil)
    try #require(client >= 0)
    defer { close(client) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let halves = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n\r\n")
      let length = halves[0].lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
        .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }
      if halves.count > 1, let length, halves[1].utf8.count >= length {
        let answer = "HTTP/1.1 \(status) x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        _ = answer.withCString { write(client, $0, strlen($0)) }
        return (halves[0], halves[1])
      }
      let count = read(client, &buffer, buffer.count)
      try #require(count > 0)
      bytes += buffer[..<count]
    }
  }
}
