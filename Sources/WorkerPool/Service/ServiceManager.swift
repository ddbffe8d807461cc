import CSystem
import Glibc
import LinuxSystem

/// Tells systemd, or another service manager, how the pool is doing: ready, alive, stopping.
///
/// Source: sd_notify(3), sd_watchdog_enabled(3): lines of assignments in datagrams to the socket that `NOTIFY_SOCKET`
/// names.
final class ServiceManager {
  /// Seconds that a service manager grants beside the deadline of jobs: workers get five between TERM and KILL, and the
  /// pool some to write down what happened.
  static let timeToEnd = 30.0

  /// Seconds between two extensions of the time to start, each for ``timeToEnd``.
  static let extensionInterval = 10.0

  /// Seconds between two tries to tell a state to a manager whose queue is full.
  private static let retryInterval = 0.1

  private let socket: Int32
  /// Seconds between two signs of life: half of what the manager waits for; nil when it wants none.
  private let interval: Double?
  private var isReady = false
  /// States that the manager must learn, and has not been told, since its queue was full: a sign of life that is lost
  /// is followed by another, these are said once.
  private var untold: [String] = []
  private weak var loop: EventLoop?
  private var lastExtension = -Double.infinity

  /// Nil when no service manager waits for messages.
  init?(_ environment: [String: String], pid: Int32 = getpid()) {
    guard let path = environment["NOTIFY_SOCKET"], let socket = Self.connect(to: path) else { return nil }
    self.socket = socket
    let isForUs = environment["WATCHDOG_PID"].map { $0 == String(pid) } ?? true
    let microseconds = environment["WATCHDOG_USEC"].flatMap(Double.init)
    interval = isForUs ? microseconds.flatMap { $0 > 0 ? $0 / 2e6 : nil } : nil
  }

  deinit { close(socket) }

  /// Gives signs of life as long as the loop turns, whatever the pool waits for in it.
  func watch(_ loop: EventLoop) {
    self.loop = loop
    giveSignOfLife()
    guard !isReady || interval != nil else { return }
    loop.timers.after(min(interval ?? Self.extensionInterval, Self.extensionInterval)) { [weak self, weak loop] in
      if let loop { self?.watch(loop) }
    }
  }

  /// The pool is alive. Until it is ready it asks for more time to start, again and again: nobody knows how long its
  /// store is locked, or the store's server is away. The manager's own limit may be shorter.
  func giveSignOfLife() {
    var lines: [String] = []
    if !isReady, Clock.now - lastExtension >= Self.extensionInterval {
      lastExtension = Clock.now
      lines.append("EXTEND_TIMEOUT_USEC=\(Self.microseconds(Self.timeToEnd))")
    }
    if interval != nil { lines.append("WATCHDOG=1") }
    // A message that finds the queue full is left out.
    if !lines.isEmpty { _ = send(lines.joined(separator: "\n")) }
  }

  /// The pool takes jobs.
  func ready() {
    isReady = true
    tell("READY=1")
  }

  /// The pool lets its workers finish, which may take these seconds, and ends. The manager's own limit may be
  /// shorter.
  func stopping(within seconds: Double) {
    tell("STOPPING=1\nEXTEND_TIMEOUT_USEC=\(Self.microseconds(seconds))")
  }

  /// systemd takes 64 bits, of which the largest value means no limit.
  private static func microseconds(_ seconds: Double) -> Int64 { Int64(min(max(seconds, 0), 1e12) * 1e6) }

  /// Tells the manager a state, as soon as its queue has room.
  private func tell(_ state: String) {
    untold.append(state)
    tellUntold()
  }

  private func tellUntold() {
    while let state = untold.first, send(state) { untold.removeFirst() }
    if untold.isEmpty { return }
    loop?.timers.after(Self.retryInterval) { [weak self] in self?.tellUntold() }
  }

  /// The pool does not stop for a service manager that does not listen.
  ///
  /// - Returns: false if its queue is full.
  private func send(_ text: String) -> Bool {
    var text = text
    let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
    let sent = text.withUTF8 { Glibc.send(socket, $0.baseAddress, $0.count, flags) }
    return sent >= 0 || ![EAGAIN, EWOULDBLOCK, ENOBUFS].contains(errno)
  }

  /// A path, or with `@` a name in the abstract namespace.
  private static func connect(to path: String) -> Int32? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var name = Array(path.utf8)
    guard name.count > 1, name.count < MemoryLayout.size(ofValue: address.sun_path), "/@".utf8.contains(name[0]) else {
      return nil
    }
    if name[0] == UInt8(ascii: "@") { name[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { return nil }
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(socket, $0, length) }
    }
    guard connected == 0 else {
      close(socket)
      return nil
    }
    return socket
  }
}
