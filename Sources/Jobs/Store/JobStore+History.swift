import CoreData

/// The pool's history: bounded, in settings of the store, so that it outlives the pool's processes and the jobs.
///
/// Minutes are kept for seven hours and half-hours for eight days: fourteen settings of at most thirty lines and
/// eight of at most forty-eight, about 80 KiB in all. Each minute rewrites one or two of them.
extension JobStore {
  /// Intervals of one length.
  public enum HistoryStep: Double, CaseIterable, Sendable {
    case minute = 60
    case halfHour = 1800

    /// Seconds that one setting covers.
    fileprivate var chunk: Double { self == .minute ? 1800 : 86_400 }
    /// Settings that are written in turn.
    fileprivate var chunks: Int { self == .minute ? 14 : 9 }
    fileprivate var prefix: String { "history.\(Int(rawValue))." }

    fileprivate func name(_ start: Date) -> String {
      prefix + String(Int((start.timeIntervalSinceReferenceDate / chunk).rounded(.down)) % chunks)
    }

    fileprivate func chunkStart(_ start: Date) -> Date {
      Date(timeIntervalSinceReferenceDate: (start.timeIntervalSinceReferenceDate / chunk).rounded(.down) * chunk)
    }

    /// The beginning of the interval in which a time lies.
    public func start(of date: Date) -> Date {
      Date(timeIntervalSinceReferenceDate: (date.timeIntervalSinceReferenceDate / rawValue).rounded(.down) * rawValue)
    }
  }

  /// Notes the minute before `now`, and the half-hour if that ends with it; without saving.
  ///
  /// An idle minute is not noted, so that an idle pool writes nothing.
  ///
  /// - Returns: whether anything was noted.
  /// - Throws: what a fetch throws.
  public func noteHistory(_ gauges: HistoryGauges, at now: Date, in context: NSManagedObjectContext) throws -> Bool {
    let start = HistoryStep.minute.start(of: now) - HistoryStep.minute.rawValue
    var minute = try Self.finishedJobs(from: start, to: start + HistoryStep.minute.rawValue, in: context)
    minute.gauges = gauges
    if !minute.isIdle { try append(minute, .minute, in: context) }
    return try joinHalfHours(before: start + HistoryStep.minute.rawValue, in: context) || !minute.isIdle
  }

  /// The noted intervals that begin at this time or later, the oldest first.
  ///
  /// - Throws: what a fetch throws.
  public static func history(
    _ step: HistoryStep, since start: Date, in context: NSManagedObjectContext
  ) throws -> [HistoryInterval] {
    let request = PoolSetting.fetchRequest()
    request.predicate = NSPredicate(format: "name BEGINSWITH %@", step.prefix)
    return try context.fetch(request).flatMap { lines($0.value) }.filter { $0.start >= start }
      .sorted { $0.start < $1.start }
  }

  /// Notes the half-hours that have ended and are not noted, for example because no pool ran at their ends.
  private func joinHalfHours(before end: Date, in context: NSManagedObjectContext) throws -> Bool {
    let length = HistoryStep.halfHour.rawValue
    let first = HistoryStep.halfHour.start(of: end) - Double(HistoryStep.minute.chunks - 1) * length
    let noted = Set(try Self.history(.halfHour, since: first, in: context).map(\.start))
    let minutes = try Self.history(.minute, since: first, in: context)
    var isNew = false
    for (halfHour, parts) in Dictionary(grouping: minutes, by: { HistoryStep.halfHour.start(of: $0.start) })
      .sorted(by: { $0.key < $1.key }) where halfHour + length <= end && !noted.contains(halfHour)
    {
      try append(HistoryInterval(start: halfHour, joining: parts), .halfHour, in: context)
      isNew = true
    }
    return isNew
  }

  private func append(_ interval: HistoryInterval, _ step: HistoryStep, in context: NSManagedObjectContext) throws {
    let name = step.name(interval.start)
    // What an earlier turn has left in this setting is forgotten.
    let kept = try Self.lines(PoolSetting.find(name, in: context)?.value)
      .filter { $0.start >= step.chunkStart(interval.start) && $0.start < interval.start }
    try PoolSetting.set(name, (kept + [interval]).map(\.line).joined(separator: "\n"), in: context)
  }

  private static func lines(_ text: String?) -> [HistoryInterval] {
    (text ?? "").split(separator: "\n").compactMap(HistoryInterval.init(line:))
  }

  // MARK: Jobs that ended

  /// How many jobs ended in an interval and how long they took, from their rows.
  ///
  /// - Complexity: a pass over the index of finished jobs, of that interval alone, and at most
  ///   ``HistoryInterval/sampled`` rows.
  /// - Throws: what a fetch throws.
  public static func finishedJobs(
    from start: Date, to end: Date, in context: NSManagedObjectContext
  ) throws -> HistoryInterval {
    var interval = HistoryInterval(start: start, counts: [])
    for state in HistoryInterval.outcomes {
      let request = PoolJob.fetchRequest()
      request.predicate = condition(state, start, end)
      interval.counts.append(try context.count(for: request))
    }
    guard interval.counts[0] > 0 else { return interval }
    let request = NSFetchRequest<NSDictionary>(entityName: PoolJob.entityName)
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["createdAt", "startedAt", "finishedAt", "attempt"]
    request.predicate = condition(.succeeded, start, end)
    request.fetchLimit = HistoryInterval.sampled
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

  /// A request for the jobs with failed attempts that are unfinished, or ended at a time or later.
  ///
  /// - Complexity: a pass over the index of jobs that failed, and the rows of those that it finds.
  public static func failedJobs(since start: Date) -> NSFetchRequest<PoolJob> {
    let request = PoolJob.fetchRequest()
    request.predicate = NSPredicate(
      format: "errors != nil AND (finishedAt == nil OR finishedAt >= %@)", start as NSDate)
    return request
  }

  private static func condition(_ state: JobState, _ start: Date, _ end: Date) -> NSPredicate {
    NSPredicate(
      format: "state == %d AND finishedAt != nil AND finishedAt >= %@ AND finishedAt < %@", Int(state.rawValue),
      start as NSDate, end as NSDate)
  }

  /// The nearest ranks of ``HistoryInterval/shares``; nil without values.
  static func percentiles(_ values: [Double]) -> [Double]? {
    guard !values.isEmpty else { return nil }
    let sorted = values.sorted()
    return HistoryInterval.shares.map {
      sorted[min(sorted.count - 1, Int((Double(sorted.count) * $0).rounded(.up)) - 1)]
    }
  }
}
