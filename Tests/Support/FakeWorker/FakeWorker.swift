import Foundation
import Glibc
import WorkerProtocol

/// A worker that knows the protocol and nothing else: no store, no WorkerKit.
///
/// What a job does is in its key, as FAKE_WORKER_BEHAVIOURS lists it; what it has done it tells through the named pipe
/// in FAKE_WORKER_EFFECTS; how it misbehaves at its start is in the name of its file.
@main struct FakeWorker {
  static let environment = ProcessInfo.processInfo.environment
  static let name = String(URL(fileURLWithPath: CommandLine.arguments[0]).lastPathComponent.dropFirst("worker-".count))

  /// It begins no job, and "mule" does not listen either. Once there is a mark of it, its processes are good ones.
  static var hesitates: Bool { name == "idler" || name == "mule" }
  static let begins = !hesitates || !leaveMark()

  static func main() throws {
    if CommandLine.arguments.dropFirst().first == "describe" {
      let versions = name == "future" ? [99] : [ProtocolVersion.current]
      print(
        #"{"name": "\#(name)", "version": "1.0", "protocolVersions": \#(versions), "kinds": [{"kind": "\#(name)", "#
          + #""backoff": 0.5}], "heartbeat": \#(!hesitates)}"#
      )
      return
    }
    let arguments = CommandLine.arguments
    if arguments.count == 4, arguments[1] == "flood", let manner = Flood.Manner(rawValue: arguments[3]) {
      return try Flood.run(socket: arguments[2], manner: manner)
    }
    if name == "mute" { while true { pause() } }
    if name == "fickle", let mark = environment["FAKE_WORKER_BROKEN"], access(mark, F_OK) == 0 {
      complain("this version is broken")
      exit(3)
    }
    if name == "victim" {
      tell("victim \(getpid())")
      kill(getpid(), SIGKILL)
    }
    if name == "quitter" {
      complain("I never liked this job")
      exit(3)
    }
    guard let connection = environment[.connection].flatMap({ Int32($0) }) else {
      print("A worker for tests. The pool starts it.")
      exit(64)
    }
    var worker = FakeWorker(descriptor: try UnixSocket.inherited(connection))
    try worker.converse()
  }

  let descriptor: Int32
  /// Jobs in hand that have not begun, and one that ends when DRAIN or CANCEL comes.
  var waiting: [ObjectURI] = []
  var pending: ObjectURI?

  init(descriptor: Int32) { self.descriptor = descriptor }

