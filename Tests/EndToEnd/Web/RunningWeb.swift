import Foundation
import Testing
import WorkerProtocol

/// `workerpool web` in a process of its own, on any free port.
final class RunningWeb {
  private let process = Process()
  private let output = Pipe()
  /// The printed URL.
  let url: String
  /// The token in it; nil when the tokens are in a file.
  let token: String?
  /// 0 for a Unix socket.
  let port: UInt16

  /// - Parameters:
  ///   - socket: the path of a Unix socket; nil for a port of its own.
  ///   - passed: a listening descriptor, which the program gets as from a service manager.
  init(queue: String, options: [String] = [], socket: String? = nil, passed: Int32? = nil) throws {
    let place = passed == nil ? socket.map { ["--socket", $0] } ?? ["--port", "0"] : []
    let words = [Built.path("workerpool"), "web", "--queue", queue] + place + options
    process.executableURL = URL(fileURLWithPath: passed == nil ? words[0] : "/bin/sh")
    process.arguments = passed == nil ? Array(words.dropFirst()) : ["-c", Self.passing] + words
    process.standardInput = passed.map { FileHandle(fileDescriptor: $0, closeOnDealloc: false) } ?? .nullDevice
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    try output.fileHandleForWriting.close()
    url = try #require(LineReader(output.fileHandleForReading).next())
    token = url.contains("token=") ? url.components(separatedBy: "token=").last : nil
    let number = url.hasPrefix("http://") ? url.split(separator: "/")[1].split(separator: ":").last : "0"
    port = try #require(number.flatMap { UInt16($0) })
  }

  deinit { stop() }

  /// Runs a program with the standard input as the one socket of a service manager (sd_listen_fds(3)).
  static let passing = "exec 3<&0 </dev/null; exec env LISTEN_PID=$$ LISTEN_FDS=1 \"$0\" \"$@\""

  var pid: Int32 { process.processIdentifier }
  var isRunning: Bool { process.isRunning }
  var exitCode: Int32 { process.terminationStatus }

  func stop() {
    guard process.isRunning else { return }
    process.terminate()
    process.waitUntilExit()
  }

  /// Resident memory in KiB (proc(5)).
  func memory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
    return try #require(Int(line.split(whereSeparator: { $0 == " " || $0 == "\t" })[1]))
  }

  /// A client that has shown a token.
  func client(token: String? = nil) throws -> WebClient {
    var client = WebClient(port: port)
    let answer = try client.get("/?token=\(try #require(token ?? self.token))")
    #expect(answer.status == 303)
    client.cookie = answer.header("set-cookie").map { String($0.prefix { $0 != ";" }) }
    try #require(client.cookie != nil)
    return client
  }
}

/// HTTP as a test wants it, with each header as it likes: a new connection for each request.
struct WebClient {
  let port: UInt16
  /// The path of a Unix socket; nil for the port.
  var socket: String?
  var cookie: String?

  struct Answer {
    let status: Int
    let head: String
    let body: String

    func header(_ name: String) -> String? {
      let line = head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix(name + ":") }
      return line.map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }

    /// Where the page's forms that change something lead.
    var forms: Set<String> {
      Set(
        body.components(separatedBy: "<form ").dropFirst().compactMap { form in
          let tag = form.prefix { $0 != ">" }
          guard tag.contains("method=\"post\"") else { return nil }
          return tag.components(separatedBy: "action=\"").dropFirst().first.map { String($0.prefix { $0 != "\"" }) }
        })
    }

    /// The key in the page's forms.
    var formKey: String? {
      body.components(separatedBy: "name=\"key\" value=\"").dropFirst().first.map { String($0.prefix { $0 != "\"" }) }
    }
  }

  init(port: UInt16) { self.port = port }

  func get(_ path: String, headers: [String: String] = [:]) throws -> Answer {
    try request("GET", path, headers: headers)
  }

  /// Sends a form as a browser does.
  func post(_ path: String, _ fields: [String: String], headers: [String: String] = [:]) throws -> Answer {
    var allowed = CharacterSet.alphanumerics
    allowed.insert(charactersIn: "-._")
    let body = fields.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")" }
    let formHeaders = ["Origin": "http://127.0.0.1:\(port)", "Content-Type": "application/x-www-form-urlencoded"]
    return try request(
      "POST", path, headers: formHeaders.merging(headers) { $1 }, body: body.joined(separator: "&"))
  }

  func request(_ method: String, _ path: String, headers: [String: String], body: String = "") throws -> Answer {
    var sentHeaders = ["Host": "127.0.0.1:\(port)", "Connection": "close"]
    if let cookie { sentHeaders["Cookie"] = cookie }
    if method != "GET" { sentHeaders["Content-Length"] = String(body.utf8.count) }
    sentHeaders.merge(headers) { $1 }
    let text = "\(method) \(path) HTTP/1.1\r\n" + sentHeaders.map { "\($0): \($1)\r\n" }.joined() + "\r\n" + body
    return try send(Array(text.utf8))
  }

  /// Sends bytes and reads the answer to its end.
  func send(_ bytes: [UInt8]) throws -> Answer {
    let socket = try connected()
    defer { close(socket) }
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
      }
      // The server may answer and close before all has been sent.
      guard count > 0 else { break }
      sent += count
    }
    var answer: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(socket, &chunk, chunk.count)
      guard count > 0 else { break }
      answer += chunk[..<count]
    }
    let text = String(decoding: answer, as: UTF8.self)
    let halves = text.components(separatedBy: "\r\n\r\n")
    let status = Int(text.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0
    return Answer(status: status, head: halves[0], body: halves.dropFirst().joined(separator: "\r\n\r\n"))
  }

  /// A connection to the server.
  func connected() throws -> Int32 {
    if let socket { return try UnixSocket.connect(to: socket) }
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    try #require(isConnected)
    return socket
  }
}
