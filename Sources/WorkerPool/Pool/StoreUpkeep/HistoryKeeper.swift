import Foundation
import Jobs
import PoolClient

/// Has the store note each minute how the pool stood and which jobs ended: the history that the pages show, which
/// outlives this process and the jobs.
final class HistoryKeeper {
  private let core: PoolCore
  private let collector: StatusCollector
  /// Processor time of each worker at the last note, by process ID.
  private var times: [Int32: Double] = [:]
  private var last = Date()

  init(_ core: PoolCore, _ collector: StatusCollector) {
    self.core = core
    self.collector = collector
  }

  /// Notes at the end of each minute of the clock.
  func start() {
    let minute = JobStore.HistoryStep.minute
    let end = minute.start(of: Date()) + minute.rawValue
    // A moment later: rows may be seen a little after the time that stands in them.
    core.loop.timers.after(max(1, end.timeIntervalSinceNow) + Self.settling) { [weak self] in self?.note() }
  }

  /// Seconds after a minute's end at which its jobs are counted.
  private static let settling = 0.5

  private func note() {
    guard !core.isStopping else { return }
    collector.collect { [weak self] status in
      guard let self, !core.isStopping else { return }
      core.source.noteHistory(gauges(status, at: Date()))
    }
    start()
  }

  private func gauges(_ status: PoolStatus, at now: Date) -> HistoryGauges {
    var gauges = HistoryGauges()
    let jobs = status.jobs ?? [:]
    gauges.waiting = Double(jobs[JobState.available.name] ?? 0)
    gauges.running = Double(jobs[StoreOverview.running] ?? 0)
    gauges.later = [JobState.scheduled, .retryable, .blocked].reduce(0) { $0 + Double(jobs[$1.name] ?? 0) }
    var used = 0.0
    var times: [Int32: Double] = [:]
    for worker in status.workers {
      gauges.memory += Double(worker.memory ?? 0)
      guard let time = worker.processorTime, let pid = worker.pid else { continue }
      times[pid] = time
      // A worker that is new has used its time since the last note.
      used += max(0, time - (self.times[pid] ?? 0))
    }
    let seconds = now.timeIntervalSince(last)
    if seconds > 1 { gauges.processors = used / seconds }
    self.times = times
    last = now
    return gauges
  }
}
