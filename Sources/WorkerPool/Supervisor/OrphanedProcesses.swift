import CSystem
import Glibc
import LinuxSystem
import WorkerProtocol

/// Ends processes that dead workers had started, in any group or session. Such processes have become this process's
/// children.
///
/// The kernel gives the children of a process that has died to the nearest ancestor that asked for them
/// (PR_SET_CHILD_SUBREAPER, prctl(2)). Each worker does, so that they stay with it while it lives, and so does the
/// pool, where its process is a pool and nothing else.
final class OrphanedProcesses {
  private let loop: EventLoop
  private let log: Log
  private let pool: String?
  /// This process has other children, too: it replaced a program that had some, or is the first of its container. Then
  /// only processes that descend from a worker of the pool are ended, as their mark or their environment tells.
  let hasOtherChildren: Bool
  /// Descriptors of processes that were killed, by process ID.
  private var dying: [pid_t: Descriptor] = [:]
  /// Children that are not orphans.
  var knownChildren: () -> Set<pid_t> = { [] }
  /// Threads of this process whose children are not orphans either, also while they are being started.
  var starters: () -> Set<pid_t> = { [] }
  /// Called when the last one has ended.
  var whenGone: () -> Void = {}

  /// - Parameters:
  ///   - pool: the identity of this pool, which marks what belongs to it.
  ///   - hasOtherChildren: what the program before this one in the process has found; nil where none was.
  init(loop: EventLoop, log: Log, pool: String?, hasOtherChildren: Bool? = nil) {
    self.loop = loop
    self.log = log
    self.pool = pool
    self.hasOtherChildren = hasOtherChildren ?? (getpid() == 1 || !OwnChildren.all().isEmpty)
    _ = csystem_become_subreaper()
  }

  deinit {
    for descriptor in dying.values { loop.unwatch(descriptor.number) }
  }

  /// The processes that were killed and have not been waited for.
  var ending: Set<pid_t> { Set(dying.keys) }

  /// Whether none is left.
  var isEmpty: Bool { dying.isEmpty }

  /// Kills the orphans that have come since the last call, and later what they have started.
  func end() {
    let knownChildren = knownChildren()
    for pid in OwnChildren.all(except: starters())
    where !knownChildren.contains(pid) && dying[pid] == nil && isOurs(pid) {
      if ProcFile.isAlive(pid) {
        log(.processStray, "process \(pid) (\(ProcFile.command(pid))), left behind by a worker, is killed", .pid(pid))
        kill(pid, SIGKILL)
      }
      // Out of descriptors: it is waited for when the next worker has died.
      guard let descriptor = try? Descriptor.ofProcess(pid) else { continue }
      guard (try? loop.watch(descriptor.number, for: .readable) { [weak self] in self?.reap(pid) }) != nil else {
        continue
      }
      dying[pid] = descriptor
    }
  }

  private func isOurs(_ pid: pid_t) -> Bool {
    !hasOtherChildren || pool.flatMap { StrayProcesses.worker(of: pid, pool: $0) } != nil
  }

  private func reap(_ pid: pid_t) {
    var status: Int32 = 0
    guard waitpid(pid, &status, WNOHANG) == pid, let descriptor = dying.removeValue(forKey: pid) else { return }
    loop.unwatch(descriptor.number)
    // Its children have become children of this process.
    end()
    if dying.isEmpty { whenGone() }
  }
}
