import CoreData
import Foundation

/// A job that the pool submits to report an event, such as the death of a job, to people: `workerpool run --hook`.
///
/// A hook is a job, so it outlives the pool, is tried again, and shows in the lists. A job that fails or dies gets its
/// hooks in the same transaction, so that no `kill -9` comes between: each dead job is reported at least once.
///
/// ```swift
/// import WorkerPool
///
/// var configuration = PoolConfiguration(store: "app.sqlite", queue: "queue/")
/// configuration.hooks = [try JobHook("dead,stalled,recovered=exec:tell")]
/// ```
///
/// | event | when | in whose transaction | reported again |
/// |---|---|---|---|
/// | failed | an attempt has failed or crashed, and there will be another one | the failure's | for each attempt |
/// | dead | the last attempt has failed or crashed | the failure's | after a retry by hand |
/// | stalled | jobs of a kind could run, and none has begun or ended for a while | one of the pool | after recovering |
/// | recovered | jobs of a kind that was stalled run again | one of the pool | after stalling |
///
/// A hook's job waits in the queue `hooks`, has a priority of 1000, and is tried 20 times, with waits from five seconds
/// to an hour. A hook that fails is not reported: it is in the lists like any other job.
public struct JobHook: Hashable, Sendable {
  /// What happens.
  public enum Event: String, CaseIterable, Sendable {
    /// An attempt has failed or crashed, and there will be another one.
    case failed
    /// The last attempt has failed or crashed.
    case dead
    /// Jobs of a kind could run, and none has begun or ended for a while.
    case stalled
    /// Jobs of a kind that was stalled run again.
    case recovered
  }

  /// The events that it reports.
  public let events: Set<Event>
  /// The kind of its jobs.
  public let kind: String
  /// For the kind `exec`: the command of `exec.json`, which reads the event from its standard input.
  public let command: String?

  /// The queue of all hooks. Jobs of this queue have no hooks: otherwise each hook that fails would submit another
  /// one.
  public static let queue = "hooks"
  /// Attempts that a hook has: the last one is about ten hours after the first.
  public static let maxAttempts = 20
  /// Seconds that one attempt may take.
  public static let timeout = 60.0

  /// Reads `EVENT,EVENT=exec:COMMAND` or `EVENT,EVENT=KIND`.
  ///
  /// ```swift
  /// let hook = try JobHook("dead,stalled=exec:tell")
  /// print(hook.kind, hook.command ?? "", hook.events.contains(.dead))  // exec tell true
  /// ```
  ///
  /// - Throws: ``JobHookError`` for another text.
  public init(_ text: String) throws(JobHookError) {
    let halves = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard halves.count == 2 else { throw JobHookError("a hook is EVENT,EVENT=exec:COMMAND, not \"\(text)\"") }
    var events: Set<Event> = []
    for name in halves[0].split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
      guard let event = Event(rawValue: name) else {
        let names = Event.allCases.map(\.rawValue)
        let hint = Spelling.hint(to: name, among: names, otherwise: "they are \(names.joined(separator: ", "))")
        throw JobHookError("there is no event \"\(name)\" for a hook\(hint)")
      }
      events.insert(event)
    }
    let words = halves[1].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard JobRequest.isName(words[0]) else {
      throw JobHookError("a hook needs exec:COMMAND or the kind of a plugin, not \"\(halves[1])\"")
    }
    let isExec = words[0] == "exec"
    guard isExec == (words.count == 2), words.last?.isEmpty == false, !text.contains(where: \.isNewline) else {
      throw JobHookError(
        isExec
          ? "a hook of the kind exec names a command of exec.json: \(halves[0])=exec:COMMAND"
          : "only exec has commands: the hook is \(halves[0])=\(words[0]), or \(halves[0])=exec:COMMAND")
    }
    self.events = events
    kind = words[0]
    command = isExec ? words[1] : nil
  }

  /// The text that is read back as this hook.
  public var text: String {
    let names = Event.allCases.filter(events.contains).map(\.rawValue).joined(separator: ",")
    return "\(names)=\(kind)\(command.map { ":\($0)" } ?? "")"
  }

  /// The request for a job that reports an event. Its parameters, of the kind `exec`:
  ///
  /// ```text
  /// {"command": "tell", "event": {"event": "dead", "time": "2026-01-01T00:00:00Z", "host": "a",
  ///  "job": "x-coredata://A/PoolJob/p17", "name": "p17", "kind": "import", "queue": "default", "batch": null,
  ///  "attempts": 20, "crashes": 0, "nextAttempt": null, "error": {"type": "HTTPError", "message": "503", …}}}
  /// ```
  ///
  /// - Parameter key: the name of the event: each hook reports it once.
  func request(_ event: JSONValue, key: String?, at now: Date) -> JobRequest {
    let members = (command.map { [JSONMember("command", .string($0))] } ?? []) + [JSONMember("event", event)]
    var request = JobRequest(
      kind: kind, parameters: JSONValue.object(members).text, priority: Self.priority, queue: Self.queue,
      // With a time, since after each failure the pool looks for jobs whose time has come.
      runAt: now + 0.001, uniqueKey: key.map(uniqueKey), maxAttempts: Self.maxAttempts, timeout: Self.timeout)
    request.options.uniqueFor = key == nil ? nil : Self.remembered
    request.options.backoff = 5
    request.options.maxBackoff = 3600
    return request
  }

  /// The unique key of the job that reports the event of that name.
  func uniqueKey(_ key: String) -> String { "\(key) \(kind) \(command ?? "")" }

  /// Seconds for which a hook's job reserves its unique key.
  static let remembered = 3600.0

  /// Hooks come before the backlog: people wait for the news.
  private static let priority: Int16 = 1000
}

