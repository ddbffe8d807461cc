import CoreData
import Jobs
import LinuxSystem

/// The known facts about one job, for people.
public enum JobStory {
  /// The lines of the story. Called on the queue of the job's context.
  ///
  /// - Parameters:
  ///   - status: of the pool that runs on the store, if one does.
  ///   - run: who runs it.
  public static func lines(_ job: Job, status: PoolStatus?, run: JobRun? = nil) -> [String] {
    let uri = job.objectID.uriString
    let pools = status.map { [$0] + ($0.others ?? []) } ?? []
    let pool = pools.first { $0.workers.contains { $0.running.contains(uri) } }
    let worker = pool?.workers.first { $0.running.contains(uri) }
    var lines = ["\(uri)", "kind       \(job.kind), queue \(job.queue), priority \(job.priority)"]
    let survivor = worker == nil ? status?.survivors?.first { $0.jobs.contains(uri) } : nil
    lines.append("state      " + state(job, worker, survivor, run) + (pool?.host.map { " on \($0)" } ?? ""))
    lines.append("attempts   \(job.attempt) ended, \(job.crashes) crashes")
    if let done = worker?.progressDone, let total = worker?.progressTotal, total > 0 {
      lines.append("progress   \(done) of \(total)")
    } else if job.progressTotal > 0 {
      lines.append("progress   \(job.progressDone) of \(job.progressTotal)")
    }
    if let checkpoint = job.checkpoint { lines.append("checkpoint \(checkpoint.count) bytes") }
    if let timeout = job.timeout { lines.append("timeout    \(Clock.text(timeout)) for each attempt") }
    if let key = job.uniqueKey { lines.append("unique     \(key)") }
    if let batch = job.batch { lines.append("batch      \(batch)") }
    if let key = job.limitKey {
      lines.append("limit      \(job.options.limit.map { "\($0) of" } ?? "by") the key \(key)")
    }
    lines += otherWishes(job)
    if let parameters = job.parametersText { lines.append("parameters \(parameters)") }
    lines += list("objects", job.objectURIs) + list("results", job.resultURIs) + list("after", job.options.after)
    if let batch = job.options.afterBatch { lines.append("after      the batch \(batch)") }
    if let output = job.output { lines.append("output     " + String(output.prefix(longestOutput))) }
    let next = next(job, worker, survivor, run, status)
    return (lines + ["", "what happened"] + history(job) + ["", "what comes next", "  " + next])
      .map(TerminalText.escaped)
  }

  /// Characters of a job's output that are shown; `workerpool jobs show JOB --json` shows all.
  private static let longestOutput = 2000

  private static func state(
    _ job: Job, _ worker: PoolStatus.Worker?, _ survivor: PoolStatus.Survivor?, _ run: JobRun?
  ) -> String {
    if let survivor { return "running in process \(survivor.pid), a worker of a pool that was killed" }
    guard let worker else {
      guard let run, job.state == .available else { return job.state.name }
      return "running since \(second(run.since)) in process \(run.pid)"
    }
    let busy = worker.busy.map { " for \(StatusText.duration($0))" } ?? ""
    return "running\(busy) in worker \(worker.id), process \(worker.pid)"
  }

  /// The fields of the request that have no line of their own.
  private static func otherWishes(_ job: Job) -> [String] {
    let told: Set = [
      "priority", "queue", "runAt", "unique", "timeout", "limitKey", "limit", "after", "batch", "afterBatch",
    ]
    let options = job.options.json
    return JobField.all.filter { $0.option != nil && !told.contains($0.name) }.compactMap { field in
      let value = field.show?(job) ?? options[field.name] ?? .null
      return value == .null
        ? nil
        : "\(field.name) ".padding(toLength: max(11, field.name.count + 1), withPad: " ", startingAt: 0) + value.text
    }
  }

  private static func list(_ name: String, _ uris: [String]) -> [String] {
    guard !uris.isEmpty else { return [] }
    let shown = 10
    let more = uris.count > shown ? ["           and \(uris.count - shown) more"] : []
    let padded = name.padding(toLength: 10, withPad: " ", startingAt: 0)
    return uris.prefix(shown).enumerated().map { ($0 == 0 ? padded : "          ") + " " + $1 } + more
  }

