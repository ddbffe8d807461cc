import CoreData
import Jobs
import PoolClient

/// What a pool did over a period: how many jobs ended, how long they waited and ran, and how the pool stood.
///
/// Jobs are counted in the rows of finished jobs. Where rows have been deleted, and for what no row tells, the history
/// is used that the pool keeps in the store. What lies in the past does not change, so each interval is counted once
/// and remembered. Intervals begin at round times.
struct FinishedJobs {
  typealias Interval = HistoryInterval

  static let outcomes = HistoryInterval.outcomes
  static let sampled = HistoryInterval.sampled

  private var settledIntervals: [Double: [Date: Interval]] = [:]
  private var path: String?

  /// The intervals of a grid, the oldest first.
  mutating func intervals(_ grid: TimeGrid, in jobReader: JobReader) throws -> [Interval] {
    if path != jobReader.path { settledIntervals = [:] }
    path = jobReader.path
    let step = grid.step
    let starts = grid.times
    guard let oldest = starts.first else { return [] }
    let now = Date()
    var intervals: [Interval] = []
    try jobReader.reader.perform { context, _ in
      for start in starts {
        if let interval = settledIntervals[step]?[start] {
          intervals.append(interval)
          continue
        }
        let interval = try JobStore.finishedJobs(from: start, to: start + step, in: context)
        intervals.append(interval)
        // A job's row may be seen a little after the time that stands in it.
        if start + step + Self.settling < now { settledIntervals[step, default: [:]][start] = interval }
      }
      let kept = try Self.kept(grid, since: oldest, in: context)
      for index in intervals.indices { intervals[index].take(kept[starts[index]] ?? [], lasting: step) }
    }
    settledIntervals[step]?.keys.filter { $0 < oldest }.forEach { settledIntervals[step]?[$0] = nil }
    return intervals
  }

  /// Seconds after its end from which an interval does not change any more.
  private static let settling = 15.0

  /// What the pool has kept, by the interval of the grid in which it lies.
  private static func kept(
    _ grid: TimeGrid, since start: Date, in context: NSManagedObjectContext
  ) throws -> [Date: [Interval]] {
    var kept: [Interval] = []
    if grid.step >= JobStore.HistoryStep.halfHour.rawValue {
      kept = try JobStore.history(.halfHour, since: start, in: context)
    }
    // The latest half-hour is not over yet. Shorter intervals are made of minutes.
    let minutesStart = kept.last.map { $0.start + JobStore.HistoryStep.halfHour.rawValue } ?? start
    kept += try JobStore.history(.minute, since: minutesStart, in: context)
    let indexed = kept.map { (Int($0.start.timeIntervalSince(start) / grid.step), $0) }
    return Dictionary(grouping: indexed) { $0.0 }.reduce(into: [:]) { result, group in
      guard grid.times.indices.contains(group.key) else { return }
      result[grid.times[group.key]] = group.value.map(\.1)
    }
  }
}

extension HistoryInterval {
  /// Adds what the pool has kept of this time. Rows say more while they are there; the history remains without them.
  ///
  /// - Parameter length: the seconds of this interval. Of one that is shorter than a minute only rows tell: the jobs of
  ///   the whole minute are not its own.
  fileprivate mutating func take(_ parts: [HistoryInterval], lasting length: Double) {
    guard !parts.isEmpty else { return }
    let joined = HistoryInterval(start: start, joining: parts)
    gauges = joined.gauges
    guard length >= JobStore.HistoryStep.minute.rawValue, joined.total > total else { return }
    (counts, waiting, running) = (joined.counts, joined.waiting, joined.running)
  }
}
