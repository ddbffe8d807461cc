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
  }

  let pid: pid_t
  private let pidfd: Int32
  private let loop: EventLoop
  private var output: [OutputReader] = []
  private var onDeath: ((Death) -> Void)?

  /// Starts the process. `onLine` gets each line of its output and whether it came from standard error; `onDeath` is called
  /// once, after the last line.
  ///
  /// Throws the error of `posix_spawn`: ENOENT, EACCES and ENOEXEC say that the file is no program.
  init(
    _ command: Command, loop: EventLoop, onLine: @escaping (OutputLine) -> Void, onDeath: @escaping (Death) -> Void
  ) throws(SystemCallError) {
    let out = try Pipe()
    let err = try Pipe()
    pid = try Self.spawn(command, standardOutput: out.writeEnd, standardError: err.writeEnd)
    self.loop = loop
    pidfd = csystem_pidfd_open(pid)
    precondition(pidfd >= 0, "no pidfd for a child that has not been waited for: \(String(cString: strerror(errno)))")
    output = [
      OutputReader(out.takeReadEnd(), loop: loop) { onLine(OutputLine(text: $0, isError: false)) },
      OutputReader(err.takeReadEnd(), loop: loop) { onLine(OutputLine(text: $0, isError: true)) },
    ]
    self.onDeath = onDeath
    loop.watch(pidfd, for: .readable) { [weak self] in self?.reap() }
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

  /// Whether the process is this child or was started by it and is still in its group.
  func owns(pid other: pid_t) -> Bool {
    other == pid || getpgid(other) == pid
  }

  private func reap() {
    // Whatever it left running in its group must not outlive it: it would hold the pipes and the store. The pidfd is readable, so
    // the process has ended; until it is waited for, nobody else gets its number.
    kill(-pid, SIGKILL)
    var status: Int32 = 0
    guard waitpid(pid, &status, WNOHANG) == pid, let onDeath else { return }
    loop.unwatch(pidfd)
    for reader in output { reader.finish() }
    self.onDeath = nil
    onDeath(Death(waitStatus: status))
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
  /// posix_spawn(3) with standard input empty, the two outputs given, default signals and its own process group. All
  /// other descriptors of this program are close-on-exec.
  private static func spawn(
    _ command: Command, standardOutput: Int32, standardError: Int32
  ) throws(SystemCallError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, standardOutput, 1)
    posix_spawn_file_actions_adddup2(&actions, standardError, 2)

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var noSignals = sigset_t()
    sigemptyset(&noSignals)
    posix_spawnattr_setsigmask(&attributes, &noSignals)
    var allSignals = sigset_t()
    sigfillset(&allSignals)
    posix_spawnattr_setsigdefault(&attributes, &allSignals)
    posix_spawnattr_setpgroup(&attributes, 0)
    let flags = Int32(POSIX_SPAWN_SETPGROUP) | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
    posix_spawnattr_setflags(&attributes, Int16(flags))

    var arguments = ([command.path] + command.arguments).map { strdup($0) } + [nil]
    var environment = command.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for string in arguments + environment { free(string) } }
    var pid: pid_t = 0
    let error = posix_spawn(&pid, command.path, &actions, &attributes, &arguments, &environment)
    guard error == 0 else { throw SystemCallError("posix_spawn", path: command.path, number: error) }
    return pid
  }
}