  private static func history(_ job: Job) -> [String] {
    var events: [(date: Date, text: String)] = [(job.createdAt, "came into the store")]
    for failure in job.failures {
      var text = "attempt \(failure.attempt): \(failure.type): \(failure.message)"
      if failure.pid > 0 { text += " (process \(failure.pid) on \(failure.host))" }
      events.append((failure.date, text))
      events += failure.standardError.map { (failure.date, "  | \($0)") }
    }
    if let date = job.startedAt { events.append((date, "the last finished attempt began")) }
    if let date = job.finishedAt { events.append((date, job.state.name)) }
    let order = events.enumerated().sorted { ($0.element.date, $0.offset) < ($1.element.date, $1.offset) }
    return order.map { "  \(second($0.element.date))  \($0.element.text)" }
  }

  /// What comes next for the job, in one sentence.
  package static func next(_ job: Job, status: PoolStatus?, run: JobRun?) -> String {
    let uri = job.objectID.uriString
    let worker = status?.workers.first { $0.running.contains(uri) }
    let survivor = worker == nil ? status?.survivors?.first { $0.jobs.contains(uri) } : nil
    return next(job, worker, survivor, run, status)
  }

  private static func next(
    _ job: Job, _ worker: PoolStatus.Worker?, _ survivor: PoolStatus.Survivor?, _ run: JobRun?, _ status: PoolStatus?
  ) -> String {
    let name = job.objectID.objectURI?.name ?? ""
    switch job.state {
    case .succeeded: return "nothing; its effects are in the store"
    case .dead: return "nothing by itself; to run it again: workerpool retry \(name)"
    case .cancelled: return "nothing; to run it anyway: workerpool retry \(name)"
    case .scheduled, .retryable:
      return "it runs after \(job.runAt.map(second) ?? "some time"); now: workerpool retry \(name)"
    case .pending, .blocked: return blocked(job, name)
    case .available:
      if worker != nil { return "its worker finishes it; to stop it: workerpool cancel \(name)" }
      if let survivor {
        return "its worker finishes it, or gives it back when its time is over; at once: kill \(survivor.pid)"
      }
      if run != nil { return "its process finishes it" }
      guard let status else { return "it waits, and no pool is running that could run it" }
      if status.isPaused { return "it waits, because the whole pool is paused: workerpool resume" }
      if status.pausedQueues.contains(job.queue) {
        return "it waits, because its queue is paused: workerpool resume \(job.queue)"
      }
      if status.pausedKinds.contains(job.kind) {
        return "it waits, because its kind is paused: workerpool resume --kind \(job.kind)"
      }
      guard status.plugins.contains(where: { $0.failure == nil && $0.kinds.contains(job.kind) }) else {
        let asked = status.plugins.filter { $0.isAsked == true }.map(\.name).joined(separator: ", ")
        return "it waits, because no plugin runs the kind \(job.kind)"
          + (asked.isEmpty ? "" : "; the pool does not know the kinds of \(asked) yet")
      }
      return "it runs when a worker is free"
    }
  }

  /// What a dependent waits for. The store names one of the jobs before it.
  private static func blocked(_ job: Job, _ name: String) -> String {
    let request = PoolWait.fetchRequest()
    request.predicate = NSPredicate(format: "job == %lld", job.objectID.key ?? 0)
    let blocker = (try? job.managedObjectContext?.fetch(request))?.first?.blocker
    let uri = job.objectID.objectURI.flatMap { uri in blocker.map { JobURIs(store: uri.store)[$0] } }
    let id = uri.flatMap { job.managedObjectContext?.persistentStoreCoordinator?.objectID(for: $0) }
    let before = id.flatMap { try? job.managedObjectContext?.existingObject(with: $0) } as? Job
    guard let before, let blocker else {
      return "it runs when the jobs before it have succeeded; now: workerpool retry \(name)"
    }
    if before.state.isUnfinished {
      return "it runs when the jobs before it have succeeded, p\(blocker) among them; now: workerpool retry \(name)"
    }
    return "it waits for p\(blocker), which is \(before.state.name): workerpool retry p\(blocker); "
      + "to run it anyway: workerpool retry \(name)"
  }

  private static func second(_ date: Date) -> String {
    Timestamp.text(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded(.down)))
  }
}
