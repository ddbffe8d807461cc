import Foundation
import Glibc
import WorkerProtocol

/// The limit on this process's open files (RLIMIT_NOFILE of getrlimit(2)).
enum OpenFileLimit {
  private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

  /// The limit in force.
  static var current: UInt64 {
    var limit = rlimit()
    return getrlimit(resource, &limit) == 0 ? UInt64(limit.rlim_cur) : 0
  }

  /// Raises the limit as far as it may be raised: a pool needs four descriptors for each worker.
  static func raise() {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(resource, &limit)
  }
}

extension SystemCallError {
  /// Whether the machine, or this process, lacks a resource that it may have again.
  var isShortage: Bool { [EAGAIN, ENOMEM, EMFILE, ENFILE].contains(number) }

  /// What happened, and for a shortage which limit was hit and where it is set.
  var explained: String {
    switch number {
    case EMFILE:
      "\(self); the pool may have \(OpenFileLimit.current) files open (`ulimit -n`, LimitNOFILE= of its unit)"
    case ENFILE: "\(self); the machine's limit of open files is reached (fs.file-max of sysctl)"
    case EAGAIN:
      "\(self); a limit on processes is reached (`ulimit -u`, TasksMax= of its unit, pids.max of its control group)"
    default: "\(self)"
    }
  }
}
