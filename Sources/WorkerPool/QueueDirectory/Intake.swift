import CoreData
import Jobs

/// Brings waiting job files into the store: many in one transaction, which is made durable, and only then are the files removed.
///
/// A crash at any point loses no job and doubles none: files stay until the commit is on disk, and the commit holds the files'
/// identities until the files are known to be gone. Jobs may start as soon as they are committed, before that is on disk: what
/// they write comes after it in the same log, so a loss of power never keeps the effect and loses the job.
///
/// `@unchecked Sendable`: the mutable state is only touched inside `perform` of `context`, a serial queue.
final class Intake: @unchecked Sendable {
  /// How many files go into one transaction at most, and with how many jobs no further file does: so that the first of many jobs
  /// starts soon, and memory is bounded. The jobs of one file stay together.
  static let filesPerTransaction = 1000
  static let jobsPerTransaction = 10_000
  /// How many rows of files that are gone are kept before they are deleted in one transaction.
  static let filesToForget = 10_000
  /// How long a file that nobody announced must have rested before it is read, in nanoseconds.
  static let restingTime: Int64 = 1_000_000_000

  /// Jobs that are taken in a second even where the machine is slow: what takes longer waits for something.
  static let slowestPace = 2000.0

  /// How many jobs a report tells one by one; more are found in the store.
  static let jobsToTell = 500

  private let directory: IncomingDirectory
  private let store: JobStore
  private let context: NSManagedObjectContext
  private let watch: StoreWatch
  /// Files whose jobs are in the store, but which are not yet gone from the directory.
  private var takenButThere: Set<FileIdentity> = []
  /// Objects of files that are gone; deleted in groups by `forgetTakenFiles()`.
  private var gone: [NSManagedObjectID] = []
  private var objectIDs: [FileIdentity: NSManagedObjectID] = [:]

  /// What one round brought.
  struct Report: Sendable {
    var files = 0
    var jobs = 0
    /// Those of the jobs that may run now, unless they are very many.
    var ready: [JobSummary] = []
    /// Whether some of the jobs wait for others.
    var someWait = false
    /// Names of bad files, each with the reason.
    var rejected: [(name: String, reason: String)] = []
    /// Files that must be looked at again: fresh ones, and ones that could not be read or removed.
    var postponed = 0
    /// What kept files from being taken or removed, through no fault of theirs.
    var failures: [String] = []
  }

  init(layout: QueueLayout, store: JobStore, watch: StoreWatch = StoreWatch()) throws {
    directory = try IncomingDirectory(layout: layout)
    self.store = store
    self.watch = watch
    context = store.makeContext(name: "queue directory")
  }

  /// Takes what an earlier process left half done: its taken files are not to be taken again. Called before anything else.
  func recover() throws {
    try context.performAndWait {
      for (identity, objectID) in try store.takenFiles(in: context) {
        takenButThere.insert(identity)
        objectIDs[identity] = objectID
      }
      context.reset()
    }
  }

  /// Takes the named files, which somebody announced as complete; calls back on a queue of its own after each transaction.
  func take(_ names: [String], report: @escaping @Sendable (Report) -> Void) {
    watch.expect()
    context.perform { [self] in
      defer { watch.finish() }
      var rest = names[...]
      while !rest.isEmpty { takeNow(from: &rest, minimumAge: 0, report: report) }
      if gone.count >= Self.filesToForget, let failure = forgetTakenFiles() { report(Report(failures: [failure])) }
    }
  }

  /// Takes every file that waits and has rested; calls back after each transaction, at least once. Called at the start and now
  /// and then.
  func takeAll(report: @escaping @Sendable (Report) -> Void) {
    watch.expect()
    context.perform { [self] in
      defer { watch.finish() }
      do {
        let (names, unusable) = try directory.names()
        var rest = names[...]
        if takenButThere.count > 0 { forgetVanished(besides: Set(rest)) }
        if !unusable.isEmpty { report(rejecting(unusable)) }
        repeat { takeNow(from: &rest, minimumAge: Self.restingTime, report: report) } while !rest.isEmpty
      } catch {
        report(Report(failures: ["\(error)"]))
      }
      if let failure = forgetTakenFiles() { report(Report(failures: [failure])) }
    }
  }
}

// MARK: - Inside the context's queue

