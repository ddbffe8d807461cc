import CSystem
import Glibc
import LinuxSystem
import WorkerProtocol

/// Processes of earlier pools that are still alive: nobody gets their jobs until they have ended.
extension PoolServer {
  /// A process that outlived its pool.
  struct Survivor {
    /// Becomes readable when the process ends.
    let process: Descriptor
    var claims: [JobSourceClaim] = []
    /// It is not known what it runs, so nothing begins beside it.
    var mayRunAnything = false
  }

  /// Takes over what earlier pools have left.
  func takeOver(_ start: JobSourceStart) {
    coordinator.ledger = start.ledger
    for claim in start.elsewhere where watchSurvivor(claim.pid) { survivors[claim.pid]?.claims.append(claim) }
    for process in start.strangers where watchSurvivor(process.pid) { survivors[process.pid]?.mayRunAnything = true }
    coordinator.inherit(suspects: start.suspects)
    uncountedCrashes = start.crashed
    coordinator.settling.formUnion(start.crashed.map(\.job))
    tellCoordinatorOfSurvivors()
    for message in start.messages { log(.trouble, message) }
    for (pid, survivor) in survivors.sorted(by: { $0.key < $1.key }) {
      let work = survivor.mayRunAnything ? "may still run a job; none begins before it has ended" : "finishes its job"
      log(.processStray, "process \(pid) of an earlier pool \(work)", .pid(pid))
    }
  }

  /// Counts crashes that no pool has seen. Called when it is known how often a job of each kind may crash.
  func countUncountedCrashes() {
    for claim in uncountedCrashes {
      coordinator.workerDiedUnseen(claim.job, Obituary(pid: claim.pid, death: .unseen, cause: .itself, lastLines: []))
    }
    uncountedCrashes = []
  }

  /// Waits for the process's end; false when it has ended already.
  private func watchSurvivor(_ pid: Int32) -> Bool {
    if survivors[pid] != nil { return true }
    do throws(SystemCallError) {
      let process = try Descriptor.ofProcess(pid)
      survivors[pid] = Survivor(process: process)
      watchEnd(of: pid, process)
      return true
    } catch {
      if error.number != ESRCH { log(.trouble, "process \(pid) of an earlier pool cannot be watched: \(error)") }
      coordinator.ledger?.endInherited(pid)
      return false
    }
  }

  private func watchEnd(of pid: Int32, _ process: Descriptor) {
    do throws(SystemCallError) {
      try loop.watch(process.number, for: .readable) { [weak self] in self?.survivorEnded(pid) }
    } catch {
      // Out of memory for one more descriptor: its jobs stay its own until its end can be seen.
      loop.timers.after(Self.retryInterval) { [weak self] in self?.watchEnd(of: pid, process) }
    }
  }

  private func survivorEnded(_ pid: Int32) {
    guard let ended = survivors.removeValue(forKey: pid) else { return }
    loop.unwatch(ended.process.number)
    coordinator.ledger?.endInherited(pid)
    coordinator.now = Clock.now
    coordinator.noteOver(ended.claims.map(\.job))
    lookForDueJobs()
    tellCoordinatorOfSurvivors()
  }

  private func tellCoordinatorOfSurvivors() {
    coordinator.setClaimedElsewhere(survivors.values.flatMap(\.claims))
    coordinator.setWaitsForStrangers(survivors.values.contains(where: \.mayRunAnything))
  }
}
