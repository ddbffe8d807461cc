import CoreData

extension JobStore {
  /// The result of checking the periodic entries.
  public struct PeriodicRound {
    /// The new jobs.
    public var jobs: [PoolJob] = []
    /// When the next job is due; nil without entries.
    public var next: Date?
    /// The last times of entries, by name, that lay in the future and were set to now.
    public var corrected: [String: Date] = [:]
  }

  /// Inserts the jobs of all entries whose time has come, without saving. The save that brings a job also notes its
  /// time as done, so that a crash neither loses nor doubles the job.
  ///
  /// ```text
  /// PoolPeriodic: name "nightly", definition "0 3 * * * UTC", last 2026-01-01 03:00
  /// called at 2026-01-02 03:00:00.4     one job, last = 2026-01-02 03:00
  /// killed before the save              nothing has happened: the next pool does the same
  /// killed after it                     the job is there, and its time is done
  /// two pools lead at once              both change `last`: the later save is a conflict
  /// ```
  ///
  /// An entry that is new, or whose times were changed, begins now. So does one whose last time is more than
  /// ``PeriodicEntry/tolerance`` ahead: the clock was wrong when the time was noted, and the entry would be silent
  /// until then. Marks of entries that are gone are deleted, except those of `names`, whose files cannot be read at the
  /// moment.
  public func insertPeriodic(
    _ entries: [PeriodicEntry], keeping names: Set<String> = [], at now: Date? = nil,
    into context: NSManagedObjectContext
  ) throws -> PeriodicRound {
    let now = now ?? self.now
    var marks = Dictionary(
      try context.fetch(PoolPeriodic.fetchRequest()).map { (ExactText($0.name), $0) },
      uniquingKeysWith: { first, _ in first })
    var round = PeriodicRound()
    var requests: [JobRequest] = []
    for entry in entries {
      let mark = marks.removeValue(forKey: ExactText(entry.name)) ?? newMark(entry, now, context)
      if mark.definition != entry.definition {
        mark.definition = entry.definition
        mark.last = now
      }
      if mark.last > now + PeriodicEntry.tolerance {
        round.corrected[entry.name] = mark.last
        mark.last = now
      }
      let due = entry.due(after: mark.last, at: now)
      requests += due.map { _ in entry.job }
      if let last = due.last {
        mark.last = last
      } else if entry.catchUp == .none, mark.last < now {
        skip(mark, entry, now)
      }
      if let next = entry.next(after: max(now, mark.last)) { round.next = min(round.next ?? next, next) }
    }
    for mark in marks.values where !names.contains(mark.name) { context.delete(mark) }
    round.jobs = try insert(requests, into: context, at: now)
    return round
  }

  /// The mark of a new entry. Its last time is now, which need not be one of its times.
  private func newMark(_ entry: PeriodicEntry, _ now: Date, _ context: NSManagedObjectContext) -> PoolPeriodic {
    let mark = PoolPeriodic(context: context)
    mark.name = entry.name
    mark.definition = entry.definition
    mark.last = now
    return mark
  }

  /// Notes skipped times as done, so that they are not computed again each time.
  private func skip(_ mark: PoolPeriodic, _ entry: PeriodicEntry, _ now: Date) {
    if let next = entry.next(after: mark.last), next < now - PeriodicEntry.tolerance {
      mark.last = now - PeriodicEntry.tolerance
    }
  }
}
