import WorkerProtocol

/// The coordinator's way to the store. Every function returns at once; the work is done elsewhere and comes back as a
/// ``JobSourceEvent``.
protocol JobSource: AnyObject, Sendable {
  /// Puts things in order after an earlier process, and tells which jobs its workers still run.
  func start(reporting report: @escaping @Sendable (JobSourceEvent) -> Void)
  /// What the plugins say of their kinds: the defaults of their jobs.
  func setKinds(_ kinds: [PluginDescription.Kind])
  func fetchReady(kind: String, limit: Int, withoutQueues: Set<String>)
  func settle(_ jobs: [ObjectURI], _ settlement: Settlement)
  /// Makes jobs available whose time has come.
  func promoteDueJobs()
  func write(claims: [JobSourceClaim], endedClaims: [ObjectURI])
  func cancel(_ jobs: [ObjectURI], ticket: Int?)
  func retry(_ jobs: [ObjectURI], ticket: Int)
  func savePause(queues: Set<String>)
  func count(ticket: Int)
  /// Takes job files that were announced, or with `nil` all that wait.
  func takeFiles(_ names: [String]?)
  func checkpoint()
  /// Works out what the store tells those who look, with the times of these ended jobs; calls back on any thread.
  func look(at ended: [ObjectURI], completion: @escaping @Sendable (StoreOverview) -> Void)
  /// Finishes what is under way; `finished` is the last event.
  func finish()
}

/// A job that has been running for a while, and the process that runs it.
struct JobSourceClaim: Equatable, Sendable {
  let job: ObjectURI
  let pid: Int32
}

/// What came of a request to the store, or happened there.
enum JobSourceEvent: Equatable, Sendable {
  /// Ready; with the queues that were paused before, and jobs that processes of an earlier pool still run.
  case started(pausedQueues: Set<String>, elsewhere: [JobSourceClaim])
  case fetched(kind: String, [WindowJob], isComplete: Bool)
  case fetchFailed(kind: String, reason: String)
  case settled([ObjectURI], reason: String?)
  /// How many jobs became available, and in how many seconds the next will.
  case promoted(count: Int, next: Double?)
  /// Job files were taken: so many jobs are new, these of them may run now, and so many files must be looked at again.
  case took(jobs: Int, ready: [WindowJob], postponed: Int, messages: [LogRecord])
  case replied(ticket: Int, count: Int, error: String?)
  case counted(ticket: Int, jobs: [String: Int]?, walBytes: Int?)
  /// The answer to `look`.
  case looked(ticket: Int, StoreOverview)
  /// Something else went wrong, which a person should know.
  case trouble(String)
  case finished
}
