import CoreData
import Foundation
import Jobs
import LinuxSystem
import WorkerProtocol

/// Follows jobs to their ends, even if the pool ends or is replaced meanwhile: the store says how they end, and the
/// pool only when to check. An end that it tells is on disk: a loss of power does not undo it.
///
/// ```swift
/// import PoolClient
///
/// if let key = ObjectURI(book.objectID.uriString)?.key {
///   let follower = try JobFollower(store: "app.sqlite", queue: "queue/", jobs: [key])
///   try follower.follow { end in
///     if case .finished(let job) = end { print(job.state.name, job.output ?? "") }
///   } checked: { failure in
///     if let failure { print("no pool reports ends: \(failure)") }
///   }
/// }
/// ```
///
/// It opens the store read-only, checks up to 1,000 jobs each second and more of them each ten, and at once when the
/// pool says that an attempt has ended. Use it from one thread, which `follow` blocks.
public final class JobFollower {
  /// How many of the jobs have ended, and how.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let follower = try JobFollower(store: "app.sqlite", queue: "queue/", jobs: [17, 18])
  /// try follower.follow(ended: { _ in }, checked: { _ in print(follower.tally.unfinished, "to go") })
  /// exit(follower.tally.failed == 0 ? 0 : 1)
  /// ```
  public struct Tally: Equatable, Sendable {
    /// How many of the jobs have ended well: their effects are in the store.
    public var succeeded = 0
    /// Dead, cancelled, or deleted before they were seen to end.
    public var failed = 0
    /// How many have not ended: they wait, run, or wait for their next attempt.
    public var unfinished = 0
  }

  /// How one job has ended, as ``follow(ended:checked:)`` tells it.
  public enum End {
    /// The job is finished, and its `state` says how. Use it in the call only, which is on the queue of its context.
    case finished(Job)
    /// The job is not in the store any more.
    case missing(ObjectURI)
  }

  /// A job whose last attempt has failed, and that is tried again.
  public struct Retry: Equatable, Sendable {
    /// The URI of the job that is tried again.
    public let job: ObjectURI
    /// How many attempts have failed or crashed.
    public let attempts: Int
    /// The error of the last one, as one line.
    public let error: String
    /// When the next attempt may begin.
    public let next: Date
  }

  /// Seconds between two checks of a few jobs, and of many; the pool reports ends earlier.
  private static let fewInterval = 1.0
  private static let manyInterval = 10.0
  private static let few = 1000
  /// Seconds from one check that found ends to the next: each waits for the disk.
  private static let checkPause = 0.1
  /// Messages of the pool that are read before the store is asked.
  private static let mostMessages = 1000

  /// The queue directory. A pool is looked for there again and again: it may start, end and be replaced meanwhile.
  private let queue: String
  private let reader: StoreReader
  /// The jobs whose end was not found yet. Each is removed once, so each end is told once.
  private var unfinished: Set<Int64>
  private var observer: StatusClient?
  /// Why no pool reports ends; nil while one does.
  private var failure: StatusClient.Failure?
  /// When the store was checked last.
  private var lastCheck = 0.0
  /// How many of the jobs have ended so far, and how.
  public private(set) var tally = Tally()
  /// Those of the jobs that wait for their next attempt, by key, as the last check has found them.
  public private(set) var retries: [Int64: Retry] = [:]

  /// Follows the jobs with these keys.
  ///
  /// - Parameters:
  ///   - store: the path of the store that holds the jobs.
  ///   - queue: the queue directory, on which a pool may run or not.
  ///   - keys: the numbers in the URIs of the jobs: 17 in `…/PoolJob/p17`.
  /// - Throws: ``StoreReaderError`` if there is no store or no pool has run on it, and an `NSError` of Core Data.
  public init(store: String, queue: String, jobs keys: [Int64]) throws {
    self.queue = queue
    reader = try StoreReader(poolStore: store)
    unfinished = Set(keys)
    tally.unfinished = unfinished.count
  }

  /// Waits until all jobs have ended, blocking the thread. A job that waits for its next attempt has not ended.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// struct GivenUp: Error {}
  ///
  /// let follower = try JobFollower(store: "app.sqlite", queue: "queue/", jobs: [17, 18])
  /// let end = Date() + 600
  /// try follower.follow { _ in
  /// } checked: { _ in
  ///   if Date() > end { throw GivenUp() }
  /// }
  /// print(follower.tally.succeeded, "of", 2)
  /// ```
  ///
  /// Giving up leaves the jobs as they are, and another follower can wait for them later.
  ///
  /// - Parameters:
  ///   - ended: called once for each job, on the queue of the job's context: take values from the job there.
  ///   - checked: called after each check, at least every ten seconds, with why no pool reports ends; nil while one
  ///     does. Throw here to give up.
  /// - Throws: what the two throw, and the store's errors.
  public func follow(ended: (End) throws -> Void, checked: (StatusClient.Failure?) throws -> Void) throws {
    var lastFullCheck = 0.0
    // Ends that the pool reports during a check are read after it.
    _ = observe()
    var candidates = unfinished
    while true {
      if !candidates.isEmpty {
        try check(candidates.sorted(), ended)
        lastCheck = Clock.now
        if candidates.count >= unfinished.count { lastFullCheck = lastCheck }
      }
      try checked(failure)
      if unfinished.isEmpty { return }
      candidates = waitForEnds()
      let interval = unfinished.count <= Self.few ? Self.fewInterval : Self.manyInterval
      if Clock.now - lastFullCheck >= interval {
        candidates = unfinished
        lastFullCheck = Clock.now
      }
    }
  }

