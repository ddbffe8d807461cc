import Jobs

/// What keeps a ready job from being handed out, as the coordinator decides it, and who holds its place. A client gets
/// it by ``StatusRequest/Command/explain``.
///
/// ```swift
/// import PoolClient
///
/// let reply = try StatusClient(queue: "queue/").request(
///   StatusRequest(.explain, jobs: ["x-coredata://A/PoolJob/p17"]))
/// if let obstacle = reply.obstacle { print(obstacle.sentence.text(for: .plain)) }
/// ```
///
/// Of several obstacles, it is the first one in the order of the coordinator's rules; when that one is gone, another
/// may stand in the way. A job that runs, is finished, or waits for a time or for other jobs has none: ``JobWaits``
/// says what those wait for. `workerpool jobs show JOB` prints the sentence.
public struct JobObstacle: Codable, Equatable, Sendable {
  /// What stands in the way.
  public enum Reason: String, Codable, Sendable {
    /// The whole pool is paused: `workerpool resume --all`.
    case poolPaused
    /// The job's queue, `name`, is paused: `workerpool resume NAME`.
    case queuePaused
    /// The job's kind, `name`, is paused: `workerpool resume --kind NAME`.
    case kindPaused
    /// The pool ends, and hands out nothing more. The next pool runs the job.
    case stopping
    /// Processes that an earlier pool has left may run any job.
    case survivors
    /// No plugin of the pool runs the kind `name`.
    case noPlugin
    /// As many jobs of the kind `name` run as its `limit` lets.
    case kindLimit
    /// As many jobs of the kind `name` have begun as its `rate` lets; there is room after `seconds`.
    case rate
    /// As many jobs of the queue `name` run as its `limit` lets.
    case queueLimit
    /// As many jobs with the limit key `name` run as the job's `limit` lets.
    case keyLimit
    /// A limit or a rate over all pools that share the store keeps jobs of the kind `name` from being claimed.
    case sharedLimit
    /// The job may have killed a worker, and runs alone: it waits for a worker that is idle.
    case alone
    /// A worker holds the job, and has not begun it.
    case inHand
    /// Every worker that runs the kind `name` is busy; `ahead` says how many jobs go first.
    case workersBusy
    /// No worker process runs a plugin of the kind `name` now. The pool starts one when there is room for it.
    case noWorker
  }

  /// A worker with a job that holds a place.
  public struct Holder: Codable, Equatable, Sendable {
    /// The URI of the job that holds the place.
    public var job: String
    /// The number of the worker, as `workerpool workers` shows it.
    public var worker: Int
    /// The process ID of the worker; nil for one that is gone.
    public var pid: Int32?
    /// Seconds for which the job has been running; nil while the worker only holds it.
    public var busy: Double?

    package init(job: String, worker: Int, pid: Int32?, busy: Double? = nil) {
      self.job = job
      self.worker = worker
      self.pid = pid
      self.busy = busy
    }
  }

  /// What stands in the way.
  public var reason: Reason
  /// The name of the queue, of the kind or of the limit key, by the reason; nil where it names none.
  public var name: String?
  /// How many may run at a time; nil where the reason is no limit.
  public var limit: Int?
  /// The rate, such as `10 in 60 s`; nil where the reason is no rate.
  public var rate: String?
  /// Seconds until the rate has room.
  public var seconds: Double?
  /// Who holds the place: those that have held it for longest, five at most. Empty if no worker does.
  public var holders: [Holder] = []
  /// How many others hold it, too: those that are not named, and processes that an earlier pool has left.
  public var otherHolders: Int = 0
  /// Ready jobs of the kind that go first, of those that the pool knows; nil unless the workers are busy.
  public var ahead: Int?
  /// The share that the job's queue has of the workers, where queues have weights: `1 of 4`.
  public var weight: String?

  package init(_ reason: Reason, name: String? = nil, limit: Int? = nil) {
    self.reason = reason
    self.name = name
    self.limit = limit
  }

  /// The obstacle in a sentence for people, such as "it waits, because its queue is paused".
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let client = try StatusClient(queue: "queue/")
  /// for obstacle in try client.request(StatusRequest(.explain)).obstacles?.obstacles ?? [] {
  ///   print(obstacle.sentence.text(for: .plain))
  /// }
  /// ```
  public var sentence: Advice {
    let name = name ?? ""
    switch reason {
    case .poolPaused: return "it waits, because the whole pool is paused"
    case .queuePaused: return "it waits, because its queue is paused"
    case .kindPaused: return "it waits, because its kind is paused"
    case .stopping: return "it waits for the next pool, because this one ends"
    case .survivors:
      return "it waits, because processes that a killed pool has left may run any job; "
        + "`\(.workerpool("status"))` names them"
    case .noPlugin: return "it waits, because no plugin runs the kind \(name)"
    case .kindLimit: return "it waits, because the limit of the kind \(name) is \(most)\(held)"
    case .queueLimit: return "it waits, because the limit of the queue \(name) is \(most)\(held)"
    case .keyLimit: return "it waits, because the limit of the key \(name) is \(most)\(held)"
    case .rate:
      let room = seconds.map { "; the next may begin in \(StatusText.shortTime($0))" } ?? ""
      return "it waits, because the rate of the kind \(name) is \(rate ?? "used up")\(room)\(reserved)"
    case .sharedLimit:
      return "it waits, because the pools of the store have used up a limit or the rate of the kind \(name)"
    case .alone: return "it may have killed a worker, so it runs alone when a worker is idle\(held)"
    case .inHand: return "it begins after the jobs that its worker runs\(held)"
    case .workersBusy: return "it runs when a worker of the kind \(name) is free\(order)\(held)"
    case .noWorker: return "it runs when there is a worker process for the kind \(name)\(order)\(held)"
    }
  }

  /// The command that takes the obstacle away; nil where none does.
  ///
  /// Pauses have one. Against a limit, a rate or busy workers, a person changes the pool's options, adds workers, or
  /// waits: the sentence says who holds the places.
  public var remedy: AdvisedCommand? {
    switch reason {
    case .poolPaused: .resumeAll
    case .queuePaused: .resume(queue: name ?? "")
    case .kindPaused: .resume(kind: name ?? "")
    default: nil
    }
  }

  private var most: String { limit.map { $0 == 1 ? "one at a time" : "\($0) at a time" } ?? "reached" }

  private var order: String {
    var text = ""
    if let ahead, ahead > 0 { text = ", after \(Plural.text(ahead, "job")) before it" }
    if let weight { text += "; its queue has the weight \(weight)" }
    return text
  }

  private var held: String { holderNames.map { "; now \($0) \(isOneHolder ? "runs" : "run")" } ?? "" }

  /// Jobs that hold a place, since they may begin at any time.
  private var reserved: String {
    holderNames.map { "; \($0) \(isOneHolder ? "is" : "are") about to begin" } ?? ""
  }

  private var isOneHolder: Bool { holders.count + otherHolders == 1 }

  private var holderNames: String? {
    var names = holders.map { holder in
      let time = holder.busy.map { " for \(StatusText.duration($0))" } ?? ""
      return "\(ObjectURI(holder.job)?.name ?? holder.job) in worker \(holder.worker)\(time)"
    }
    if otherHolders > 0 { names.append("\(otherHolders) more") }
    guard let last = names.popLast() else { return nil }
    return names.isEmpty ? last : names.joined(separator: ", ") + " and " + last
  }
}
