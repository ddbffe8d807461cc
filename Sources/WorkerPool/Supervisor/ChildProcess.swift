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

  let pid: pid_t
  private let pidfd: Int32
  private let loop: EventLoop
  private var output: [OutputReader] = []
  private var onDeath: ((Death) -> Void)?

  /// Starts the process. `onLine` gets each line of its output and whether it came from standard error; `onDeath` is called
  /// once, after the last line.
  ///
  /// Throws the error of vfork(2) or execve(2): ENOENT, EACCES and ENOEXEC say that the file is no program.
  init(
    _ command: Command, loop: EventLoop, onLine: @escaping (OutputLine) -> Void, onDeath: @escaping (Death) -> Void
  ) throws(SystemCallError) {
    let out = try Pipe()
    let err = try Pipe()
    pid = try Self.spawn(command, standardOutput: out.writeEnd, standardError: err.writeEnd)
    self.loop = loop
    pidfd = csystem_pidfd_open(pid)
    do throws(SystemCallError) {
      guard pidfd >= 0 else { throw SystemCallError("pidfd_open") }
      output = [
        try OutputReader(out.takeReadEnd(), limit: command.longestLine, loop: loop) {
          onLine(OutputLine(text: $0, isError: false))
        },
        try OutputReader(err.takeReadEnd(), loop: loop) { onLine(OutputLine(text: $0, isError: true)) },
      ]
      try loop.watch(pidfd, for: .readable) { [weak self] in self?.reap() }
    } catch {
      // Out of descriptors or memory: a child whose end cannot be observed must not be.
      kill(-pid, SIGKILL)
      kill(pid, SIGKILL)
      var status: Int32 = 0
      waitpid(pid, &status, 0)
      throw error
    }
    self.onDeath = onDeath
  }

  deinit {
    if onDeath != nil {
      loop.unwatch(pidfd)
      kill(-pid, SIGKILL)
      var status: Int32 = 0
      waitpid(pid, &status, 0)
    }
    close(pidfd)
  }

  /// Sends a signal to the process and to what it has started. Too late is no error.
  func signal(_ number: Int32) {
    guard onDeath != nil else { return }
    kill(-pid, number)
  }

  /// Sends a signal to the process alone.
  func signalLeader(_ number: Int32) {
    guard onDeath != nil else { return }
    kill(pid, number)
  }

  /// Whether the process is this child or was started by it and is still in its group.
  func owns(pid other: pid_t) -> Bool {
    other == pid || getpgid(other) == pid
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

  var writeEnd: Int32 { ends[1] }

  func takeReadEnd() -> Int32 {
    defer { ends[0] = -1 }
    return ends[0]
  }
}

extension ChildProcess {
  /// Starts the program with standard input empty, the two outputs given, default signals and its own process group, without
  /// new privileges and within its limits.
  private static func spawn(
    _ command: Command, standardOutput: Int32, standardError: Int32
  ) throws(SystemCallError) -> pid_t {
    var arguments = ([command.path] + command.arguments).map { strdup($0) } + [nil]
    // The child writes its own process ID there: so it can be told from what it starts, which inherits the variable.
    let pidVariable = "\(StrayProcesses.pidVariable)="
    let ownPID = strdup(pidVariable + "0000000000")
    var environment = command.environment.map { strdup("\($0.key)=\($0.value)") } + [ownPID, nil]
    defer { for string in arguments + environment { free(string) } }
    let limits = command.limits.map { csystem_limit(resource: $0.resource, value: $0.value) }
    var pid: pid_t = 0
    let error = command.path.withCString { path in
      arguments.withUnsafeMutableBufferPointer { arguments in
        environment.withUnsafeMutableBufferPointer { environment in
          limits.withUnsafeBufferPointer { limits in
            var program = csystem_program(
              path: path, arguments: arguments.baseAddress, environment: environment.baseAddress,
              standard_output: standardOutput, standard_error: standardError,
              parent_death_signal: command.parentDeathSignal, limits: limits.baseAddress,
              limit_count: Int32(limits.count), standard_input: 0, directory: nil, is_subreaper: 1,
              own_pid: ownPID.map { $0 + pidVariable.utf8.count })
            return csystem_spawn(&program, &pid)
          }
        }
      }
    }
    guard error == 0 else { throw SystemCallError("spawn", path: command.path, number: error) }
    return pid
  }
}
