import CSystem
import Foundation
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

/// Asks a running pool through its status socket. Calls block until the reply is there. Use it from one thread.
///
/// ```swift
/// import PoolClient
///
/// let client = try StatusClient(queue: "queue/")
/// let reply = try client.request(StatusRequest(.status))
/// print(reply.status?.jobs?["available"] ?? 0, "jobs wait")
/// _ = try client.request(StatusRequest(.pause, kind: "export"))
/// ```
///
/// It works on the pool's machine, for users that may reach the socket: the pool's own, and root. A pool that has as
/// many clients as it can have is asked again after a pause. The form of requests and replies is described in
/// PROTOCOL.md, for clients in other languages.
public final class StatusClient {
  /// Why there is no answer.
  public enum Failure: Error, Sendable, CustomStringConvertible {
    /// No pool runs on this queue directory.
    case notRunning(queue: String)
    /// A pool may run there, but this user may not ask it.
    case notAllowed(path: String)
    /// The pool went away, or what it sent cannot be read.
    case noReply(String)

    /// What is wrong and what to do, in one sentence.
    public var description: String {
      switch self {
      case .notRunning(let queue):
        "no pool is running on \(queue)"
          + (access(queue, F_OK) == 0
            ? "; start one (workerpool run), or name the queue directory of another with --queue"
            : ", and there is no such directory: name the queue directory of a pool with --queue")
      case .notAllowed(let path):
        "\(path) is closed to user \(geteuid()): ask as the user that the pool runs as, or as root"
      case .noReply(let reason): "the pool did not answer: \(reason)"
      }
    }
  }

  private let queue: String
  private let webUser: String?
  private var socket: Descriptor
  private var decoder = newDecoder
  /// Whether the pool sends events to this connection. A new connection would get none until it asks for them.
  private var isObserving = false

  private static var newDecoder: LineDecoder { LineDecoder(limit: 1 << 26) }

  /// Connects to the pool that runs on a queue directory.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// do throws(StatusClient.Failure) {
  ///   _ = try StatusClient(queue: "queue/")
  /// } catch {
  ///   switch error {
  ///   case .notRunning: print("jobs wait until a pool is started")
  ///   case .notAllowed, .noReply: print(error)
  ///   }
  /// }
  /// ```
  ///
  /// - Parameter queue: the path of the directory.
  /// - Throws: ``Failure/notRunning(queue:)`` if no pool runs there, ``Failure/notAllowed(path:)`` for another user's
  ///   pool, and ``Failure/noReply(_:)`` if a pool that starts or ends does not listen within five seconds.
  public convenience init(queue: String) throws(Failure) { try self.init(queue: queue, webUser: nil) }

  /// - Parameter webUser: who is logged in at the web program that asks, for the pool's log; see
  ///   ``StatusRequest/webUser``.
  package init(queue: String, webUser: String?) throws(Failure) {
    self.queue = queue
    self.webUser = webUser
    socket = try Self.connect(queue)
  }

  /// A pool that starts or ends has locked its queue directory, and does not listen: it is waited for.
  private static func connect(_ queue: String) throws(Failure) -> Descriptor {
    let layout = QueueLayout(root: queue)
    let end = Clock.now + startTime
    while true {
      do {
        return try Descriptor(try UnixSocket.connect(to: layout.statusSocket), "connect")
      } catch {
        switch error.number {
        case EACCES: throw .notAllowed(path: layout.run)
        case ENOENT, ENOTDIR, ECONNREFUSED:
          guard let pid = silentPool(layout) else { throw .notRunning(queue: queue) }
          guard Clock.now < end else { throw .noReply("process \(pid) runs on \(queue), and does not listen") }
        default: throw .noReply("\(error)")
        }
      }
      Thread.sleep(forTimeInterval: firstPause)
    }
  }

  /// Seconds that a pool has to listen: it does so a second after its start, also when its store is not open then.
  private static let startTime = 5.0

