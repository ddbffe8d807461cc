import Foundation
import LinuxSystem
import Synchronization
import WorkerProtocol

/// The work in one context: the jobs that run there, what was saved, and what other workers are told of it.
///
/// `@unchecked Sendable`: used on the jobs' thread only; notifications of the context's saves are posted there, too.
final class JobAttempt: @unchecked Sendable {
  let context: NSManagedObjectContext
  unowned let runner: JobRunner
  /// Jobs that have returned and are marked as succeeded, and those of them that a save has committed.
  private(set) var finished: [ObjectURI] = []
  private(set) var saved: Set<ObjectURI> = []
  private(set) var current: ObjectURI?
  /// Seconds for which the commit of what runs now is tried again.
  private var commitTimeout = 0.0
  private var jobs: [Job] = []
  /// Seconds in which the jobs ran themselves.
  private(set) var work = 0.0
  private var lastReport: ContinuousClock.Instant?
  private lazy var keptChanges = KeptChanges(self)

  init(_ runner: JobRunner, context: NSManagedObjectContext) {
    self.runner = runner
    self.context = context
    context.transactionAuthorPasses = true
    Self.attempts.withLock { $0[ObjectIdentifier(context)] = Unowned(attempt: self) }
    _ = Self.isObserving
  }

  deinit { Self.attempts.withLock { $0[ObjectIdentifier(context)] = nil } }

  private struct Unowned {
    unowned let attempt: JobAttempt
  }

  /// The attempts of this process by their contexts: one, but in tests.
  private static let attempts = Mutex<[ObjectIdentifier: Unowned]>([:])

  /// Observes the saves in all contexts, since an observer for each attempt would be made and removed with each job.
  private static let isObserving: Bool = {
    let center = NotificationCenter.default
    // Without an end: the attempts come and go.
    _ = center.addObserver(forName: .NSManagedObjectContextWillSave, object: nil, queue: nil) {
      running(in: $0.object as? NSManagedObjectContext)?.willSave()
    }
    _ = center.addObserver(forName: .NSManagedObjectContextDidSave, object: nil, queue: nil) {
      running(in: $0.object as? NSManagedObjectContext)?.didSave($0)
    }
    return true
  }()

  /// The attempt that a job runs in; `nil` for jobs that do not run.
  static func running(_ job: Job) -> JobAttempt? { running(in: job.managedObjectContext) }

  private static func running(in context: NSManagedObjectContext?) -> JobAttempt? {
    guard let context else { return nil }
    return attempts.withLock { $0[ObjectIdentifier(context)]?.attempt }
  }

  /// Those of the jobs that are still ready, in this order.
  func fetch(_ uris: [ObjectURI]) throws -> [Job] {
    let keys = uris.compactMap(runner.store.jobURIs.key)
    var readyJobs: [JobKey: Job] = [:]
    for job in try runner.store.wholeJobs(keys: keys, in: context) where job.state == .available {
      if let key = job.objectID.key { readyJobs[key] = job }
    }
    jobs = keys.compactMap { readyJobs[$0] }
    FaultPoint.rowRead.pass()
    return jobs
  }

  /// Runs one job, and marks it as succeeded for the save that follows.
  func run(_ job: Job, _ worker: any Worker.Type) throws {
    let uri = job.objectID.objectURI
    current = uri
    commitTimeout = worker.commitTimeout
    lastReport = nil
    let startedAt = runner.store.now
    if let timeout = job.timeout ?? worker.timeout, let uri { runner.connection.setDeadline(timeout, for: uri) }
    if let uri {
      context.transactionAuthor = JobAuthor.adding(uri.key, job.attemptNumber, to: context.transactionAuthor)
    }
    let start = Clock.now
    defer { work += Clock.now - start }
    try runner.connection.inPlugin { try worker.init().run(job, in: context) }
    // From here on a delay is not the job's fault, and must not cost an attempt.
    runner.connection.clearDeadline()
    FaultPoint.pluginReturned.pass()
    try job.markSucceeded(startedAt: startedAt, at: runner.store.now)
    if let uri { finished.append(uri) }
    current = nil
  }

  /// Whether every job that was run is committed: a job that calls `reset` or `rollback` undoes those before it.
  var allSaved: Bool { finished.allSatisfy { saved.contains($0) } }

  /// The job with this URI; nil when it is not there, or not any more.
  static func job(_ uri: ObjectURI, in context: NSManagedObjectContext) throws -> Job? {
    guard let id = context.persistentStoreCoordinator?.objectID(for: uri) else { return nil }
    let request = Job.fetchRequest()
    request.predicate = NSPredicate(format: "self == %@", id)
    return try context.fetch(request).first
  }

  // MARK: Saves

  /// Saves what the jobs have done; without jobs, a part of what the running one does.
  func save(_ jobs: [ObjectURI]? = nil) throws {
    try runner.commit(context, of: jobs ?? current.map { [$0] } ?? [], timeout: commitTimeout)
  }

  private func willSave() {
    JobMergePolicy.guardJobs(in: context)
    if let job = jobs.first, runner.keptKinds.contains(job.kind) { keptChanges.willSave(job) }
  }

  /// Notes which jobs the save committed, and tells the coordinator of the app's objects that it changed.
  private func didSave(_ notification: Notification) {
    if !runner.keptKinds.isEmpty { keptChanges.didSave() }
    var hasNewJobs = false
    for (change, key) in Self.changes {
      guard let objects = notification.userInfo?[key] as? Set<NSManagedObject> else { continue }
      var uris: [ObjectURI] = []
      for object in objects {
        if let job = object as? Job {
          if change == .inserted { hasNewJobs = true }
          if change == .updated, job.state == .succeeded, let uri = job.objectID.objectURI { saved.insert(uri) }
        } else if let uri = object.objectID.objectURI {
          uris.append(uri)
        }
      }
      if !uris.isEmpty { runner.connection.say(.saved(change, uris)) }
    }
    if hasNewJobs { runner.connection.say(.nudge) }
  }

  private static let changes: [(SavedChange, String)] = [
    (.inserted, NSInsertedObjectsKey), (.updated, NSUpdatedObjectsKey), (.deleted, NSDeletedObjectsKey),
  ]

  // MARK: The running job

  var stopReason: StopReason? { current.flatMap(runner.connection.stopReason) }

  /// Seconds between two reports of progress that are sent.
  private static let reportInterval = Duration.milliseconds(100)

  func report(done: Int64, total: Int64) {
    let now = ContinuousClock.now
    if let lastReport, now - lastReport < Self.reportInterval, done < total { return }
    lastReport = now
    guard let current else { return }
    let limit = Int64(ProtocolLimit.counter)
    // Counters of the protocol are small; what counts is their ratio.
    let scale = max(1, max(done, total) / limit + 1)
    runner.connection.say(.progress(current, done: Int(max(0, done) / scale), total: Int(max(0, total) / scale)))
  }
}
