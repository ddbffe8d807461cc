import CoreData
import Jobs
import LinuxSystem

/// The known facts about one job, for people.
///
/// ```swift
/// import PoolClient
///
/// let reader = try StoreReader(poolStore: "app.sqlite")
/// let status = try? StatusClient(queue: "queue/").request(StatusRequest(.status)).status  // no pool need run
/// _ = try reader.job("x-coredata://A/PoolJob/p17") { job, run in
///   print(JobStory.lines(job, status: status, run: run).joined(separator: "\n"))
/// }
/// ```
///
/// `workerpool jobs show JOB` prints the same: the request, the attempts in order, and what comes next, with the
/// command that changes it.
///
/// ```text
/// x-coredata://4A80C15F-1EAD-460D-B520-B493E705107F/PoolJob/p5
/// kind       import, queue default, priority 0
/// state      dead
/// attempts   1 ended, 0 crashes
/// …
/// what happened
///   2026-11-28T10:11:10.101Z  came into the store
///   2026-11-28T10:11:10.520Z  attempt 1: PermanentFailure: "key" is missing in the parameters (process 27882 on one)
///   2026-11-28T10:11:10.524Z  dead
///
/// what comes next
///   nothing by itself; to run it again: workerpool retry p5
/// ```
public enum JobStory {
  /// The lines of the story. Called on the queue of the job's context.
  ///
  /// - Parameters:
  ///   - status: of the pool that runs on the store, if one does.
  ///   - run: who runs it.
  ///   - obstacle: what the pool says that keeps the job from being handed out.
  ///   - use: what the pool says that its last attempt has used.
  ///   - reader: for whom commands are written.
  public static func lines(
    _ job: Job, status: PoolStatus?, run: JobRun? = nil, obstacle: JobObstacle? = nil, use: ResourceUse? = nil,
    reader: AdviceReader = .plain
  ) -> [String] {
    let uri = job.objectID.uriString
    let pools = status.map { [$0] + ($0.others ?? []) } ?? []
    let runner = Runner(of: uri, in: pools, run: run)
    var lines = ["\(uri)", "kind       \(job.kind), queue \(job.queue), priority \(job.priority)"]
    lines.append("state      " + state(job, runner) + (runner.host.map { " on \($0)" } ?? ""))
    lines.append("attempts   \(job.attempt) ended, \(job.crashes) crashes")
    if let use { lines.append("used       \(use.text)") }
    if let done = runner.worker?.progressDone, let total = runner.worker?.progressTotal, total > 0 {
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
    if let parameters = job.shownParameters { lines.append("parameters \(parameters)") }
    lines += list("objects", job.objectURIs) + list("results", job.resultURIs) + list("after", job.options.after)
    if let batch = job.options.afterBatch { lines.append("after      the batch \(batch)") }
    if let output = job.shownOutput { lines.append("output     " + String(output.prefix(longestOutput))) }
    let next = next(job, runner, status, obstacle: obstacle).text.text(for: reader)
    return (lines + ["", "what happened"] + history(job) + ["", "what comes next", "  " + next])
      .map(TerminalText.escaped)
  }

  /// Characters of a job's output that are shown; `workerpool jobs show JOB --json` shows all.
  private static let longestOutput = 2000

  /// The process that runs a job, as far as it is known. The status names a worker with its progress, or a process that
  /// a killed pool has left; the ledger only has a process ID.
  private struct Runner {
    let worker: PoolStatus.Worker?
    /// The host of the worker's pool.
    let host: String?
    let survivor: PoolStatus.Survivor?
    let run: JobRun?

    /// - Parameter pools: the pool that was asked, and then others.
    init(of uri: String, in pools: [PoolStatus], run: JobRun?) {
      let pool = pools.first { $0.workers.contains { $0.running.contains(uri) } }
      worker = pool?.workers.first { $0.running.contains(uri) }
      host = pool?.host
      survivor = worker == nil ? pools.first?.survivors?.first { $0.jobs.contains(uri) } : nil
      self.run = run
    }
  }

  /// The state in words. A job that runs is `available` in the store: the status or the ledger says that it runs.
  private static func state(_ job: Job, _ runner: Runner) -> String {
    if let survivor = runner.survivor {
      return "running in process \(survivor.pid), a worker of a pool that was killed"
    }
    guard let worker = runner.worker else {
      guard let run = runner.run, job.state == .available else { return job.state.name }
      return "running since \(second(run.since)) in process \(run.pid)"
    }
    let busy = worker.busy.map { " for \(StatusText.duration($0))" } ?? ""
    return "running\(busy) in worker \(worker.id)\(worker.pid.map { ", process \($0)" } ?? "")"
  }

  /// The fields of the request that have no line of their own.
  private static func otherWishes(_ job: Job) -> [String] {
    let told: Set = [
      "priority", "queue", "runAt", "unique", "timeout", "limitKey", "limit", "after", "batch", "afterBatch",
    ]
    let options = job.options.json
    return JobField.all.filter { $0.option != nil && !told.contains($0.name) }.compactMap { field in
      let value = field.show?(job) ?? options[field.name] ?? .null
      return value == .null || value == .array([])
        ? nil
        : "\(field.name) ".padding(toLength: max(11, field.name.count + 1), withPad: " ", startingAt: 0) + value.text
    }
  }

  /// The first ten of some URIs, a line for each.
  private static func list(_ name: String, _ uris: [String]) -> [String] {
    guard !uris.isEmpty else { return [] }
    let shown = 10
    let more = uris.count > shown ? ["           and \(uris.count - shown) more"] : []
    let padded = name.padding(toLength: 10, withPad: " ", startingAt: 0)
    return uris.prefix(shown).enumerated().map { ($0 == 0 ? padded : "          ") + " " + $1 } + more
  }

  // MARK: What happened

  /// Something that happened to a job.
  package struct Event {
    package enum What {
      case came
      case failed(AttemptFailure)
      /// The last attempt that has ended began.
      case began
      case runs(pid: Int32)
      case ended(JobState)
    }

    package let date: Date
    package let what: What
  }

  /// What happened to the job, in order: an attempt comes before the end that it led to.
  package static func events(_ job: Job, run: JobRun?) -> [Event] {
    var events = [Event(date: job.createdAt, what: .came)]
    if let date = job.startedAt { events.append(Event(date: date, what: .began)) }
    events += job.failures.map { Event(date: $0.date, what: .failed($0)) }
    if let run, job.state == .available { events.append(Event(date: run.since, what: .runs(pid: run.pid))) }
    let order = events.enumerated().sorted { ($0.element.date, $0.offset) < ($1.element.date, $1.offset) }
    events = order.map(\.element)
    // The failure that led to the end may have been noted a little later.
    if let date = job.finishedAt {
      let last = events.last?.date ?? date
      events.append(Event(date: max(date, last), what: .ended(job.state)))
    }
    return events
  }

  /// What happened, a line for each event, with the output and the stack of an attempt below it.
  private static func history(_ job: Job) -> [String] {
    events(job, run: nil).flatMap { event in
      let time = millisecond(event.date)
      switch event.what {
      case .came: return ["  \(time)  came into the store"]
      case .began: return ["  \(time)  the last finished attempt began"]
      case .runs(let pid): return ["  \(time)  began to run in process \(pid)"]
      case .ended(let state): return ["  \(time)  \(state.name)"]
      case .failed(let failure):
        let process = failure.pid > 0 ? " (process \(failure.pid) on \(failure.host))" : ""
        var lines = ["  \(time)  attempt \(failure.attempt): \(failure.type): \(failure.message)\(process)"]
        lines += failure.standardErrorBesideMessage.map { "  \(time)    | \($0)" }
        if !failure.stack.isEmpty { lines.append("  \(time)    where it was:") }
        lines += failure.stack.map { "  \(time)    | \(StackFrame.demangled($0))" }
        return lines
      }
    }
  }

  // MARK: What comes next

  /// What comes next for a job, and the command that changes it: in two parts, because the web page has a button for
  /// the command.
  package struct Next {
    package let sentence: Advice
    /// What the command is for; empty when the sentence says it.
    package let purpose: String
    package let command: AdvisedCommand?

    init(_ sentence: Advice, _ purpose: String = "", command: AdvisedCommand? = nil) {
      self.sentence = sentence
      self.purpose = purpose
      self.command = command
    }

    /// Both in one line.
    package var text: Advice {
      guard let command else { return sentence }
      return "\(sentence)\(purpose.isEmpty ? "" : "; " + purpose): \(command)"
    }
  }

  /// What comes next for the job.
  ///
  /// - Parameter obstacle: what the pool says of a ready job.
  package static func next(_ job: Job, status: PoolStatus?, run: JobRun?, obstacle: JobObstacle?) -> Next {
    let runner = Runner(of: job.objectID.uriString, in: status.map { [$0] } ?? [], run: run)
    return next(job, runner, status, obstacle: obstacle)
  }

  private static func next(
    _ job: Job, _ runner: Runner, _ status: PoolStatus?, obstacle: JobObstacle?
  ) -> Next {
    let name = job.objectID.objectURI?.name ?? ""
    switch job.state {
    case .succeeded: return Next("nothing; its effects are in the store")
    case .dead: return Next("nothing by itself", "to run it again", command: .retry(name))
    case .cancelled: return Next("nothing", "to run it anyway", command: .retry(name))
    case .scheduled, .retryable:
      return Next(
        "it runs after \(job.runAt.map(second) ?? "some time")", "now", command: .retry(name))
    case .pending, .blocked: return blocked(job, name)
    case .available:
      if runner.worker != nil { return Next("its worker finishes it", "to stop it", command: .cancel(name)) }
      if let survivor = runner.survivor {
        return Next(
          "its worker finishes it, or gives it back when its time is over", "at once",
          command: AdvisedCommand("kill", "\(survivor.pid)"))
      }
      if runner.run != nil { return Next("its process finishes it") }
      guard let status else { return Next("it waits, and no pool is running that could run it") }
      guard let obstacle else { return Next("it is handed out as soon as the pool has read it") }
      let others = (status.others ?? []).flatMap(\.plugins)
      if obstacle.reason == .noPlugin, others.contains(where: { $0.failure == nil && $0.kinds.contains(job.kind) }) {
        return Next("it runs when a worker of another pool is free: no plugin of this one runs the kind \(job.kind)")
      }
      return Next("\(obstacle.sentence)\(asked(obstacle, status))", command: obstacle.remedy)
    }
  }

  /// Which plugins may run a kind that none is known to run.
  private static func asked(_ obstacle: JobObstacle, _ status: PoolStatus) -> String {
    let asked = status.plugins.filter { $0.isAsked == true }.map(\.name).joined(separator: ", ")
    guard obstacle.reason == .noPlugin, !asked.isEmpty else { return "" }
    return "; the pool does not know the kinds of \(asked) yet"
  }

  /// What a job waits for that has to run after others. Its row of `PoolWait` names one of them: when that one has
  /// ended, the pool checks the others.
  private static func blocked(_ job: Job, _ name: String) -> Next {
    let request = PoolWait.fetchRequest()
    request.predicate = NSPredicate(format: "job == %lld", job.objectID.key ?? 0)
    // If the row cannot be read, the story leaves out the job that is waited for.
    let blocker = (try? job.managedObjectContext?.fetch(request))?.first?.blocker
    // A number below 0 stands for a batch.
    if let blocker, blocker < 0, let batch = job.options.afterBatch {
      return Next(
        "it waits for the first job of the batch \(batch), which has none", "to run it anyway",
        command: .retry(name))
    }
    let uri = job.objectID.objectURI.flatMap { uri in blocker.map { JobURIs(store: uri.store)[$0] } }
    let id = uri.flatMap { job.managedObjectContext?.persistentStoreCoordinator?.objectID(for: $0) }
    // A job that was deleted or cannot be read has no state to show.
    let before = id.flatMap { try? job.managedObjectContext?.existingObject(with: $0) } as? Job
    guard let before, let blocker else {
      return Next("it runs when the jobs before it have succeeded", "now", command: .retry(name))
    }
    if before.state.isUnfinished {
      return Next(
        "it runs when the jobs before it have succeeded, p\(blocker) among them", "now",
        command: .retry(name))
    }
    return Next(
      "it waits for p\(blocker), which is \(before.state.name): \(.retry("p\(blocker)"))", "to run it anyway",
      command: .retry(name))
  }

  /// With three digits of the second's fraction: jobs may take milliseconds.
  private static func millisecond(_ date: Date) -> String {
    let seconds = date.timeIntervalSinceReferenceDate
    let whole = seconds.rounded(.down)
    let digits = String(1000 + min(999, Int((seconds - whole) * 1000)))
    return "\(second(date).dropLast()).\(digits.dropFirst())Z"
  }

  private static func second(_ date: Date) -> String {
    Timestamp.text(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded(.down)))
  }
}