  /// The process of a pool that has the queue directory open but does not listen; nil when none has.
  private static func silentPool(_ layout: QueueLayout) -> Int32? {
    // Without the file no pool is known to run.
    guard let text = try? String(contentsOfFile: layout.pidFile, encoding: .utf8), let pid = Int32(text),
      let queue = FileID(path: layout.root),
      // Another user's process, and one that is gone, cannot be looked at: that is no pool which could be asked.
      let files = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")
    else { return nil }
    return files.contains { FileID(path: "/proc/\(pid)/fd/\($0)") == queue } ? pid : nil
  }

  /// Seconds that a pool has to answer, and for which one without room is asked again. It answers at once, or within
  /// the time that its store has.
  public static let patience = 60.0
  /// Seconds until a pool without room is asked again; longer each time, up to the second figure.
  private static let firstPause = 0.05
  private static let longestPause = 1.0

  /// Sends a request and waits for its reply.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let client = try StatusClient(queue: "queue/")
  /// let reply = try client.request(StatusRequest(.cancel, jobs: ["x-coredata://A/PoolJob/p17"]), within: 10)
  /// print(reply.ok ? "\(reply.count ?? 0) cancelled" : reply.error ?? "")
  /// ```
  ///
  /// - Parameters:
  ///   - request: what is asked for.
  ///   - timeout: seconds to wait at most. Default ``patience``, 60. nil waits as long as it takes, which is for
  ///     requests that change many jobs or wait for other pools.
  /// - Returns: the reply. `ok` is false when the pool refused; `error` then says why.
  /// - Throws: ``Failure/noReply(_:)`` when the time is over or the pool went away. It may have carried out the
  ///   request.
  ///
  /// If the pool has closed the connection before the request, as `workerpool reexec` does, the client connects again.
  /// A client that observes throws instead, because it may have missed events: make another one.
  public func request(_ request: StatusRequest, within timeout: Double? = patience) throws(Failure) -> StatusReply {
    guard let webUser else { return try reply(to: request, within: timeout) }
    var named = request
    named.webUser = webUser
    let reply = try self.reply(to: named, within: timeout)
    // A pool of an earlier version, which still runs after an upgrade, knows no such key, and has done nothing.
    guard !reply.ok, reply.error?.hasPrefix("unknown key \"webUser\"") == true else { return reply }
    return try self.reply(to: request, within: timeout)
  }

  private func reply(to request: StatusRequest, within timeout: Double?) throws(Failure) -> StatusReply {
    let line: [UInt8]
    do {
      line = [UInt8](try JSONEncoder().encode(request)) + [0x0A]
    } catch {
      throw .noReply("\(error)")
    }
    let start = Clock.now
    var pause = Self.firstPause
    try reconnectIfClosed()
    defer { if request.command == .observe { isObserving = true } }
    while true {
      let reply = try ask(line, until: timeout.map { start + $0 }, timeout)
      guard reply.busy == true else { return reply }
      guard Clock.now + pause < start + (timeout ?? Self.patience) else { throw .noReply(reply.error ?? "it is busy") }
      // Those that were refused together do not come back together.
      Thread.sleep(forTimeInterval: pause * Double.random(in: 0.5...1))
      pause = min(2 * pause, Self.longestPause)
      socket = try Self.connect(queue)
      decoder = Self.newDecoder
    }
  }

