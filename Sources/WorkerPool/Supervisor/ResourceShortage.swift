import Foundation
import Glibc
import LinuxSystem
import WorkerProtocol

/// The limit on this process's open files (RLIMIT_NOFILE of getrlimit(2)).
enum OpenFileLimit {
  private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

  /// Raises the limit as far as it may be raised: a pool needs four descriptors for each worker, two of pipes, one of
  /// the connection and one of the process.
  static func raise() {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(resource, &limit)
  }

  /// The descriptors that workers leave for others. Job files, the store and clients need a few for moments: a pool
  /// whose workers hold all of them takes in no job.
  private static let reserve = 8
  /// The most descriptors that the start of a worker needs: both ends of two pipes and of the connection, and the
  /// process.
  private static let start = 7

  /// The descriptors that a pool on a SQLite file opens for itself: 39 are open before the first worker.
  private static let pool = 40

  /// How many files a pool with one worker needs, if the limit of this process is below that; nil if it can start.
  static var shortageOfPool: (needed: Int, limit: Int)? {
    let limit = Int(clamping: ErrorNumber.openFileLimit)
    let needed = (openFiles ?? limit) + pool + start + reserve
    return limit < needed ? (needed, limit) : nil
  }

  /// Makes sure that a worker can be started and the reserve stays free.
  ///
  /// - Parameter others: workers that are being started; each needs a descriptor of its process soon.
  /// - Throws: EMFILE.
  static func requireRoomForStart(others: Int) throws(SystemCallError) {
    let (limit, wanted) = (ErrorNumber.openFileLimit, start + others + reserve)
    // The kernel gives away the lowest numbers first (open(2)): while the last ones are free there is room, and nobody
    // has to count thousands of descriptors.
    let end = Int32(clamping: limit)
    if end > wanted, (1...wanted).allSatisfy({ fcntl(end - Int32($0), F_GETFD) < 0 }) { return }
    guard let open = openFiles, UInt64(open + wanted) <= limit else {
      throw SystemCallError("pipe2", number: EMFILE)
    }
  }

  /// How many descriptors this process has; nil when there is none left to count them with.
  ///
  /// Since Linux 6.2 the kernel tells the number as the size of the directory (proc(5), `/proc/PID/fd`).
  private static var openFiles: Int? {
    var status = stat()
    if stat("/proc/self/fd", &status) == 0, status.st_size > 0 { return Int(status.st_size) }
    guard let directory = opendir("/proc/self/fd") else { return errno == EMFILE ? nil : 0 }
    defer { closedir(directory) }
    var entries = 0
    while readdir(directory) != nil { entries += 1 }
    // Without `.`, `..`, and the directory that lists them.
    return max(0, entries - 3)
  }
}

extension SystemCallError {
  /// Whether the machine, or this process, lacks a resource that it may have again.
  var isShortage: Bool { number == EAGAIN || number == ENOMEM || ErrorNumber.isOutOfDescriptors(number) }

  /// What happened when a process or a thread was to be started, and for a shortage which limit was hit and where it is
  /// set.
  var explained: String {
    guard number == EAGAIN else { return "\(self)" }
    return "\(self); a limit on processes is reached (`ulimit -u`, TasksMax= of its unit, pids.max of its control "
      + "group)"
  }
}