  mutating func converse() throws {
    if Self.name == "mumbler" { sendBytes(Array("hello 2 mumbler\n".utf8)) }
    if Self.name == "clerk" { sendBytes(Array("CREDIT 1\n".utf8)) }
    say(
      .hello(
        version: Self.name == "liar" ? 99 : ProtocolVersion.current,
        kinds: Self.name == "braggart" ? [Self.name, "fake"] : [Self.name]))
    if Self.name == "typist" { sendBytes(Array("CREDIT 1\r\n".utf8)) }
    say(.credit(Int(Self.environment["FAKE_WORKER_CREDIT"] ?? "1") ?? 1))
    var decoder = LineDecoder()
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      while let line = try decoder.next() {
        handle(try CoordinatorMessage(line: line))
        while Self.begins, pending == nil, !waiting.isEmpty { run(waiting.removeFirst()) }
      }
      let count = read(descriptor, &chunk, chunk.count)
      if count <= 0 { return }
      decoder.append(chunk[..<count])
    }
  }

  mutating func handle(_ message: CoordinatorMessage) {
    if Self.name == "mule", !Self.begins { return }
    switch message {
    case .welcome: break
    case .refused: exit(65)
    case .run(let jobs): waiting += jobs
    case .cancel(let job):
      if waiting.contains(job) {
        waiting.removeAll { $0 == job }
        say(.returned([job]))
      } else if pending == job {
        pending = nil
        if Self.behaviour(job) == "orphan" { exit(1) }
        say(.done([job]))
      }
    case .recall(let count):
      let back = Array(waiting.suffix(count))
      waiting.removeLast(back.count)
      if !back.isEmpty { say(.returned(back)) }
    case .ping:
      Self.tell("ping \(getpid())")
      say(.pong)
    case .drain:
      if !waiting.isEmpty { say(.returned(waiting)) }
      if let job = pending { say(.done([job])) }
      exit(0)
    case .saved(let change, let objects):
      Self.tell("saved \(change.rawValue) \(objects.map(\.description).joined(separator: " "))")
    }
  }

  /// Its place in the list is in the last two digits of the key.
  static func behaviour(_ job: ObjectURI) -> Substring {
    let behaviours = (environment["FAKE_WORKER_BEHAVIOURS"] ?? "").split(separator: ",")
    let index = Int(job.key % 100)
    return index < behaviours.count ? behaviours[index] : ""
  }

  mutating func run(_ job: ObjectURI) {
    say(.begin([job]))
    let number = "p\(job.key / 100)"
    switch Self.behaviour(job) {
    case "ok":
      Self.tell("ok \(number) \(getpid())")
      say(.done([job]))
    case "save":
      if let object = ObjectURI("x-coredata://APP/Document/\(number)") { say(.saved(.updated, [object])) }
      say(.done([job]))
    case "crash":
      Self.complain("about to crash")
      Self.tell("crash \(number) \(getpid())")
      abort()
    case "exit": exit(0)
    case "stopped":
      Self.tell("stopped \(number) \(getpid())")
      kill(getpid(), SIGSTOP)
    case "flood":
      let line = Array((String(repeating: "x", count: 99) + "\n").utf8)
      for _ in 0..<20_000 { _ = Glibc.write(2, line, line.count) }
      Self.tell("flood \(number) \(getpid())")
      say(.done([job]))
    case "describe":
      // What the kernel lets this process do, and what it was told.
      let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
      let privileges = status.split(separator: "\n").first { $0.hasPrefix("NoNewPrivs:") }?.suffix(1) ?? "?"
      var files = rlimit()
      var core = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
      getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &core)
      let names = Self.environment.keys.sorted().joined(separator: ",")
      let open = (3..<256).filter { fcntl($0, F_GETFD) >= 0 }.count
      Self.tell("describe \(privileges) \(files.rlim_max) \(core.rlim_max) \(open) \(names)")
      say(.done([job]))
    case "hold":
      Self.tell("hold \(number) \(getpid())")
      pending = job
    case "hang":
      signal(SIGTERM, SIG_IGN)
      Self.tell("hang \(number) \(getpid())")
      while true { pause() }
    case "chatter":
      // Says without end what means nothing.
      Self.tell("chatter \(number) \(getpid())")
      let lines = (0..<4096).flatMap { _ in Array("PONG\n".utf8) }
      while true { sendBytes(lines) }
    case "nonsense": sendBytes(Array("EXPLODE \(job)\n".utf8))
    case "orphan":
      // Leaves a process behind that holds its pipes.
      Self.tell("orphan \(number) \(Self.start("sleep", "1000"))")
      // Goes on when the test has had a look at the process.
      pending = job
      exit(1)
    default: say(.failed(job))
    }
  }

  func say(_ message: WorkerMessage) {
    var bytes: [UInt8] = []
    message.append(to: &bytes)
    sendBytes(bytes)
  }

  func sendBytes(_ bytes: [UInt8]) {
    _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }

  /// Writes one line to the pipe of the test, if it has one.
  static func tell(_ text: String) {
    guard let path = environment["FAKE_WORKER_EFFECTS"] else { return }
    let descriptor = open(path, O_WRONLY | O_CLOEXEC)
    write(text, to: descriptor)
    close(descriptor)
  }

  /// False when there is one already.
  private static func leaveMark() -> Bool {
    let mark = open(environment["FAKE_WORKER_BROKEN"] ?? "", O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    return mark >= 0 && close(mark) == 0
  }

  static func complain(_ text: String) { write(text, to: 2) }

  private static func write(_ text: String, to descriptor: Int32) {
    let bytes = Array("\(text)\n".utf8)
    _ = Glibc.write(descriptor, bytes, bytes.count)
  }

  /// The process ID of what was started.
  private static func start(_ arguments: String...) -> pid_t {
    var words = arguments.map { strdup($0) } + [nil]
    var pid: pid_t = 0
    return posix_spawnp(&pid, arguments[0], nil, nil, &words, environ) == 0 ? pid : 0
  }
}
