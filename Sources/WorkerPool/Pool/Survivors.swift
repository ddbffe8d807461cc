import CSystem
import Glibc
import LinuxSystem
import WorkerProtocol

/// Processes of earlier pools that are still alive: no worker gets their jobs until they have ended.
final class Survivors {
  /// A process that outlived its pool.
  struct Survivor {
    /// Becomes readable when the process ends.
    let process: Descriptor
    var jobs: [InheritedJob] = []
    /// Its jobs are not known, so no job begins beside it.
    var mayRunAnything = false
  }

  private let core: PoolCore
  private let ready: ReadyJobs
  /// By process ID.
  private(set) var all: [Int32: Survivor] = [:]
  /// Crashes that no pool has seen, until the plugins are known.
  private var uncountedCrashes: [InheritedJob] = []

  init(_ core: PoolCore, _ ready: ReadyJobs) {
    self.core = core
    self.ready = ready
  }

  /// The jobs that they run.
  var jobs: [JobKey] { all.values.flatMap(\.jobs).map(\.key) }

  /// Whether the jobs of one of them are not known.
  var mayRunAnything: Bool { all.values.contains(where: \.mayRunAnything) }

  /// Takes over what earlier pools have left.
  ///
  /// - Parameter adopted: processes that are workers of this pool now.
  func takeOver(_ start: JobSourceStart, but adopted: Set<Int32> = []) {
    for job in start.survivorJobs where !adopted.contains(job.process.pid) && watch(job.process) {
      all[job.process.pid]?.jobs.append(job)
    }
    for process in start.unlisted where watch(process) { all[process.pid]?.mayRunAnything = true }
    core.coordinator.inherit(suspects: start.suspects)
    uncountedCrashes = start.crashed
    core.coordinator.awaitSettlement(of: start.crashed.map(\.key))
    // One in the hand of a worker is written when it ends.
    for job in start.cancelled where core.coordinator.hands.jobs[job] == nil { core.coordinator.cancelStored(job) }
    tellCoordinator()
    for message in start.messages { core.log(.trouble, message) }
    for (pid, survivor) in all.sorted(by: { $0.key < $1.key }) {
      let work = survivor.mayRunAnything ? "may still run a job; none begins before it has ended" : "finishes its job"
      core.log(.processStray, "process \(pid) of an earlier pool \(work)", .pid(pid))
    }
  }

  /// Counts crashes that no pool has seen. Called when it is known how often a job of each kind may crash.
  ///
  /// - Parameter kinds: the kinds of which that is known; nil for all.
  func countUncountedCrashes(of kinds: Set<String>?) {
    let isKnown = { (job: InheritedJob) in kinds.map { kinds in job.kind.map(kinds.contains) ?? false } ?? true }
    for job in uncountedCrashes where isKnown(job) {
      core.coordinator.workerDiedUnseen(
        job.key, Obituary(pid: job.process.pid, death: .unseen, cause: .itself, lastLines: []))
    }
    uncountedCrashes.removeAll(where: isKnown)
  }

  /// Waits for the process's end; false when it has ended already. Another process may have its number by now.
  private func watch(_ identity: ProcessIdentity) -> Bool {
    let pid = identity.pid
    if all[pid] != nil { return true }
    do throws(SystemCallError) {
      let process = try Descriptor.ofProcess(pid)
      // The descriptor keeps the number from changing hands after this look.
      guard identity.isAlive else { throw SystemCallError("pidfd_open", number: ESRCH) }
      all[pid] = Survivor(process: process)
      watchEnd(of: pid, process)
      return true
    } catch {
      if error.number != ESRCH { core.log(.trouble, "process \(pid) of an earlier pool cannot be watched: \(error)") }
      core.coordinator.ledger?.endInherited(pid)
      return false
    }
  }

  private func watchEnd(of pid: Int32, _ process: Descriptor) {
    do throws(SystemCallError) {
      try core.loop.watch(process.number, for: .readable) { [weak self] in self?.ended(pid) }
    } catch {
      // There is no memory to watch one more descriptor: its jobs stay withheld until its end can be seen.
      core.loop.timers.after(PoolCore.retryDelay) { [weak self] in self?.watchEnd(of: pid, process) }
    }
  }

  private func ended(_ pid: Int32) {
    guard let ended = all.removeValue(forKey: pid) else { return }
    core.loop.unwatch(ended.process.number)
    core.coordinator.ledger?.endInherited(pid)
    core.coordinator.now = Clock.now
    core.coordinator.releaseDependents(of: ended.jobs.map(\.key))
    ready.promoteDueJobs()
    tellCoordinator()
  }

  private func tellCoordinator() {
    core.coordinator.setSurvivorJobs(all.values.flatMap(\.jobs))
    core.coordinator.setWaitsForSurvivors(mayRunAnything)
  }
}
