import Foundation
import WorkerKit

/// A job that does something bad at its first attempt, as `how` in its parameters says, and adds to its objects at the
/// next.
struct Misbehave: TestKind {
  static let kind = "misbehave"
  init() {}

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    let how = try job.parameters["how"]?.stringValue ?? ""
    if job.attempt == 0, job.crashes == 0 || how == "always eat memory" {
      if try !misbehave(how, job) { throw PermanentFailure("it is not known how to \(how)") }
    }
    try Add().run(job, in: context)
  }

  /// False for a word that is not known.
  private func misbehave(_ how: String, _ job: Job) throws -> Bool {
    switch how {
    case "exit": exit(0)
    case "abort": abort()
    case "loop": Self.loopsWithoutEnd()
    case "burn":
      let end = Self.processorSeconds + 0.5
      Self.work(until: { Self.processorSeconds >= end })
    case "fill":
      // The kernel writes into it, as below; and it takes long enough to be measured.
      let zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC)
      let bytes = malloc(192 << 20)
      for part in 0..<192 { read(zeros, bytes.map { $0 + part << 20 }, 1 << 20) }
      close(zeros)
      let end = ContinuousClock.now + .milliseconds(200)
      Self.work(until: { ContinuousClock.now >= end })
      free(bytes)
    case "freeze":
      kill(getpid(), SIGSTOP)
      while true { pause() }
    case "eat memory", "always eat memory":
      // The kernel writes into it: an optimiser leaves out writing what nobody reads, and then no page is taken.
      let zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC)
      while let bytes = malloc(1 << 20) { read(zeros, bytes, 1 << 20) }
      abort()
    case "grandchildren":
      Self.start("sleep", "1000")
      Self.start("sh", "-c", "sleep 1000 & setsid sleep 1000 & sleep 1000")
      abort()
    case "close the socket":
      for descriptor in Self.sockets { close(descriptor) }
      Stop.wait(at: try job.parameters["stop"]?.stringValue ?? "")
    case "flood":
      let line = Array((String(repeating: "x", count: 99) + "\n").utf8)
      let lines = Array(repeating: line, count: 100).flatMap { $0 }
      for _ in 0..<1000 { _ = write(2, lines, lines.count) }
    case "garbage":
      let bytes = (0..<4096).map { _ in UInt8.random(in: 0...255) } + [0x0A]
      for descriptor in Self.sockets { _ = write(descriptor, bytes, bytes.count) }
      Stop.wait(at: try job.parameters["stop"]?.stringValue ?? "")
    case "kill the pool":
      kill(getppid(), SIGKILL)
      kill(getpid(), SIGKILL)
    case "wait with a child", "wait with a child elsewhere":
      let stop = try job.parameters["stop"]?.stringValue ?? ""
      Stop.tell(stop)
      // setsid(1) makes a session of its own by itself where it leads no group.
      let child = how.hasSuffix("elsewhere") ? Self.start("setsid", "sleep", "1000") : Self.start("sleep", "1000")
      Stop.tell(stop, of: child)
      while true { pause() }
    case "wait": Stop.wait(at: try job.parameters["stop"]?.stringValue ?? "")
    case "wait and ignore":
      Stop.tell(try job.parameters["stop"]?.stringValue ?? "")
      while true { pause() }
    default: return false
    }
    return true
  }

  /// Where a stack shows that the job hangs. The call keeps an optimiser from leaving the loop out.
  @inline(never) private static func loopsWithoutEnd() { while getpid() > 0 {} }

  /// Keeps a processor busy.
  private static func work(until isOver: () -> Bool) { while !isOver() {} }

  private static var processorSeconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// The process's sockets: its connection to the pool.
  private static var sockets: [Int32] {
    (3..<64).filter { descriptor in
      var status = stat()
      return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }
  }

  @discardableResult
  private static func start(_ arguments: String...) -> pid_t {
    var words = arguments.map { strdup($0) } + [nil]
    var pid: pid_t = 0
    posix_spawnp(&pid, arguments[0], nil, nil, &words, environ)
    return pid
  }
}