  /// Asks the store for the ends of some jobs, and passes them on. A job that is not in the store was deleted, and
  /// counts as failed: how it ended is not known.
  private func check(_ keys: [Int64], _ body: (End) throws -> Void) throws {
    try reader.ends(of: keys) { key, job in
      guard unfinished.remove(key) != nil else { return }
      tally.unfinished -= 1
      if let job, job.state == .succeeded { tally.succeeded += 1 } else { tally.failed += 1 }
      try body(job.map(End.finished) ?? .missing(reader.jobURIs[key]))
    }
    for key in keys { retries[key] = nil }
    for (key, retry) in try reader.retries(of: keys) { retries[key] = retry }
  }

  /// Waits for a second at most; returns the jobs for which the pool reports the end of an attempt.
  ///
  /// ```text
  /// this program                        pool                               store
  /// observe                        ──▶
  ///                                ◀──  {"ended": [p17, …]}
  /// (0.1 s, for more of them)
  /// SELECT … p17, p18                                                 ──▶  dead, succeeded
  /// ```
  ///
  /// A report only says when to look: the row says how the job ended, or whether it is tried again.
  private func waitForEnds() -> Set<Int64> {
    guard observe() else {
      Thread.sleep(forTimeInterval: Self.fewInterval)
      return observe() ? unfinished : []
    }
    var ended: Set<Int64> = []
    // Messages about what jobs save may come without a pause, and end none of them.
    let end = Clock.now + Self.fewInterval
    for _ in 0..<Self.mostMessages {
      do throws(StatusClient.Failure) {
        let timeout = max(0, (ended.isEmpty ? end : lastCheck + Self.checkPause) - Clock.now)
        guard let reply = try observer?.next(within: timeout) else { break }
        for uri in reply.ended ?? [] {
          if let key = reader.jobURIs.key(uri), unfinished.contains(key) { ended.insert(key) }
        }
      } catch {
        // The pool is gone. The store has the ends that it did not report.
        observer = nil
        failure = error
        return unfinished
      }
      if Clock.now >= end { break }
    }
    return ended
  }

  /// Whether a pool reports ends. Connects if there is no connection; keeps a failure for the caller's `checked`.
  private func observe() -> Bool {
    if observer != nil { return true }
    do throws(StatusClient.Failure) {
      let client = try StatusClient(queue: queue)
      let reply = try client.request(StatusRequest(.observe), within: Self.answerTimeout)
      guard reply.ok else { throw .noReply(reply.error ?? "it refuses to report ends") }
      observer = client
      failure = nil
    } catch {
      failure = error
    }
    return observer != nil
  }

  /// Seconds that a pool gets to answer: one that shares its store asks the other pools first.
  private static let answerTimeout = 5.0
}

extension StoreReader {
  /// Calls `body` with each of these jobs that is finished, and with nil for each that is not there.
  ///
  /// It reads 500 jobs at a time, in two fetches: the keys of the unfinished ones, which are usually the most, and then
  /// the values of the others.
  func ends(of keys: [Int64], body: (Int64, Job?) throws -> Void) throws {
    var remainingKeys = keys[...]
    while !remainingKeys.isEmpty {
      let group = Array(remainingKeys.prefix(500))
      remainingKeys = remainingKeys.dropFirst(500)
      try perform { context, id in
        let unfinished = Set(try context.fetch(Self.unfinished(group.compactMap(id))).compactMap(\.key))
        let others = group.filter { !unfinished.contains($0) }
        guard !others.isEmpty else { return }
        let request = Job.fetchRequest()
        request.predicate = NSPredicate(format: "self IN %@", others.compactMap(id))
        request.returnsObjectsAsFaults = false
        let jobs = Dictionary(
          try context.fetch(request).map { ($0.objectID.key ?? 0, $0) }, uniquingKeysWith: { first, _ in first })
        // Who hears of an end acts on it, where no loss of power can undo that.
        try synchronizeCommits()
        for key in others {
          guard let job = jobs[key] else { try body(key, nil); continue }
          // A person may have retried it between the two fetches.
          if !job.state.isUnfinished { try body(key, job) }
        }
      }
    }
  }

  /// Those of the jobs that wait for their next attempt.
  fileprivate func retries(of keys: [Int64]) throws -> [(Int64, JobFollower.Retry)] {
    var retries: [(Int64, JobFollower.Retry)] = []
    for start in stride(from: 0, to: keys.count, by: 500) {
      try perform { context, id in
        let request = Job.fetchRequest()
        request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [
          NSPredicate(format: "self IN %@", keys[start..<min(start + 500, keys.count)].compactMap(id)),
          JobState.retryable.predicate,
        ])
        request.returnsObjectsAsFaults = false
        for job in try context.fetch(request) {
          guard let key = job.objectID.key, let next = job.runAt else { continue }
          let error = job.failures.last.map { "\($0.type): \($0.message)" } ?? ""
          let attempts = job.attemptNumber - 1
          retries.append((key, .init(job: jobURIs[key], attempts: attempts, error: error, next: next)))
        }
      }
    }
    return retries
  }

  private static func unfinished(_ ids: [NSManagedObjectID]) -> NSFetchRequest<NSManagedObjectID> {
    let request = NSFetchRequest<NSManagedObjectID>(entityName: Job.entityName)
    request.resultType = .managedObjectIDResultType
    request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [
      NSPredicate(format: "self IN %@", ids),
      NSPredicate(
        format: "state IN %@", JobState.allCases.filter(\.isUnfinished).map { NSNumber(value: $0.rawValue) }),
    ])
    return request
  }
}