extension Intake {
  /// Reads the first files, commits their jobs, reports, and only then waits for the disk and removes the files: a job need not
  /// wait for that. Takes out of `names` what was looked at.
  private func takeNow(from names: inout ArraySlice<String>, minimumAge: Int64, report: (Report) -> Void) {
    var outcome = Report()
    var taken: [FileIdentity] = []
    var leftOver: [FileIdentity] = []
    var requests: [[JobRequest]] = []
    var jobCount = 0
    // A file may be announced twice: renamed into the directory, and closed after that.
    var seen: Set<String> = []
    while seen.count < Self.filesPerTransaction, jobCount < Self.jobsPerTransaction, let name = names.popFirst() {
      guard IncomingDirectory.isJobFileName(name) && seen.insert(name).inserted else { continue }
      switch directory.read(name, minimumAge: minimumAge) {
      case .jobs(_, let identity) where takenButThere.contains(identity): leftOver.append(identity)
      case .jobs(let jobs, let identity):
        do {
          if let problem = try store.problem(with: jobs, in: context) {
            reject(name, problem, &outcome)
            continue
          }
        } catch {
          outcome.postponed += 1
          outcome.failures.append("\(name) cannot be checked: \(error)")
          continue
        }
        taken.append(identity)
        requests.append(jobs)
        jobCount += jobs.count
      case .bad(let reason): reject(name, reason, &outcome)
      case .fresh: outcome.postponed += 1
      case .gone: continue
      case .unreadable(let error):
        outcome.postponed += 1
        outcome.failures.append("\(error)")
      }
    }
    do {
      if !taken.isEmpty {
        try watch.during(size: Double(jobCount) / Self.slowestPace) { try insert(requests, of: taken, &outcome) }
      }
      outcome.files = taken.count
      leftOver += taken
    } catch {
      context.rollback()
      context.reset()
      outcome.postponed += taken.count
      outcome.failures.append("\(taken.count) job files cannot be taken into the store: \(error)")
    }
    report(outcome)
    remove(leftOver, report)
  }

  /// Commits the jobs of files, and notes those that may run now, if they are not too many to be told one by one.
  private func insert(_ requests: [[JobRequest]], of files: [FileIdentity], _ outcome: inout Report) throws {
    for attempt in 1... {
      // Labels belong to their file; files without any are looked up in one go.
      let isLabelled: ([JobRequest]) -> Bool = { $0.contains { $0.label != nil } }
      var jobs = try store.insert(requests.filter { !isLabelled($0) }.flatMap(\.self), into: context)
      for file in requests.filter(isLabelled) { jobs += try store.insert(file, into: context) }
      let rows = files.map { store.insertTakenFile($0, into: context) }
      do {
        try context.save()
      } catch let error as NSError
        where error.code == NSManagedObjectConstraintMergeError && attempt <= Self.constraintPatience
      {
        // A worker or an app has just taken one of the unique keys: now it can be seen.
        context.rollback()
        context.reset()
        continue
      }
      for (identity, row) in zip(files, rows) {
        takenButThere.insert(identity)
        objectIDs[identity] = row?.objectID
      }
      outcome.jobs = requests.reduce(0) { $0 + $1.count }
      outcome.someWait = jobs.contains { $0.state == .pending }
      if jobs.count <= Self.jobsToTell { outcome.ready = jobs.compactMap(JobSummary.init) }
      context.reset()
      return
    }
  }

  /// How often a transaction is tried again because another process was quicker with a unique key.
  private static let constraintPatience = 10

  /// Removes files whose jobs are in the store, as soon as the jobs are on disk; their rows go later.
  private func remove(_ files: [FileIdentity], _ report: (Report) -> Void) {
    guard !files.isEmpty else { return }
    var outcome = Report()
    do {
      try store.synchronize()
    } catch {
      outcome.postponed = files.count
      outcome.failures.append("\(files.count) job files stay where they are: \(error)")
      return report(outcome)
    }
    let failures = directory.remove(files.map(\.name))
    for (file, failure) in zip(files, failures) {
      guard let failure else {
        forget(file)
        continue
      }
      outcome.postponed += 1
      outcome.failures.append("\(failure)")
    }
    if outcome.postponed > 0 { report(outcome) }
  }

  private func forget(_ identity: FileIdentity) {
    takenButThere.remove(identity)
    if let objectID = objectIDs.removeValue(forKey: identity) { gone.append(objectID) }
  }

  private func forgetVanished(besides names: Set<String>) {
    for identity in takenButThere where !names.contains(identity.name) { forget(identity) }
  }

  /// Deletes the rows of files that are gone for good. Returns why it could not.
  private func forgetTakenFiles() -> String? {
    guard !gone.isEmpty else { return nil }
    do {
      // Otherwise a power failure could bring a file back whose row is gone already.
      try directory.synchronize()
      for objectID in gone { context.delete(context.object(with: objectID)) }
      try context.save()
      gone.removeAll()
      context.reset()
      return nil
    } catch {
      context.rollback()
      context.reset()
      return "taken files cannot be forgotten: \(error)"
    }
  }

  private func rejecting(_ files: [IncomingDirectory.Unusable]) -> Report {
    var report = Report()
    for file in files {
      do {
        report.rejected.append((try directory.reject(file), file.reason))
      } catch {
        report.postponed += 1
        report.failures.append("\(error)")
      }
    }
    return report
  }

  private func reject(_ name: String, _ reason: String, _ report: inout Report) {
    do {
      try directory.reject(name, reason: reason)
      report.rejected.append((name, reason))
    } catch {
      report.postponed += 1
      report.failures.append("\(error)")
    }
  }
}
