import Foundation
import LinuxSystem
import WorkerProtocol

/// Runs the jobs in hand, one after the other or a few short ones in one transaction, on the jobs' thread.
///
/// `@unchecked Sendable`: handed to the jobs' thread once, and used there only.
final class JobRunner: @unchecked Sendable {
  let store: JobStore
  let connection: WorkerConnection
  private let workers: [String: any Worker.Type]
  private let mayGroup: Bool
  /// Kinds of jobs whose changes are kept with their saves. Such jobs share no transactions.
  let keptKinds: Set<String>
  private var pace: JobPace
  /// Seconds in which the jobs that ended last ran themselves.
  private var work = 0.0

  init(workers: [any Worker.Type], store: JobStore, connection: WorkerConnection, keptKinds: Set<String>) {
    self.store = store
    self.connection = connection
    self.workers = Dictionary(workers.map { ($0.kind, $0) }, uniquingKeysWith: { first, _ in first })
    self.keptKinds = keptKinds
    mayGroup = workers.allSatisfy { $0.sharesTransactions && !keptKinds.contains($0.kind) }
    pace = JobPace(savesExclusively: !store.isShared)
  }

  /// Runs jobs until none will come any more.
  func run() {
    connection.noteJobsThread()
    FaultPoint.connected.pass()
    while connection.awaitJobs() {
      let limit = mayGroup ? pace.groupSize : 1
      // Only jobs that begin alone may have effects outside the store: those of a group are run again when one of them
      // fails.
      if limit == 1, !canBegin(asksForLock: asksForLock) { continue }
      guard let jobs = connection.begin(limit: limit) else { continue }
      FaultPoint.begun.pass()
      let start = Clock.now
      let isDone = jobs.count > 1 ? runGroup(jobs) : runAlone(jobs[0])
      guard isDone else { continue }
      FaultPoint.answered.pass()
      pace.note(jobs.count, seconds: Clock.now - start, work: work)
      connection.setCredit(pace.credit)
    }
  }

  /// Seconds from which a job asks first whether the store is locked. Short jobs would get in each other's way.
  private static let longJob = 0.1

  private var asksForLock: Bool { !mayGroup || (pace.average ?? .infinity) >= Self.longJob }

  // MARK: A group

  /// Runs several jobs in one context and saves them together. When anything is wrong with one of them nothing is
  /// saved, and all are begun again one by one; then it returns `false`.
  ///
  /// A job that takes longer than a few milliseconds ends the group. The jobs after it go back, with those that wait
  /// behind them, while it still runs: none of them waits for it, and none overtakes a better one.
  private func runGroup(_ uris: [ObjectURI]) -> Bool {
    var isCut = false
    let start = Clock.now
    let attempt = JobAttempt(self, context: store.makeContext(name: "jobs"))
    let isDone = attempt.context.performAndWait { () -> Bool in
      do {
        for job in try attempt.fetch(uris) {
          guard let worker = workers[job.kind], let uri = job.objectID.objectURI else { return false }
          isCut = !connection.beginNext(uri)
          if isCut { break }
          let before = attempt.work
          try attempt.run(job, worker)
          if JobPace.isLong(attempt.work - before) { connection.cutGroup() }
        }
        connection.endGroup()
        try attempt.save(uris)
        FaultPoint.committed.pass()
        return attempt.allSaved
      } catch {
        return false
      }
    }
    work = attempt.work
    if isDone {
      connection.end([(uris, .done)])
      if isCut { pace.noteLongGroup(of: attempt.finished.count, seconds: Clock.now - start, work: work) }
    } else {
      connection.endGroup()
      // What a job in the group saved itself is committed, with the jobs before it, and stays so.
      connection.end([(uris.filter { attempt.saved.contains($0) }, .done)])
      connection.ungroup()
      pace.groupFailed()
    }
    return isDone
  }

  // MARK: One job

  /// How often a job runs again at once after other processes have changed what it had read.
  private static let conflictRetries = 5

  /// Runs one attempt, which may take several turns. Returns true.
  func runAlone(_ uri: ObjectURI) -> Bool {
    var conflicts = 0
    while true {
      let startedAt = store.now
      let attempt = JobAttempt(self, context: store.makeContext(name: "job"))
      let outcome = attempt.context.performAndWait { () -> Result<Void, any Error> in
        Result {
          guard let job = try attempt.fetch([uri]).first else { return }
          guard let worker = workers[job.kind] else {
            throw PermanentFailure("the plugin has no worker for the kind \(job.kind)")
          }
          try attempt.run(job, worker)
          try attempt.save([uri])
          FaultPoint.committed.pass()
        }
      }
      work = attempt.work
      guard case .failure(let error) = outcome else {
        connection.end([([uri], .done)])
        return true
      }
      if let conflict = MergeFailure(error) {
        // Another process has written the job's row: the work here is rolled back.
        if conflict.objects.contains(uri) {
          connection.end([([uri], .done)])
          return true
        }
        conflicts += 1
        if conflicts <= Self.conflictRetries, connection.stopReason(uri) == nil { continue }
      }
      connection.end([([uri], noteFailure(of: uri, error, startedAt: startedAt))])
      return true
    }
  }

  /// The policy of a job: its kind's, with its own wishes.
  func retryPolicy(of job: Job) -> RetryPolicy {
    (workers[job.kind]?.retryPolicy ?? RetryPolicy()).applied(to: job)
  }

  func timeout(of job: Job) -> Double? { job.timeout ?? workers[job.kind]?.timeout }
}

/// A save that failed because rows had changed since they were read, or because another process had inserted an object
/// with the same unique values.
struct MergeFailure {
  let objects: [ObjectURI]

  init?(_ error: any Error) {
    let error = error as NSError
    let codes = [CocoaError.Code.managedObjectMerge, .managedObjectConstraintMerge].map(\.rawValue)
    guard error.domain == NSCocoaErrorDomain, codes.contains(error.code) else { return nil }
    let conflicts = error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict] ?? []
    objects = conflicts.compactMap(\.sourceObject.objectID.objectURI)
  }
}
