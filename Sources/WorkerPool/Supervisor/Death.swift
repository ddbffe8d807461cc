import CSystem
import Glibc

/// How a process ended, as the kernel tells.
enum Death: Equatable, Sendable, CustomStringConvertible {
  case exited(code: Int32)
  case signalled(Int32)

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
    case .signalled(SIGKILL): "was killed by signal 9 (perhaps the machine is out of memory)"
    case .signalled(let signal): "was killed by signal \(signal) (\(String(cString: strsignal(signal))))"
    }
  }
}
