/// The processes that work for a pool, and those that an earlier one has left.
extension PoolStatus {
  /// A worker process of the pool, with what it holds and uses.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// if let status = try StatusClient(queue: "queue/").request(StatusRequest(.status)).status {
  ///   for worker in status.workers where (worker.busy ?? 0) > 600 {
  ///     print(worker.pid ?? 0, worker.plugin, worker.running, "for \(Int(worker.busy ?? 0)) s")
  ///   }
  /// }
  /// ```
  ///
  /// `holding` counts begun and waiting jobs; `running` lists only the begun ones, in most cases one. Memory and
  /// processor time are those of the process, without the programs that it has started.
  public struct Worker: Codable, Equatable, Sendable {
    /// The number of the worker, unique while the pool runs.
    public var id: Int
    /// The name of its plugin, without `worker-`.
    public var plugin: String
    /// Its process ID; nil while it is being started.
    public var pid: Int32?
    /// `starting`, `up`, `draining`, `terminating` or `killed`.
    public var phase: String
    /// Seconds since it was started.
    public var age: Double
    /// How many jobs it wants to hold: one or two for long jobs, up to hundreds for jobs of microseconds.
    public var credit: Int
    /// How many jobs it holds now, begun or not.
    public var holding: Int
    /// URIs of the jobs that it has begun.
    public var running: [String]
    /// How much of `progressTotal` the running job has done, as it counts; nil when it does not say.
    public var progressDone: Int?
    /// How much the running job has to do, as it counts; nil when it does not say.
    public var progressTotal: Int?
    /// Seconds for which the running job has been running.
    public var busy: Double?
    /// How many jobs the process has finished since it was started.
    public var jobsDone: Int
    /// Resident memory in bytes; nil where the kernel did not tell.
    public var memory: Int?
    /// Processor time in seconds since the process was started, of user and kernel; nil where the kernel did not tell.
    public var processorTime: Double?
    /// It will be replaced when its successor is up.
    public var isRetiring: Bool
    /// The path of the plugin's executable, as it was when the process was started.
    public var path: String
    /// The last lines of its standard error.
    public var lastLines: [String]
    /// Why its job waits to begin or to be saved: `locked`, `full` or `failing`; `nil` when none waits.
    public var waitsForStore: String?
    /// Whether a signal (SIGSTOP) or a debugger has stopped its process; nil where that is not known.
    public var isStopped: Bool?

    package init(
      id: Int, plugin: String, pid: Int32?, phase: String, age: Double, credit: Int, holding: Int, running: [String],
      progressDone: Int? = nil, progressTotal: Int? = nil, busy: Double? = nil, jobsDone: Int, memory: Int? = nil,
      processorTime: Double? = nil, isRetiring: Bool, path: String, lastLines: [String], waitsForStore: String? = nil
    ) {
      self.id = id
      self.plugin = plugin
      self.pid = pid
      self.phase = phase
      self.age = age
      self.credit = credit
      self.holding = holding
      self.running = running
      self.progressDone = progressDone
      self.progressTotal = progressTotal
      self.busy = busy
      self.jobsDone = jobsDone
      self.memory = memory
      self.processorTime = processorTime
      self.isRetiring = isRetiring
      self.path = path
      self.lastLines = lastLines
      self.waitsForStore = waitsForStore
    }
  }

  /// A worker that has outlived its pool.
  ///
  /// The pool that started it was killed. It goes on with its jobs, and saves them if it can. The new pool hands
  /// these jobs to no other worker while the process lives, so none of them runs twice at a time.
  public struct Survivor: Codable, Equatable, Sendable {
    /// The process ID of the worker.
    public var pid: Int32
    /// URIs of the jobs in its hand.
    public var jobs: [String]

    package init(pid: Int32, jobs: [String]) {
      self.pid = pid
      self.jobs = jobs
    }
  }
}

extension PoolStatus.Worker {
  /// By what the commands show the worker: its process ID, or its number while it has none.
  package var shownID: String { String(pid ?? Int32(clamping: id)) }
}
