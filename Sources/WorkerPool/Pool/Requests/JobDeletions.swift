import Jobs
import WorkerProtocol

/// Deletes jobs at somebody's wish: never one that runs.
extension PoolServer {
  /// What is known of a request to delete before the store answers.
  struct Deletion {
    let client: StatusServer.Client
    let running: Int
  }

  func delete(_ request: StatusRequest, _ client: StatusServer.Client) {
    guard let jobs = jobs(request.jobs ?? [], client) else { return }
    let states = request.states?.compactMap(JobState.init(name:)) ?? JobState.allCases
    guard states.count == request.states?.count ?? states.count else {
      let names = JobState.allCases.map(\.name).joined(separator: ", ")
      return client.reply(StatusReply(ok: false, error: "states must be of \(names)"))
    }
    guard !survivors.values.contains(where: \.mayRunAnything) else {
      let reason = "a process that an earlier pool has left may run any job; `workerpool status` names it"
      return client.reply(StatusReply(ok: false, error: reason))
    }
    // Jobs that a worker holds stay. From here on, until the store has answered, no worker gets any of the others.
    let others = jobs.filter { job in
      coordinator.held[job] == nil && !coordinator.settling.contains(job) && !isInSurvivorsHand(job)
        && !withheld.contains(job)
    }
    let running = jobs.count - others.count
    guard !others.isEmpty else {
      return client.reply(StatusReply(count: 0, kept: .init(running: running, awaited: 0, missing: 0)))
    }
    log(record(.jobDeleted, others, "to be deleted"))
    withheld.formUnion(others)
    coordinator.forget(others)
    lastTicket += 1
    deletions[lastTicket] = Deletion(client: client, running: running)
    source.delete(others, in: states, evenIfAwaited: request.evenIfAwaited ?? false, ticket: lastTicket)
  }

  private func isInSurvivorsHand(_ job: JobKey) -> Bool {
    survivors.values.contains { $0.claims.contains { $0.job == job } }
  }

  func deleted(_ ticket: Int, asked: [JobKey], deleted: [JobKey], awaited: Int, _ reason: String?) {
    withheld.subtract(asked)
    // Those that stay may begin; those that waited for one that is gone need not.
    coordinator.noteOver(deleted)
    coordinator.lookForNewJobs()
    publish(ended: deleted)
    logWasWritten()
    guard let deletion = deletions.removeValue(forKey: ticket) else { return }
    let isDone = reason == nil || !deleted.isEmpty
    let missing = reason == nil ? asked.count - deleted.count - awaited : 0
    deletion.client.reply(
      StatusReply(
        ok: isDone, error: isDone ? nil : reason, count: deleted.count,
        kept: .init(running: deletion.running, awaited: awaited, missing: missing)))
  }

  /// The jobs but for those that are being deleted.
  func notWithheld(_ jobs: [WindowJob]) -> [WindowJob] {
    withheld.isEmpty ? jobs : jobs.filter { !withheld.contains($0.key) }
  }
}
