import Glibc
import LinuxSystem
import WorkerProtocol

/// How a worker process ended, for the parts that have to clear up after it.
struct Obituary: Equatable, Sendable {
  /// The cause of the end.
  enum Cause: Equatable, Sendable {
    /// The process itself, or an unknown cause: a job in hand may be the reason.
    case itself
    /// The pool, because it stops or needs fewer processes: no job is to blame.
    case stopped
    /// The pool, because its job took too long.
    case timedOut
    /// The pool, because its job used more than these seconds of processor time.
    case usedTooMuch(seconds: Double)
    /// The pool, because it closed its connection and stayed.
    case disconnected
    /// The pool closed its connection, because it said something that is no message.
    case brokeProtocol(MessageError)
    /// The pool, because it did not answer for this many seconds.
    case hung(seconds: Double)
    /// The pool, because it had not said hello this many seconds after its start.
    case silent(seconds: Double)

    /// Whether its job has used more than it may.
    var isOverrun: Bool {
      switch self {
      case .timedOut, .usedTooMuch: true
      default: false
      }
    }
  }

  /// The most memory that a process had, where that is nearly all that it may have.
  struct FullMemory: Equatable, Sendable {
    let peak: Int
    let limit: Int

    /// Nil where a limit or a peak is not known, and where the process had far less than it may have. An allocation
    /// that fails leaves some room.
    init?(peak: Int?, limit: Int?) {
      guard let peak, let limit, peak >= limit / 10 * 9 else { return nil }
      self.peak = peak
      self.limit = limit
    }
  }

  var pid: Int32
  var death: Death
  var cause: Cause
  /// What it had used in its whole life, and the most memory that it had; nil where the kernel does not tell.
  var resources: ProcessResources?
  var peakMemory: Int?
  /// The last lines of its standard error.
  var lastLines: [String]
  /// Its stacks, where the pool has asked for them before it ended the process.
  var stack: [String] = []
  /// Set where its limit of memory is the likely cause.
  var fullMemory: FullMemory?

  /// What happened, as the rest of a sentence.
  var reason: String {
    switch cause {
    case .itself: death.description + (fullMemory.map(Self.text) ?? "")
    case .stopped where death == .signalled(SIGKILL): "was killed, since it did not stop when told to"
    case .stopped: death.description
    case .timedOut: "was killed because its job took too long"
    case .usedTooMuch(let seconds): "was killed because its job used more than \(Clock.text(seconds)) of processor time"
    case .disconnected where death == .signalled(SIGKILL):
      "was killed because it had closed its connection"
    case .disconnected: death.description
    case .brokeProtocol(let error): "broke the protocol: \(error)"
    case .hung(let seconds): "was killed because it had not answered for \(Clock.text(seconds))"
    case .silent(let seconds): "was killed because it had not said hello within \(Clock.text(seconds))"
    }
  }

  private static func text(_ memory: FullMemory) -> String {
    " (perhaps it reached its limit of \(memory.limit >> 20) MiB, --memory: it had \(memory.peak >> 20) MiB)"
  }
}
