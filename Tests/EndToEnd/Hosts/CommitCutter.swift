import Foundation
import Glibc
import Synchronization
import TestFiles

/// A Unix socket before a server's that cuts connections at their COMMIT: before the server gets it, or when it has
/// carried it out and before the client gets the answer. It does that for every n-th COMMIT, the two in turn.
///
/// `@unchecked Sendable`: everything but the counts is set in `init`.
final class CommitCutter: @unchecked Sendable {
  private let directory: URL
  private let server: String
  private let listener: Int32
  private let every: Int
  private let counts = Mutex((commits: 0, before: 0, after: 0))

  init(before server: PostgreSQLServer, every: Int) throws {
    directory = temporaryURL("cut")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    self.server = server.directory + "/.s.PGSQL.5432"
    self.every = every
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let path = directory.appendingPathComponent(".s.PGSQL.5432").path
    guard Self.with(path, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
      throw CocoaError(.fileWriteUnknown)
    }
    Thread { [self] in accept() }.start()
  }

  /// The URL of the database through this socket.
  var address: String {
    "postgresql://tests@/postgres?host=\(directory.path.replacingOccurrences(of: "/", with: "%2F"))"
  }

  /// How many connections were cut before and after the server's COMMIT.
  var cuts: (before: Int, after: Int) { counts.withLock { ($0.before, $0.after) } }

  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    try? FileManager.default.removeItem(at: directory)
  }

  private func accept() {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      if client < 0 { break }
      let upstream = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      guard Self.with(server, { connect(upstream, $0, $1) }) == 0 else {
        close(client)
        close(upstream)
        continue
      }
      let line = Line(client: client, server: upstream)
      Thread { [self] in forward(line) }.start()
      Thread { line.answer() }.start()
    }
    close(listener)
  }

  private static func with(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }

  /// What the client sends: first a message without a type, then messages of a type, a length and a body.
  ///
  /// Source: https://www.postgresql.org/docs/15/protocol-message-formats.html
  private func forward(_ line: Line) {
    defer { line.end() }
    guard var start = line.read(4, from: line.client) else { return }
    guard let parameters = line.read(Self.length(start) - 4, from: line.client) else { return }
    start += parameters
    guard line.write(start, to: line.server) else { return }
    while let head = line.read(5, from: line.client) {
      guard let body = line.read(Self.length(Array(head[1...])) - 4, from: line.client) else { return }
      if head[0] == UInt8(ascii: "Q"), body == Array("COMMIT\0".utf8), let cutsBefore = nextCut() {
        if cutsBefore { return }
        line.cutsAtAnswer.withLock { $0 = true }
      }
      guard line.write(head + body, to: line.server) else { return }
    }
  }

  private static func length(_ bytes: [UInt8]) -> Int { bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) } }

  /// Whether to cut before this COMMIT; nil if it passes.
  private func nextCut() -> Bool? {
    counts.withLock { counts in
      counts.commits += 1
      guard counts.commits % every == 0 else { return nil }
      let isBefore = counts.commits / every % 2 == 0
      if isBefore { counts.before += 1 } else { counts.after += 1 }
      return isBefore
    }
  }

  /// A client's connection and the one to the server for it.
  private final class Line: Sendable {
    let client: Int32
    let server: Int32
    let cutsAtAnswer = Mutex(false)
    /// Each of the two threads ends once; the second one closes the descriptors.
    private let ended = Mutex(0)

    init(client: Int32, server: Int32) {
      self.client = client
      self.server = server
    }

    func read(_ count: Int, from descriptor: Int32) -> [UInt8]? {
      var bytes: [UInt8] = []
      while bytes.count < count {
        var buffer = [UInt8](repeating: 0, count: count - bytes.count)
        let length = Glibc.read(descriptor, &buffer, buffer.count)
        if length <= 0 { return nil }
        bytes += buffer.prefix(length)
      }
      return bytes
    }

    func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
      var sent = 0
      while sent < bytes.count {
        let written = bytes.withUnsafeBytes {
          send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
        }
        if written <= 0 { return false }
        sent += written
      }
      return true
    }

    /// What the server sends.
    func answer() {
      defer { end() }
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = Glibc.read(server, &buffer, buffer.count)
        if count <= 0 || cutsAtAnswer.withLock({ $0 }) { return }
        if !write(Array(buffer.prefix(count)), to: client) { return }
      }
    }

    func end() {
      shutdown(client, Int32(SHUT_RDWR))
      shutdown(server, Int32(SHUT_RDWR))
      let isLast = ended.withLock {
        $0 += 1
        return $0 == 2
      }
      guard isLast else { return }
      close(client)
      close(server)
    }
  }
}
