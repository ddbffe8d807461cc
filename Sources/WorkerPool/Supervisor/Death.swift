import CSystem
import Glibc

/// How a process ended, as the kernel tells.
enum Death: Equatable, Sendable, CustomStringConvertible {
  case exited(code: Int32)
  case signalled(Int32)
  /// The kernel killed it because it and what it had started reached the limit of their control group, in bytes.
  case reachedMemoryLimit(Int)
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

  /// The signal that ended it; nil for none.
  var signal: Int32? {
    switch self {
    case .signalled(let number): number
    case .reachedMemoryLimit: SIGKILL
    case .exited, .unseen, .untold: nil
    }
  }

  var description: String {
    switch self {
    case .exited(let code): "exited with code \(code)"
    case .untold: "ended, and the kernel did not tell how: the process that runs the pool ignores SIGCHLD"
    case .reachedMemoryLimit(let bytes):
      "was killed by the kernel because it reached its limit of \(bytes >> 20) MiB (--memory)"
    case .signalled(SIGKILL): "was killed by signal 9 (perhaps the machine is out of memory)"
    case .unseen: "died together with its pool, or soon after it"
    case .signalled(let signal): "was killed by signal \(signal) (\(String(cString: strsignal(signal))))"
    }
  }
}
