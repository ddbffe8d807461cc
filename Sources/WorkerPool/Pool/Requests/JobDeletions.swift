import Jobs
import WorkerProtocol

/// Deletes jobs on request: never one that runs.
final class JobDeletions {
  /// A request to delete that waits for the store.
  private struct Deletion {
    let client: StatusServer.Client
    let running: Int
  }

  private let core: PoolCore
  private let survivors: Survivors
  private let checkpoints: WALCheckpoints
  private var tickets = Tickets<Deletion>()

  init(_ core: PoolCore, _ survivors: Survivors, _ checkpoints: WALCheckpoints) {
    self.core = core
    self.survivors = survivors
    self.checkpoints = checkpoints
  }

  func delete(
    _ jobs: [JobKey], as request: StatusRequest, by requester: Requester, for client: StatusServer.Client
  ) {
    let states = request.states?.compactMap(JobState.init(name:)) ?? JobState.allCases
    guard states.count == request.states?.count ?? states.count else {
      let names = JobState.allCases.map(\.name).joined(separator: ", ")
      return client.reply(StatusReply(ok: false, error: "states must be of \(names)"))
    }
    guard !survivors.mayRunAnything else {
      let reason = "a process that an earlier pool has left may run any job; `workerpool status` names it"
      return client.reply(StatusReply(ok: false, error: reason))
    }
    // Jobs that a worker holds stay. From here on, until the store has answered, no worker gets any of the others.
    let elsewhere = Set(survivors.jobs)
    let others = jobs.filter { job in
      core.coordinator.hands.jobs[job] == nil && !core.coordinator.settling.contains(job) && !elsewhere.contains(job)
        && !core.withheld.contains(job)
    }
    let running = jobs.count - others.count
    guard !others.isEmpty else {
      return client.reply(StatusReply(count: 0, kept: .init(running: running, awaited: 0, missing: 0)))
    }
    core.log(
      StatusService.record(.jobDeleted, of: others, "will be deleted", by: requester, uris: core.coordinator.jobURIs))
    core.withheld.formUnion(others)
    core.coordinator.forget(others)
    core.source.delete(
      others, in: states, evenIfAwaited: request.evenIfAwaited ?? false,
      ticket: tickets.issue(to: Deletion(client: client, running: running)))
  }

  /// The store has deleted some of the jobs; `awaited` stay because others wait for them, and `elsewhere` because
  /// other pools run them.
  func deleted(_ ticket: Int, asked: [JobKey], deleted: [JobKey], awaited: Int, elsewhere: Int, _ reason: String?) {
    core.withheld.subtract(asked)
    // Jobs that stay may begin now, and so may dependents of deleted jobs.
    core.coordinator.releaseDependents(of: deleted)
    core.coordinator.refetchAll()
    checkpoints.walWasWritten()
    guard let deletion = tickets.redeem(ticket) else { return }
    let isDone = reason == nil || !deleted.isEmpty
    let missing = reason == nil ? asked.count - deleted.count - awaited - elsewhere : 0
    deletion.client.reply(
      StatusReply(
        ok: isDone, error: isDone ? nil : reason, count: deleted.count,
        kept: .init(running: deletion.running + elsewhere, awaited: awaited, missing: missing)))
  }
}
