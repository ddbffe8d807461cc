import CSystem
import Glibc
import WorkerProtocol

/// A child process in a process group of its own: started, heard out, and its end observed through a pidfd.
final class ChildProcess {
  /// What is to be started.
  struct Command {
    var path: String
    var arguments: [String] = []
    /// The whole environment.
    var environment: [String: String]
    /// Resource limits, as setrlimit(2) takes them.
    var limits: [ResourceLimit] = []
    /// What it gets when this thread ends, unless it chooses another signal for that. Default: what it cannot outlive.
    var parentDeathSignal = SIGKILL
    /// A line of its standard output that is longer is handed over in pieces.
    var longestLine = OutputReader.longestLine
  }

  /// 0 until it was started.
  private(set) var pid: pid_t = 0
  private var pidfd: Int32 = -1
  private let loop: EventLoop
  private let starter: ProcessStarter
  /// While it is being started.
  private var ticket: Int?
  /// What it is to get as soon as it was started.
  private var firstSignal: Int32?
  private var output: [OutputReader] = []
  private let onStart: (SystemCallError?) -> Void
  private var onDeath: ((Death) -> Void)?

  /// Begins to start the process. `onStart` is called when that is over, with an error when there is no process: ENOENT, EACCES and ENOEXEC
  /// say that the file is no program. `onLine` gets each line of its output and whether it came from standard error; `onDeath` is
  /// called once, after the last line.
  ///
  /// Throws when there are no pipes for it.
  init(
    _ command: Command, loop: EventLoop, starter: ProcessStarter, onStart: @escaping (SystemCallError?) -> Void,
    onLine: @escaping (OutputLine) -> Void, onDeath: @escaping (Death) -> Void
  ) throws(SystemCallError) {
    self.loop = loop
    self.starter = starter
    self.onStart = onStart
    let out = try Pipe()
    let err = try Pipe()
    output = [
      try OutputReader(out.takeReadEnd(), limit: command.longestLine, loop: loop) {
        onLine(OutputLine(text: $0, isError: false))
      },
      try OutputReader(err.takeReadEnd(), loop: loop) { onLine(OutputLine(text: $0, isError: true)) },
    ]
    self.onDeath = onDeath
    let request = SpawnRequest(command, standardOutput: out.takeWriteEnd(), standardError: err.takeWriteEnd())
    ticket = starter.start(request) { [weak self] in self?.started($0) }
  }

  deinit {
    if let ticket { starter.abandon(ticket) }
    guard pid > 0 else { return }
    if onDeath != nil {
      loop.unwatch(pidfd)
      SpawnRequest.end(pid)
    }
    close(pidfd)
  }

  /// Whether it is not known yet if there will be a process: its program's file system has not answered.
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
    let descriptor = csystem_pidfd_open(child)
    do throws(SystemCallError) {
      guard descriptor >= 0 else { throw SystemCallError("pidfd_open") }
      try loop.watch(descriptor, for: .readable) { [weak self] in self?.reap() }
    } catch {
      // Out of descriptors or memory: a child whose end cannot be observed must not be.
      SpawnRequest.end(child)
      if descriptor >= 0 { close(descriptor) }
      throw error
    }
    (pid, pidfd) = (child, descriptor)
  }

  /// Sends a signal to the process and to what it has started, as soon as it is there. Too late is no error.
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

  /// Whether the process is this child or was started by it and is still in its group.
  func owns(pid other: pid_t) -> Bool {
    pid > 0 && (other == pid || getpgid(other) == pid)
  }

  private func reap() {
    // Whatever it left running in its group must not outlive it: it would hold the pipes and the store. The pidfd is readable, so
    // the process has ended; until it is waited for, nobody else gets its number.
    kill(-pid, SIGKILL)
    var status: Int32 = 0
    let waited = waitpid(pid, &status, WNOHANG)
    guard waited == pid || waited < 0 && errno == ECHILD, let onDeath else { return }
    loop.unwatch(pidfd)
    for reader in output { reader.finish() }
    self.onDeath = nil
    onDeath(waited == pid ? Death(waitStatus: status) : .untold)
  }
}

/// A line that a child wrote.
struct OutputLine: Equatable, Sendable {
  let text: String
  let isError: Bool
}

/// A pipe whose ends are closed with it unless they were taken.
private final class Pipe {
  private var ends: [Int32] = [-1, -1]

  init() throws(SystemCallError) {
    guard csystem_pipe(&ends) == 0 else { throw SystemCallError("pipe2") }
  }

  deinit { for end in ends where end >= 0 { close(end) } }

  func takeReadEnd() -> Int32 { take(0) }
  func takeWriteEnd() -> Int32 { take(1) }

  private func take(_ index: Int) -> Int32 {
    defer { ends[index] = -1 }
    return ends[index]
  }
}
