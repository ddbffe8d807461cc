import Foundation
import Jobs
import LinuxSystem
import PoolClient

/// Has the store note each minute how the pool stood and which jobs ended: the history that the pages show, which
/// outlives this process and the jobs.
final class HistoryKeeper {
  private let core: PoolCore
  private let collector: StatusCollector
  private var meter = ProcessorMeter(start: Clock.now)

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
      meter.note(status, at: Clock.now)
      core.source.noteHistory(HistoryGauges(status, processors: meter.total))
    }
    start()
  }
}
