import Glibc
import LinuxSystem

/// What one worker process may use. Each limit has a default; `nil` means none.
public struct WorkerLimits: Equatable, Sendable {
  /// Bytes of memory. Default none.
  ///
  /// Where the pool's control group is delegated to it, a worker and all that it starts may use that much together, and
  /// the kernel ends them when they reach it (`memory.max`). A pool that shares its process with another program, and
  /// one without such a group, limits the heap and other private memory of each process (`RLIMIT_DATA`): what asks for
  /// more fails, which ends most programs. The log and the job name the limit.
  public var memory: Int?
  /// Seconds of processor time in its whole life (`RLIMIT_CPU`); the kernel kills it beyond. Default none.
  public var processorTime: Int?
  /// Open descriptors (`RLIMIT_NOFILE`). Default 4096.
  public var openFiles: Int? = 4096
  /// Bytes of a core file (`RLIMIT_CORE`): it would show what the memory holds. Default 0.
  public var core: Int? = 0
  /// Jobs after which a process is replaced, give or take a tenth. Default none.
  public var jobs: Int?
  /// Resident bytes beyond which a process is replaced when its jobs in hand are done. Default none.
  public var residentMemory: Int?

  /// The defaults: 4096 open descriptors, no core file, nothing else limited.
  public init() {}

  /// The limits that the kernel enforces.
  var resources: [ResourceLimit] {
    let limits: [(Int32, Int?)] = [
      (Int32(RLIMIT_DATA.rawValue), memory), (Int32(RLIMIT_CPU.rawValue), processorTime),
      (Int32(RLIMIT_NOFILE.rawValue), openFiles), (Int32(RLIMIT_CORE.rawValue), core),
    ]
    return limits.compactMap { resource, value in
      value.map { ResourceLimit(resource: resource, value: UInt64(max(0, $0))) }
    }
  }

  /// The jobs that one process may do. With jitter not all processes of a pool are replaced at the same time.
  ///
  /// - Parameter jitter: from 0 to 1.
  func jobs(jitter: Double) -> Int? {
    jobs.map { max(1, Int((Double($0) * (0.9 + 0.2 * jitter)).rounded())) }
  }
}
