import Dispatch
import Foundation
import Glibc
import LinuxSystem
import WorkerProtocol

/// The program `workerpool-web`: pages about a pool for a browser.
public enum WebProgram {
  /// What the command line says.
  struct Options {
    var queue = "queue"
    var store: String?
    var port: UInt16?
    var socket: String?
    var hosts: [String] = []
    var isReadOnly = false
    var tokenFile: String?
    /// Seconds from the last use of a session to its end.
    var sessionLifetime = 12 * 3600.0

    static let defaultPort: UInt16 = 8088

    /// - Throws: ``UsageError``
    init(_ arguments: [String]) throws {
      var unread = arguments[...]
      while let argument = unread.popFirst() {
        if argument == "--read-only" {
          isReadOnly = true
          continue
        }
        let optionNames = ["--queue", "--store", "--port", "--socket", "--host", "--token-file", "--session-hours"]
        guard optionNames.contains(argument) else {
          throw UsageError("workerpool-web does not know \(argument)")
        }
        guard let value = unread.popFirst(), !value.isEmpty else {
          throw UsageError("\(argument) needs a value")
        }
        switch argument {
        case "--queue": queue = value
        case "--store": store = value
        case "--socket": socket = value
        case "--host": hosts.append(value.lowercased())
        case "--token-file": tokenFile = value
        case "--session-hours":
          guard let hours = Double(value), hours > 0, hours.isFinite else {
            throw UsageError("--session-hours must be a number above 0, not \"\(value)\"")
          }
          sessionLifetime = hours * 3600
        default:
          guard let number = UInt16(value) else {
            throw UsageError("--port must be a number from 0 to 65535, not \"\(value)\"")
          }
          port = number
        }
      }
    }
  }

  static let help = """
    Shows a pool in the browser. workerpool web --help says more.

    Usage: workerpool-web [--queue DIR] [--store FILE] [--port N | --socket PATH] [--host NAME]… [--read-only]
                          [--token-file FILE] [--session-hours N]

    """

  /// Serves pages until a signal ends the process.
  ///
  /// - Returns: the exit code, when the program cannot start.
  public static func run(_ arguments: [String]) -> Int32 {
    if arguments.first == "report" { return ReportProgram.run(Array(arguments.dropFirst())) }
    if arguments.contains("--help") || arguments.contains("-h") {
      write(help, to: STDOUT_FILENO)
      return 0
    }
    if arguments.first == "--version" {
      write("workerpool-web, workerpool \(Release.text)\n", to: STDOUT_FILENO)
      return 0
    }
    do {
      try serve(try Options(arguments))
    } catch let error as UsageError {
      write("\(error)\n\(help)", to: STDERR_FILENO)
      return 2
    } catch {
      write("workerpool web: \(error)\n", to: STDERR_FILENO)
      return 1
    }
  }

  private static func serve(_ options: Options) throws -> Never {
    let tokens = try options.tokenFile.map { try AccessTokens(file: $0) } ?? .random()
    let listener = try listener(options)
    let sessions = Sessions(lifetime: options.sessionLifetime)
    let access = Access(
      tokens, sessions, address: listener.address, port: listener.port, names: options.hosts,
      isReadOnly: options.isReadOnly)
    let monitor = PoolMonitor(queue: options.queue)
    monitor.start()
    let lanes = SiteLanes(Site(queue: options.queue, store: options.store, monitor: monitor, access: access))
    let live = LivePages(lanes, sessions)
    let probes = Probes(monitor)
    let server = try HTTPServer(listener: listener.descriptor) { request in
      switch access.decide(on: request) {
      case .answer(let response): .atOnce(response)
      case .probe(let probe): .later { probes.answer(probe, $0) }
      case .pass(let visitor) where request.path == "/events":
        .later { answer in live.queue.async { answer(live.add(request, for: visitor)) } }
      case .pass(let visitor):
        .later { answer in lanes.perform(request) { answer($0.answer(request, for: visitor)) } }
      }
    }
    live.start()
    tell(listener, access, monitor)
    withExtendedLifetime(server) {
      waitForEnd()
    }
    listener.remove()
    exit(0)
  }

  private static func listener(_ options: Options) throws -> HTTPListener {
    guard let passed = try HTTPListener(passedIn: ProcessInfo.processInfo.environment) else {
      if let socket = options.socket { return try HTTPListener(socket: socket) }
      return try HTTPListener(port: options.port ?? Options.defaultPort)
    }
    guard options.socket == nil, options.port == nil else {
      throw UsageError(
        "--\(options.port == nil ? "socket" : "port") cannot be given when the service manager passes a socket")
    }
    return passed
  }

  private static func tell(_ listener: HTTPListener, _ access: Access, _ monitor: PoolMonitor) {
    let query = access.tokens.printed.map { "?token=\($0.secret)" } ?? ""
    if let socket = listener.socket {
      write(
        "listening on \(socket); for example: curl --unix-socket \(socket) 'http://localhost/\(query)'\n",
        to: STDOUT_FILENO)
    } else {
      write("http://\(listener.address):\(listener.port ?? 0)/\(query)\n", to: STDOUT_FILENO)
    }
    if let problem = monitor.latest.problem {
      write("workerpool web: \(problem); the pages say so until one does\n", to: STDERR_FILENO)
    }
  }

  /// Waits for the signal that ends the process.
  private static func waitForEnd() {
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
    var signal: Int32 = 0
    sigwait(&signals, &signal)
  }

  /// Signals that end the process wait for ``waitForEnd()`` in all threads. Called before there are others.
  public static func holdSignals() {
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
    pthread_sigmask(SIG_SETMASK, &signals, nil)
    signal(SIGPIPE, SIG_IGN)
  }

  static func write(_ text: String, to descriptor: Int32) {
    // There is no other place to tell that nobody reads the output.
    try? text.utf8.writeAll(to: descriptor, path: "output")
  }
}
