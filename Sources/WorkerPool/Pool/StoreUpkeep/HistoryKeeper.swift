import Foundation
import Jobs
import LinuxSystem
import PoolClient

/// Has the store note each minute how the pool stood and which jobs ended: the history that the pages show, which
/// outlives this process and the jobs.
///
/// Minutes in which nothing happens are noted together, some minutes later: a note costs a transaction, a checkpoint of
/// the log after it and a look at each worker's process, 20 wake-ups in all.
final class HistoryKeeper {
  private let core: PoolCore
  private let collector: StatusCollector
  private let commits: CommitWatch
  private var meter = ProcessorMeter(start: Clock.now)
  private var minutes = DeferredMinutes()

  init(_ core: PoolCore, _ collector: StatusCollector, _ commits: CommitWatch) {
    self.core = core
    self.collector = collector
    self.commits = commits
  }

  /// Notes at the end of each minute of the clock.
  func start() {
    minutes.begin(activity)
    schedule()
  }

  private func schedule() {
    let minute = JobStore.HistoryStep.minute
    let end = minute.start(of: Date()) + minute.rawValue
    // A moment later: rows may be seen a little after the time that stands in them.
    let seconds = max(1, end.timeIntervalSinceNow) + Self.settling
    core.loop.timers.after(seconds, leeway: IncomingFiles.leeway) { [weak self] in self?.note() }
  }

  /// Seconds after a minute's end at which its jobs are counted, at the earliest.
  private static let settling = 0.5

  private func note() {
    guard !core.isStopping else { return }
    schedule()
    if minutes.defersEnd(of: activity) { return }
    collector.collect { [weak self] status in
      guard let self, !core.isStopping else { return }
      meter.note(status, at: Clock.now)
      core.source.noteHistory(minutes.take(HistoryGauges(status, processors: meter.total)))
    }
  }

  /// Nil while a job is in hand, or where the pool does not notice what other processes write.
  private var activity: PoolActivity? {
    guard commits.isWatching, core.coordinator.hands.jobs.isEmpty else { return nil }
    return PoolActivity(counters: core.coordinator.statistics.counters, newestJob: commits.newestJob)
  }
}

/// What a pool has done. Two are equal if nothing has happened between them.
struct PoolActivity: Equatable {
  var counters = JobStatistics.Counters()
  /// The key of the newest job in the store.
  var newestJob: Int64 = 0
}

/// The minutes that an idle pool has not noted yet.
///
/// ```text
/// minute         1     2     3     4     5     6     7     8
/// jobs           -     -     -     -     -     -     5     -
/// noted at the                           ●           ●
/// end: minutes                          1–5         6, 7
/// ```
///
/// A pool that ends, or is killed, loses the gauges of the minutes since the last note. Jobs that ended in them are in
/// their rows.
struct DeferredMinutes {
  /// The most minutes that are noted together.
  static let mostTogether = 5
  private var count = 0
  private var lastActivity: PoolActivity?
  private var lastGauges: HistoryGauges?

  /// - Parameter activity: when the first minute begins; nil for one that is not idle.
  mutating func begin(_ activity: PoolActivity?) { lastActivity = activity }

  /// Whether the minute that ends now is left to a later note.
  ///
  /// - Parameter activity: at its end; nil for one that is not idle.
  mutating func defersEnd(of activity: PoolActivity?) -> Bool {
    defer { lastActivity = activity }
    guard let activity, activity == lastActivity, count < Self.mostTogether - 1 else { return false }
    count += 1
    return true
  }

  /// The gauges of the minutes that are noted now, the oldest first: those of the idle ones are as of the note before
  /// them, and without any as of this one.
  ///
  /// - Parameter gauges: of the minute that has ended now.
  mutating func take(_ gauges: HistoryGauges) -> [HistoryGauges] {
    var idle = lastGauges ?? gauges
    // Workers without jobs use no processor.
    idle.processors = 0
    defer { (count, lastGauges) = (0, gauges) }
    return Array(repeating: idle, count: count) + [gauges]
  }
}
