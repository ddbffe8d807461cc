import CSystem
import Glibc

/// How a process ended, as the kernel tells.
enum Death: Equatable, Sendable, CustomStringConvertible {
  case exited(code: Int32)
  case signalled(Int32)
  /// Together with its pool, or after it: no process saw how.
  case unseen
  /// It ended, and the kernel did not tell how: this process ignores SIGCHLD, or waits for all its children
  /// (waitpid(2), ECHILD).
  case untold

  /// Reads the status of `waitpid`.
  init(waitStatus: Int32) {
    if csystem_wait_status_exited(waitStatus) != 0 {
      self = .exited(code: csystem_wait_status_code(waitStatus))
    } else {
      self = .signalled(csystem_wait_status_signal(waitStatus))
    }
  }

  var description: String {
    switch self {
    case .exited(let code): "exited with code \(code)"
    case .untold: "ended, and the kernel did not tell how: the process that runs the pool ignores SIGCHLD"
    case .signalled(SIGKILL): "was killed by signal 9 (perhaps the machine is out of memory)"
    case .unseen: "died together with its pool, or soon after it"
    case .signalled(let signal): "was killed by signal \(signal) (\(String(cString: strsignal(signal))))"
    }
  }
}
