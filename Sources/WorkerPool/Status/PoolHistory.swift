import Foundation
import Jobs
import Synchronization
import WorkerProtocol

/// Remembers for a status how often jobs end, and which ended last.
///
/// Noting an ended job costs an addition and an element of a ring. All else is computed on request.
struct PoolHistory {
  /// Ended jobs whose rows tell how long jobs wait and run.
  static let sample = 250

  private(set) var done: RateMeter
  private(set) var failed: RateMeter
  private(set) var lastEnded: [JobKey] = []
  private var next = 0

  init(now: Double) {
    done = RateMeter(now: now)
    failed = RateMeter(now: now)
  }

  mutating func note(done jobs: [JobKey], now: Double) {
    done.add(jobs.count, now: now)
    guard let job = jobs.last else { return }
    if lastEnded.count < Self.sample { lastEnded.append(job) } else { lastEnded[next] = job }
    next = (next + 1) % Self.sample
  }

  mutating func noteFailure(now: Double) { failed.add(1, now: now) }

  mutating func rates(now: Double) -> [PoolStatus.Rate] {
    [1, 5, 15].map {
      PoolStatus.Rate(
        minutes: $0, done: done.perSecond(minutes: $0, now: now), failed: failed.perSecond(minutes: $0, now: now))
    }
  }
}

/// The last lines of the log that report a problem.
final class RecentProblems: Sendable {
  static let kept = 10
  private let problems = Mutex<[PoolStatus.Problem]>([])

  var all: [PoolStatus.Problem] { problems.withLock { $0 } }

  func note(_ record: LogRecord) {
    guard record.event.level != .info else { return }
    let problem = PoolStatus.Problem(
      time: Timestamp.text(Date(timeIntervalSinceReferenceDate: Date().timeIntervalSinceReferenceDate.rounded())),
      event: record.event.rawValue, text: record.text)
    problems.withLock { problems in
      problems.append(problem)
      if problems.count > Self.kept { problems.removeFirst() }
    }
  }
}
