import CoreData

/// The pool's history: bounded, in settings of the store, so that it outlives the pool's processes and the jobs. The
/// web page and `workerpool report` draw their plots from it.
///
/// Minutes are kept for at least six and a half hours, half-hours for at least eight days: fourteen settings of at most
/// thirty lines and nine of at most forty-eight, about 80 KiB in all. Each minute rewrites one or two of them.
///
/// ```text
/// setting               covers                            lines
/// history.60.0          the half-hour 0, 14, 28, …        30 minutes
/// history.60.13         the half-hour 13, 27, …           30 minutes
/// history.1800.0        the day 0, 9, 18, …               48 half-hours
/// ```
///
/// The number is that of the half-hour or day since 2001, modulo the number of settings: a setting is written over in
/// turn, and nothing has to be deleted. Lines of an earlier turn are told by their times.
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

    /// The beginning of the interval in which a time lies: of a minute, or of a half-hour, in UTC.
    ///
    /// ```swift
    /// print(JobStore.HistoryStep.halfHour.start(of: Date()))
    /// ```
    public func start(of date: Date) -> Date {
      Date(timeIntervalSinceReferenceDate: (date.timeIntervalSinceReferenceDate / rawValue).rounded(.down) * rawValue)
    }
  }

  /// Notes the minute before `now`, and the half-hour if that ends with it; without saving.
  ///
  /// An idle minute is not noted, so that an idle pool writes nothing.
  ///
  /// The save fails with a conflict when jobs of the minute are deleted meanwhile: roll back and call again.
  ///
  /// - Returns: whether anything was noted.
  /// - Throws: what a fetch throws.
  public func noteHistory(_ gauges: HistoryGauges, at now: Date, in context: NSManagedObjectContext) throws -> Bool {
    let end = HistoryStep.minute.start(of: now)
    let start = end - HistoryStep.minute.rawValue
    // Read before the jobs are counted: a deletion of one of them changes this row, so that no job counts twice.
    let chunk = try HistoryChunk(.minute, with: start, in: context)
    var minute = try Self.finishedJobs(from: start, to: end, in: context)
    if let deleted = chunk.interval, !deleted.isNoted {
      minute = HistoryInterval(start: start, joining: [deleted, minute])
    } else if let noted = chunk.interval, noted.total > minute.total {
      // Another pool led when the minute ended, and some of its jobs have been deleted since.
      return try joinHalfHours(before: end, in: context)
    }
    minute.gauges = gauges
    if !minute.isIdle { chunk.set(minute, in: context) }
    return try joinHalfHours(before: end, in: context) || !minute.isIdle
  }

  /// Counts jobs that are deleted in the minutes in which they ended, without saving, as far as these are not noted
  /// yet: their rows are gone when the minute ends, and nothing else tells of them.
  ///
  /// ```text
  /// deletion of old jobs                     the pool, at the end of the minute
  /// reads history.60.3, deletes p7, p8,
  /// adds "2 succeeded" to its minute
  /// save
  ///                                          reads history.60.3: 2 are noted already
  ///                                          counts the rows: 5 more
  ///                                          save: 7
  /// ```
  ///
  /// If both begin at once, the later save fails as a merge conflict of the setting's row, and begins again.
  ///
  /// - Parameter now: the time at which it was decided which jobs are deleted.
  func countInHistory(deleted jobs: [PoolJob], at now: Date, in context: NSManagedObjectContext) throws {
    let minute = HistoryStep.minute
    let current = minute.start(of: now)
    // The minute before may not be noted yet, and jobs may end while the deletion goes on. Of older ones, the setting
    // may have others in their place by now.
    let recent = (current - minute.rawValue)...(current + minute.rawValue)
    var minutes: [Date: [PoolJob]] = [:]
    for job in jobs where HistoryInterval.outcomes.contains(job.state) {
      guard let start = job.finishedAt.map(minute.start), recent.contains(start) else { continue }
      minutes[start, default: []].append(job)
    }
    for (start, jobs) in minutes.sorted(by: { $0.key < $1.key }) {
      let chunk = try HistoryChunk(minute, with: start, in: context)
      if chunk.interval?.isNoted == true { continue }
      let deleted = HistoryInterval(start: start, of: jobs)
      chunk.set(HistoryInterval(start: start, joining: [chunk.interval, deleted].compactMap(\.self)), in: context)
    }
  }

  /// The noted intervals that begin at this time or later, the oldest first. Minutes and half-hours in which nothing
  /// happened are missing.
  ///
  /// ```swift
  /// for minute in try JobStore.history(.minute, since: Date() - 3600, in: context) where minute.counts[1] > 0 {
  ///   print(minute.start, minute.counts[1], "jobs died")
  /// }
  /// ```
  ///
  /// - Throws: what a fetch throws.
  public static func history(
    _ step: HistoryStep, since start: Date, in context: NSManagedObjectContext
  ) throws -> [HistoryInterval] {
    let request = PoolSetting.fetchRequest()
    request.predicate = NSPredicate(format: "name BEGINSWITH %@", step.prefix)
    return try context.fetch(request).flatMap { HistoryChunk.intervals($0.value) }.filter { $0.start >= start }
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
      let interval = HistoryInterval(start: halfHour, joining: parts)
      try HistoryChunk(.halfHour, with: halfHour, in: context).set(interval, in: context)
      isNew = true
    }
    return isNew
  }

  /// The setting that has the line of an interval, with the lines beside it.
  ///
  /// It holds the row from the reading to the save, which so fails when another process has written the row since.
  private struct HistoryChunk {
    /// What is known of the interval so far; nil for nothing.
    let interval: HistoryInterval?
    private let name: String
    private let setting: PoolSetting?
    private let others: [HistoryInterval]

    init(_ step: HistoryStep, with start: Date, in context: NSManagedObjectContext) throws {
      name = step.name(start)
      setting = try PoolSetting.find(name, in: context)
      // A pass that goes on in its context may have read the row before the pool noted a minute.
      if let setting, !setting.hasChanges { context.refresh(setting, mergeChanges: false) }
      // What an earlier turn has left in this setting is forgotten.
      let intervals = Self.intervals(setting?.value).filter { step.chunkStart($0.start) == step.chunkStart(start) }
      interval = intervals.first { $0.start == start }
      others = intervals.filter { $0.start != start }
    }

    /// Writes the interval into the setting, without saving.
    func set(_ interval: HistoryInterval, in context: NSManagedObjectContext) {
      let setting = setting ?? PoolSetting(context: context)
      setting.name = name
      setting.value = (others + [interval]).sorted { $0.start < $1.start }.map(\.line).joined(separator: "\n")
    }

    static func intervals(_ text: String?) -> [HistoryInterval] {
      (text ?? "").split(separator: "\n").compactMap(HistoryInterval.init(line:))
    }
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
    var times = EndedJobTimes()
    for row in try context.fetch(request) {
      times.add(
        createdAt: row["createdAt"] as? Date, startedAt: row["startedAt"] as? Date,
        finishedAt: row["finishedAt"] as? Date, attempts: (row["attempt"] as? NSNumber)?.intValue ?? 0)
    }
    (interval.waiting, interval.running) = (times.waiting, times.running)
    return interval
  }

  /// How many jobs ended in that state between two times, by kind and queue.
  ///
  /// - Complexity: the rows of these jobs, which an index finds.
  package static func endedJobs(
    _ state: JobState, from start: Date, to end: Date, in context: NSManagedObjectContext
  ) throws -> [JobBacklog] {
    try context.fetch(PoolJob.counts(by: ["kind", "queue"], where: condition(state, start, end))).compactMap { row in
      guard let kind = row["kind"] as? String, let queue = row["queue"] as? String,
        let count = (row["count"] as? NSNumber)?.intValue
      else { return nil }
      return JobBacklog(state: state.name, kind: kind, queue: queue, count: count)
    }
  }

  /// A request for the jobs with failed attempts that are unfinished, or ended at a time or later.
  ///
  /// ```swift
  /// for job in try context.fetch(JobStore.failedJobs(since: Date() - 86_400)) {
  ///   print(job.kind, job.failures.last?.pattern ?? "")
  /// }
  /// ```
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
}
