import CoreData
import Jobs

/// What the jobs of each queue and kind did in the last 30 minutes: how many ended in each minute, and since when the
/// oldest ready job waits.
///
/// `workerpool status` and the web pages show the same figures. They are read from the rows of the jobs, so they cover
/// all pools of the store and survive a restart. Deleted jobs are not counted.
package struct GroupActivity {
  /// The figures of one queue, of one kind, or of one kind in a queue.
  package struct Group {
    /// Jobs that succeeded and jobs that died in each minute, the oldest minute first.
    package var succeeded = [Int](repeating: 0, count: GroupActivity.minutes)
    package var dead = [Int](repeating: 0, count: GroupActivity.minutes)
    /// Jobs that succeeded per minute, on average over the last ``GroupActivity/rateMinutes``.
    package fileprivate(set) var rate = 0.0
    /// Since when the oldest ready job could have begun; nil if none waits.
    package var oldestWaits: Date?

    package init() {}

    /// Jobs that died in all minutes.
    package var deaths: Int { dead.reduce(0, +) }
  }

  /// How many minutes are counted, the current one included.
  package static let minutes = 30
  /// The minutes over which ``Group/rate`` is the average, the current one included.
  package static let rateMinutes = 5
  /// Seconds after its end from which a minute's counts are kept: a transaction may commit some seconds after the time
  /// that it has written into `finishedAt`.
  private static let settling = 15.0

  /// Succeeded jobs are counted only in this many of the last minutes, because there may be many.
  private let succeededMinutes: Int
  private var settledMinutes: [Date: [JobBacklog]] = [:]
  private var store: String?

  /// - Parameter succeededMinutes: how many of the last minutes count succeeded jobs. Default: all.
  package init(succeededMinutes: Int = GroupActivity.minutes) { self.succeededMinutes = succeededMinutes }

  /// The figures of each group by its name.
  ///
  /// - Parameters:
  ///   - backlog: the unfinished jobs.
  ///   - name: the group to which jobs belong: their queue, their kind, or both.
  ///   - now: the end of the last minute.
  package mutating func groups<Name: Hashable>(
    _ backlog: [JobBacklog], by name: (JobBacklog) -> Name, in reader: StoreReader, at now: Date = Date()
  ) throws -> [Name: Group] {
    if store != reader.jobURIs.store { settledMinutes = [:] }
    store = reader.jobURIs.store
    let last = JobStore.HistoryStep.minute.start(of: now)
    let starts = (0..<Self.minutes).map { last - Double(60 * (Self.minutes - 1 - $0)) }
    var groups: [Name: Group] = [:]
    try reader.perform { context, _ in
      for (index, start) in starts.enumerated() {
        let countsSuccesses = index >= Self.minutes - succeededMinutes
        for ended in try ends(start, now, countsSuccesses, in: context) {
          if ended.state == JobState.dead.name {
            groups[name(ended), default: Group()].dead[index] += ended.count
          } else {
            groups[name(ended), default: Group()].succeeded[index] += ended.count
          }
        }
      }
      let runs = Set(try reader.runs().keys)
      for waiting in backlog where waiting.state == JobState.available.name {
        let since = try JobStore.oldestWaiting(kind: waiting.kind, queue: waiting.queue, except: runs, in: context)
        guard let since else { continue }
        let known = groups[name(waiting)]?.oldestWaits
        groups[name(waiting), default: Group()].oldestWaits = min(known ?? since, since)
      }
    }
    let span = now.timeIntervalSince(starts[Self.minutes - Self.rateMinutes]) / 60
    for key in groups.keys {
      let count = groups[key]?.succeeded.suffix(Self.rateMinutes).reduce(0, +) ?? 0
      groups[key]?.rate = Double(count) / span
    }
    settledMinutes.keys.filter { $0 < starts[0] }.forEach { settledMinutes[$0] = nil }
    return groups
  }

  private mutating func ends(
    _ start: Date, _ now: Date, _ countsSuccesses: Bool, in context: NSManagedObjectContext
  ) throws -> [JobBacklog] {
    if let settled = settledMinutes[start] { return settled }
    let ends = try (countsSuccesses ? [JobState.succeeded, .dead] : [.dead]).flatMap {
      try JobStore.endedJobs($0, from: start, to: start + 60, in: context)
    }
    if start + 60 + Self.settling < now { settledMinutes[start] = ends }
    return ends
  }
}

extension PoolStatus {
  /// What the jobs of one kind in one queue did lately.
  ///
  /// `workerpool status` adds it from the store; a pool's own answer lacks it. The figures are read from the rows of
  /// jobs, so they cover all pools of the store, and jobs that were deleted meanwhile are not counted.
  public struct Activity: Codable, Equatable, Sendable {
    /// The queue.
    public var queue: String
    /// The kind.
    public var kind: String
    /// Seconds for which the oldest ready job has been waiting; nil if none waits.
    public var oldestWaiting: Double?
    /// Jobs that succeeded per minute, on average over the last five minutes.
    public var succeededPerMinute: Double
    /// Jobs that died in the last 30 minutes.
    public var died: Int

    package init(
      queue: String, kind: String, oldestWaiting: Double? = nil, succeededPerMinute: Double, died: Int
    ) {
      self.queue = queue
      self.kind = kind
      self.oldestWaiting = oldestWaiting
      self.succeededPerMinute = succeededPerMinute
      self.died = died
    }
  }

  /// Seconds that reading the activity may take. After that the status is shown without it.
  private static let longestActivity = 1.0

  /// Sets `activity`, unless the store cannot be read within a second.
  ///
  /// - Parameter activity: keep it from one call to the next: minutes that are over are not counted again.
  package mutating func addActivity(_ activity: inout GroupActivity, in reader: StoreReader, at now: Date = Date()) {
    var next = activity
    // The rest of the status is worth showing without it.
    let groups = try? reader.within(Self.longestActivity) {
      try next.groups(backlog ?? [], by: { [$0.queue, $0.kind] }, in: reader, at: now)
    }
    guard let groups else { return }
    activity = next
    let named = Set((backlog ?? []).map { [$0.queue, $0.kind] })
    let others = groups.keys.filter { !named.contains($0) }
      .sorted { (groups[$0]?.rate ?? 0, $1[0], $1[1]) > (groups[$1]?.rate ?? 0, $0[0], $0[1]) }
    self.activity = (named.filter { groups[$0] != nil } + others.prefix(Self.mostOthers)).map { name in
      let group = groups[name] ?? GroupActivity.Group()
      return Activity(
        queue: name[0], kind: name[1], oldestWaiting: group.oldestWaits.map { max(0, now.timeIntervalSince($0)) },
        succeededPerMinute: group.rate, died: group.deaths)
    }.sorted { ($0.queue, $0.kind) < ($1.queue, $1.kind) }
  }

  /// The most groups without unfinished jobs: those with the most successes are taken.
  private static let mostOthers = 50
}