  /// Connects again if the pool has closed the connection between two requests, as when its program is replaced in
  /// place. No request can be lost or sent twice: none was on its way.
  private func reconnectIfClosed() throws(Failure) {
    var byte: UInt8 = 0
    let count = recv(socket.number, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    guard !isObserving, decoder.pendingBytes == 0, count == 0 || count < 0 && errno == ECONNRESET else { return }
    do throws(Failure) {
      socket = try Self.connect(queue)
    } catch {
      if case .notRunning = error { throw .noReply("the connection was closed") }
      throw error
    }
    decoder = Self.newDecoder
  }

  private func ask(_ line: [UInt8], until end: Double?, _ timeout: Double?) throws(Failure) -> StatusReply {
    do {
      try send(line)
    } catch  where error.number == EPIPE || error.number == ECONNRESET {
      // A pool that has closed the connection may have said why before.
    } catch {
      throw .noReply("\(error)")
    }
    while true {
      guard let reply = try next(within: end.map { $0 - Clock.now }) else {
        throw .noReply("it has been silent for \(Clock.text(timeout ?? 0))\(reasonForSilence)")
      }
      if reply.saved == nil, reply.ended == nil { return reply }
    }
  }

  /// What the kernel says of the process that listens, where it says why that is silent.
  private var reasonForSilence: String {
    // A process that cannot be looked at, as in another namespace, has no reason that could be told.
    guard let pid = try? PeerCredentials(of: socket.number).pid, ProcFile.isStopped(pid) else { return "" }
    return "; its process \(pid) is stopped, and goes on after: kill -CONT \(pid)"
  }

  /// Waits for the next reply without a limit of time; after `observe`, for the next event.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let client = try StatusClient(queue: "queue/")
  /// _ = try client.request(StatusRequest(.observe))
  /// while true {
  ///   guard let saved = try client.next().saved else { continue }
  ///   let changes: [AnyHashable: Any] = [saved.change: saved.objects.compactMap { URL(string: $0) }]
  ///   NSManagedObjectContext.mergeChanges(fromRemoteContextSave: changes, into: [context])
  /// }
  /// ```
  ///
  /// While a mebibyte of events waits for a client that reads too slowly, further events are lost: such a client
  /// refreshes what it shows now and then. Throws ``Failure``.
  public func next() throws(Failure) -> StatusReply {
    guard let reply = try next(within: nil) else { throw .noReply("it is silent") }
    return reply
  }

  /// As ``next()``, but waits `timeout` seconds at most, and then returns nil.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let client = try StatusClient(queue: "queue/")
  /// _ = try client.request(StatusRequest(.observe))
  /// while let reply = try client.next(within: 30) { print(reply.ended ?? []) }  // until half a minute is silent
  /// ```
  public func next(within timeout: Double?) throws(Failure) -> StatusReply? {
    let end = timeout.map { Clock.now + max(0, $0) }
    do {
      var chunk = [UInt8](repeating: 0, count: 65_536)
      while true {
        if let line = try decoder.next() { return try JSONDecoder().decode(StatusReply.self, from: Data(line.utf8)) }
        if let end, !waitUntilReadable(until: end) { return nil }
        let count = read(socket.number, &chunk, chunk.count)
        if count > 0 {
          decoder.append(chunk[..<count])
        } else if count == 0 || errno != EINTR {
          throw Failure.noReply("the connection was closed")
        }
      }
    } catch let failure as Failure {
      throw failure
    } catch {
      throw .noReply("\(error)")
    }
  }

  private func waitUntilReadable(until end: Double) -> Bool {
    while true {
      var ready = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
      let secondsLeft = min(max(0, end - Clock.now), 3600)
      let count = poll(&ready, 1, Int32((secondsLeft * 1000).rounded(.up)))
      if count > 0 { return true }
      if Clock.now >= end { return false }
    }
  }

  /// Seconds to wait for the end of the process after the pool has closed its connections: another program may own the
  /// pool, and go on.
  private static let endTimeout = 5.0

  /// Waits until the pool's process has ended, so that another pool can start on the queue directory. Ask for `stop`
  /// before. Where the process does not end within five seconds after the pool has closed the connection, as in a
  /// program that contains a pool, it returns.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let client = try StatusClient(queue: "queue/")
  /// _ = try client.request(StatusRequest(.stop))
  /// client.waitForEnd()  // another pool can start now
  /// ```
  public func waitForEnd() {
    // The process that listens; it cannot be seen from another namespace of process IDs (pidfd_open(2)).
    let process = (try? PeerCredentials(of: socket.number)).flatMap { try? Descriptor.ofProcess($0.pid) }
    // The error is the end of the connection.
    while (try? next()) != nil {}
    guard let process else { return }
    var end = pollfd(fd: process.number, events: Int16(POLLIN), revents: 0)
    while poll(&end, 1, Int32(Self.endTimeout * 1000)) < 0, errno == EINTR {}
    withExtendedLifetime(process) {}
  }

  private func send(_ bytes: [UInt8]) throws(SystemCallError) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(socket.number, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count > 0 {
        sent += count
      } else if errno != EINTR {
        throw SystemCallError("send")
      }
    }
  }
}
