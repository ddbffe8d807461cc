import CoreData
import Jobs
import PoolClient

/// How many jobs ended over a period, and how long they waited and ran: from the rows of finished jobs.
///
/// What lies in the past does not change, so each interval is read once and remembered, even when its jobs are deleted
/// later. Intervals begin at round times.
struct FinishedJobs {
  /// One interval of a period.
  struct Interval: Sendable {
    var start: Date
    /// Jobs by ``outcomes``.
    var counts: [Int]
    /// Seconds from arrival to start: the median, 95 % and 99 %.
    var waiting: [Double]?
    /// Seconds from start to end: the same.
    var running: [Double]?
  }

  static let outcomes: [JobState] = [.succeeded, .dead, .cancelled]
  static let shares = [0.5, 0.95, 0.99]
  /// Jobs of an interval whose times are looked at.
  static let sampled = 200

  private var known: [Step: [Date: Interval]] = [:]
  private var path: String?

  private typealias Step = Double

  /// The intervals of a grid, the oldest first.
  mutating func intervals(_ grid: TimeGrid, in jobReader: JobReader) throws -> [Interval] {
    if path != jobReader.path { known = [:] }
    path = jobReader.path
    let step = grid.step
    let starts = grid.times
    let now = Date()
    var intervals: [Interval] = []
    try jobReader.reader.perform { context, _ in
      for start in starts {
        if let interval = known[step]?[start] {
          intervals.append(interval)
          continue
        }
        let interval = try Self.interval(from: start, to: start + step, in: context)
        intervals.append(interval)
        // A job's row may be seen a little after the time that stands in it.
        if start + step + Self.settling < now { known[step, default: [:]][start] = interval }
      }
    }
    if let oldest = starts.first { known[step]?.keys.filter { $0 < oldest }.forEach { known[step]?[$0] = nil } }
    return intervals
  }

  /// Seconds after its end from which an interval does not change any more.
  private static let settling = 15.0

  private static func interval(from start: Date, to end: Date, in context: NSManagedObjectContext) throws -> Interval {
    var interval = Interval(start: start, counts: [])
    for state in outcomes {
      let request = Job.fetchRequest()
      request.predicate = condition(state, start, end)
      interval.counts.append(try context.count(for: request))
    }
    guard interval.counts[0] > 0 else { return interval }
    let request = NSFetchRequest<NSDictionary>(entityName: Job.entityName)
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["createdAt", "startedAt", "finishedAt", "attempt"]
    request.predicate = condition(.succeeded, start, end)
    request.fetchLimit = sampled
    var waiting: [Double] = []
    var running: [Double] = []
    for row in try context.fetch(request) {
      guard let created = row["createdAt"] as? Date, let started = row["startedAt"] as? Date,
        let finished = row["finishedAt"] as? Date
      else { continue }
      running.append(max(0, finished.timeIntervalSince(started)))
      if (row["attempt"] as? NSNumber)?.intValue ?? 0 <= 1 {
        waiting.append(max(0, started.timeIntervalSince(created)))
      }
    }
    interval.waiting = percentiles(waiting)
    interval.running = percentiles(running)
    return interval
  }

  private static func condition(_ state: JobState, _ start: Date, _ end: Date) -> NSPredicate {
    NSPredicate(
      format: "state == %d AND finishedAt != nil AND finishedAt >= %@ AND finishedAt < %@", Int(state.rawValue),
      start as NSDate, end as NSDate)
  }

  /// The nearest ranks of ``shares``; nil without values.
  static func percentiles(_ values: [Double]) -> [Double]? {
    guard !values.isEmpty else { return nil }
    let sorted = values.sorted()
    return shares.map { sorted[min(sorted.count - 1, Int((Double(sorted.count) * $0).rounded(.up)) - 1)] }
  }
}
