import Glibc
import LinuxSystem
import WorkerProtocol

/// A child process in a process group of its own: it is started, its output is read, and its end is observed through a
/// pidfd.
final class ChildProcess {
  /// 0 until it was started.
  private(set) var pid: pid_t = 0
  /// The most memory that it had resident, in bytes; nil while it lives, and where the kernel does not tell.
  private(set) var peakMemory: Int?
  /// What it and those that it had waited for have used; nil as for `peakMemory`.
  private(set) var resources: ProcessResources?
  private var process: Descriptor?
  private let loop: EventLoop
  private let starter: ProcessStarter
  /// While it is being started.
  private var ticket: Int?
  /// The signal that it gets as soon as it was started.
  private var firstSignal: Int32?
  /// Of its standard output and standard error; nil for one that had ended when it was handed over.
  private var output: [OutputReader?] = []
  private let onStart: (SystemCallError?) -> Void
  private var onDeath: ((Death) -> Void)?

  /// Begins to start the process. `onStart` is called when that is over, with an error when there is no process:
  /// ENOENT, EACCES and ENOEXEC say that the file is not a program. `onLine` gets each line of its output and whether
  /// it came from standard error; `onDeath` is called once, after the last line.
  ///
  /// A line of its standard output that is longer than `longestLine` is handed over in pieces. `confinement` is called
  /// on another thread; nil confines nothing. Throws when there are no pipes for it.
  ///
  /// - Parameter connection: a descriptor that the process inherits; no other process holds it.
  init(
    _ program: Program, confinement: (@Sendable () -> Confinement)? = nil, connection: Descriptor? = nil,
    longestLine: Int = OutputSplitter.longestLine, loop: EventLoop, starter: ProcessStarter,
    onStart: @escaping (SystemCallError?) -> Void,
    onLine: @escaping (OutputLine) -> Void, onDeath: @escaping (Death) -> Void
  ) throws(SystemCallError) {
    self.loop = loop
    self.starter = starter
    self.onStart = onStart
    let out = try PipeEnds()
    let err = try PipeEnds()
    output = [
      try OutputReader(out.reading, limit: longestLine, loop: loop) {
        onLine(OutputLine(text: $0, isError: false))
      },
      try OutputReader(err.reading, loop: loop) { onLine(OutputLine(text: $0, isError: true)) },
    ]
    self.onDeath = onDeath
    let request = SpawnRequest(
      program, confinement: confinement, output: out.writing, errors: err.writing, connection: connection)
    ticket = starter.start(request) { [weak self] in self?.started($0) }
  }

  /// A child, as another program needs it to go on.
  struct Handed: Codable, Equatable {
    let pid: pid_t
    /// Of its standard output and standard error; nil for one that has ended.
    let output: OutputReader.Handed?
    let errors: OutputReader.Handed?

    var descriptors: [Int32] { [output, errors].compactMap { $0?.pipe } }
  }

  /// What another program needs to go on with the process; nil before its start and after its end.
  var handed: Handed? {
    guard pid > 0, onDeath != nil, output.count == 2 else { return nil }
    return Handed(pid: pid, output: output[0]?.handed, errors: output[1]?.handed)
  }

  /// Goes on with a child of this process that the program before this one had started.
  ///
  /// - Throws: when its end cannot be observed. It goes on then.
  init(
    _ handed: Handed, loop: EventLoop, starter: ProcessStarter, onLine: @escaping (OutputLine) -> Void,
    onDeath: @escaping (Death) -> Void
  ) throws(SystemCallError) {
    self.loop = loop
    self.starter = starter
    onStart = { _ in }
    for (end, isError) in [(handed.output, false), (handed.errors, true)] {
      output.append(
        try end.map { end throws(SystemCallError) in
          try OutputReader(try Descriptor(end.pipe, "pipe2"), pending: end.pending, loop: loop) {
            onLine(OutputLine(text: $0, isError: isError))
          }
        })
    }
    let descriptor = try Descriptor.ofProcess(handed.pid)
    try loop.watch(descriptor.number, for: .readable) { [weak self] in self?.reap() }
    (pid, process) = (handed.pid, descriptor)
    self.onDeath = onDeath
  }

  deinit {
    if let ticket { starter.abandon(ticket) }
    guard pid > 0, onDeath != nil else { return }
    if let process { loop.unwatch(process.number) }
    starter.end(pid)
  }

  /// Whether there is no process yet: the file system of its program has not answered.
  var isStarting: Bool { ticket != nil }

  private func started(_ outcome: ProcessStarter.Outcome) {
    ticket = nil
    do throws(SystemCallError) {
      try observe(try outcome.get())
    } catch {
      onDeath = nil
      return onStart(error)
    }
    if let firstSignal { signal(firstSignal) }
    onStart(nil)
  }

  private func observe(_ child: pid_t) throws(SystemCallError) {
    do throws(SystemCallError) {
      let descriptor = try Descriptor.ofProcess(child)
      try loop.watch(descriptor.number, for: .readable) { [weak self] in self?.reap() }
      (pid, process) = (child, descriptor)
    } catch {
      // Out of descriptors or memory: a child whose end cannot be observed is ended.
      starter.end(child)
      throw error
    }
  }

  /// Sends a signal to the process and to its group, as soon as it is there. A signal that comes too late is not an
  /// error.
  func signal(_ number: Int32) {
    if isStarting { firstSignal = number }
    guard pid > 0, onDeath != nil else { return }
    kill(-pid, number)
  }

  /// Sends a signal to the process alone.
  func signalLeader(_ number: Int32) {
    guard pid > 0, onDeath != nil else { return }
    kill(pid, number)
  }

  private func reap() {
    // Processes that it left running in its group must not outlive it: they would hold the pipes and the store. The
    // pidfd is readable, so the process has ended. Until it is waited for, the kernel gives its number to no other
    // process.
    kill(-pid, SIGKILL)
    var status: Int32 = 0
    var usage = rusage()
    let waited = wait4(pid, &status, WNOHANG, &usage)
    guard waited == pid || waited < 0 && errno == ECHILD, let onDeath else { return }
    if let process { loop.unwatch(process.number) }
    for reader in output { reader?.finish() }
    self.onDeath = nil
    if waited == pid {
      peakMemory = ProcessUsage.peakBytes(of: usage)
      resources = ProcessResources(of: usage)
    }
    onDeath(waited == pid ? Death(waitStatus: status) : .untold)
  }
}

/// A line that a child wrote.
struct OutputLine: Equatable, Sendable {
  let text: String
  let isError: Bool
}