/// Why a text is not a hook.
public struct JobHookError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, in one sentence.
  public let description: String

  init(_ description: String) { self.description = description }
}

extension JobStore {
  private static let hooksSetting = "hooks"

  /// Sets the hooks of the store's jobs, without saving. Returns whether the store had others. The pool does so when it
  /// starts, so those of the pool that was started last count for all.
  ///
  /// - Throws: what a fetch throws.
  @discardableResult
  public func setHooks(_ hooks: [JobHook], in context: NSManagedObjectContext) throws -> Bool {
    guard try Self.hooks(in: context) != hooks else { return false }
    try PoolSetting.set(Self.hooksSetting, hooks.map(\.text).joined(separator: "\n"), in: context)
    return true
  }

  /// Inserts the hooks of jobs that died in the last hour and have none yet, without saving. A worker in another
  /// language writes the failure without hooks, and the pool that would have added them may have been killed.
  ///
  /// The hooks' jobs reserve their unique keys for an hour, so a pool that starts twice inserts each once. Called when
  /// a pool starts.
  package func tellOfDeadJobs(at now: Date, in context: NSManagedObjectContext) throws {
    let hooks = try Self.hooks(in: context).filter { $0.events.contains(.dead) }
    guard !hooks.isEmpty else { return }
    let request = PoolJob.fetchRequest()
    request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [
      JobState.dead.predicate, NSPredicate(format: "queue != %@", JobHook.queue),
      // A minute less than the keys are reserved, so none of the keys has just become free.
      NSPredicate(format: "finishedAt > %@", (now - (JobHook.remembered - 60)) as NSDate),
    ])
    request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: false)]
    request.propertiesToFetch = PoolJob.shortAttributes + ["errors"]
    request.fetchLimit = Self.mostToldAtStart
    request.fetchBatchSize = 500
    let jobs = try context.fetch(request)
    for start in stride(from: 0, to: jobs.count, by: request.fetchBatchSize) {
      let keys = jobs[start..<min(start + request.fetchBatchSize, jobs.count)].map { job in
        (job, job.lastFailureName.map { name in hooks.map { $0.uniqueKey(name) } } ?? [])
      }
      defer { for (job, _) in keys { context.refresh(job, mergeChanges: false) } }
      let told = try PoolJob.takenKeys(among: keys.flatMap(\.1), in: context, at: now)
      for (job, keys) in keys where keys.contains(where: { !told.contains(ExactText($0)) }) {
        try job.tellOfFailure(at: now)
      }
    }
  }

  /// Jobs that a pool looks at when it starts, the newest.
  private static let mostToldAtStart = 10_000

  /// The hooks of the store's jobs, as the last pool with other ones has set them: a worker has no command line of its
  /// own, and finds them here.
  static func hooks(in context: NSManagedObjectContext) throws -> [JobHook] {
    let lines = try PoolSetting.find(hooksSetting, in: context)?.value?.split(separator: "\n") ?? []
    // A later version may have written events that this one does not know.
    return lines.compactMap { try? JobHook(String($0)) }
  }

  /// Inserts the jobs that report an event, without saving. Returns whether there are any.
  ///
  /// - Parameters:
  ///   - details: further members of the event.
  ///   - key: the name of the event; nil where an equal event may follow at once.
  @discardableResult
  public static func tell(
    _ event: JobHook.Event, _ details: [JSONMember], key: String? = nil, at now: Date,
    in context: NSManagedObjectContext
  ) throws -> Bool {
    let hooks = try hooks(in: context).filter { $0.events.contains(event) }
    if hooks.isEmpty { return false }
    let members =
      [
        JSONMember("event", .string(event.rawValue)), JSONMember("time", .string(Timestamp.text(now))),
        JSONMember("host", .string(ProcessInfo.processInfo.hostName)),
      ] + details
    for hook in hooks { try PoolJob.submit(hook.request(.object(members), key: key, at: now), into: context, at: now) }
    return true
  }
}

extension PoolJob {
  /// Inserts the jobs that report the failure of the job's last attempt, without saving. A failure that was reported in
  /// the last hour is not reported again.
  package func tellOfFailure(at now: Date) throws {
    guard queue != JobHook.queue, state == .dead || state == .retryable, let key = lastFailureName,
      let context = managedObjectContext
    else { return }
    try JobStore.tell(
      state == .dead ? .dead : .failed,
      [
        JSONMember("job", .string(objectID.uriString)), JSONMember("name", .string(objectID.objectURI?.name ?? "")),
        JSONMember("kind", .string(kind)), JSONMember("queue", .string(queue)),
        JSONMember("batch", .optional(batch)), JSONMember("attempts", .number(attempt)),
        JSONMember("crashes", .number(crashes)), JSONMember("nextAttempt", .optional(runAt.map(Timestamp.text))),
        JSONMember("error", failures.last?.json ?? .null),
      ], key: key, at: now, in: context)
  }

  /// A name for the failure of the last attempt: job, attempt and millisecond, so that an attempt with the same number
  /// after a retry by hand has another name.
  fileprivate var lastFailureName: String? {
    // A worker in another language may leave no error, and a date of any size.
    let failure = failures.last
    guard let date = failure?.date ?? finishedAt else { return nil }
    let event: JobHook.Event = state == .dead ? .dead : .failed
    let moment = Int(exactly: (date.timeIntervalSinceReferenceDate * 1000).rounded(.down)) ?? 0
    return "hook \(event.rawValue) \(objectID.objectURI?.name ?? "") \(failure?.attempt ?? attemptNumber) \(moment)"
  }
}
