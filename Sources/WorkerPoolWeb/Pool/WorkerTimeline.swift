import Foundation
import PoolClient

/// What workers ran, as far as it was seen: a job that is shorter than the time between two looks may be missing.
struct WorkerTimeline: Sendable {
  struct Span: Sendable {
    var worker: Int
    var job: String
    var start: Date
    var end: Date
    var isOpen: Bool
  }

  private(set) var spans: [Span] = []

  /// For how long spans are kept, in seconds.
  static let length = 900.0
  private static let most = 2000

  mutating func add(_ status: PoolStatus, at date: Date) {
    var running: [String: (worker: Int, busy: Double)] = [:]
    for worker in status.workers {
      for job in worker.running { running[job] = (worker.id, worker.busy ?? 0) }
    }
    for index in spans.indices where spans[index].isOpen {
      spans[index].end = date
      if running[spans[index].job]?.worker == spans[index].worker {
        running[spans[index].job] = nil
      } else {
        spans[index].isOpen = false
      }
    }
    for (job, run) in running {
      spans.append(Span(worker: run.worker, job: job, start: date - run.busy, end: date, isOpen: true))
    }
    spans.removeAll { $0.end < date - Self.length }
    if spans.count > Self.most { spans.removeFirst(spans.count - Self.most) }
  }
}
