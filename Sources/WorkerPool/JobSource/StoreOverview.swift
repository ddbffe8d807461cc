import CoreData
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

/// What a status shows of the store.
struct StoreOverview: Equatable, Sendable {
  /// Jobs by state; a job that runs is `running`, and not `available` as in its row.
  var jobs: [String: Int]?
  /// The largest groups of unfinished jobs, and by state how many jobs the others have.
  var backlog: [JobBacklog]?
  var backlogRest: [String: Int]?
  var times = JobTimes()
  /// Since when the job has been waiting that waits longest, by kind.
  var oldestWaiting: [String: Date] = [:]
  /// Jobs that wait for something that does not come by itself.
  var stuck: [StuckJobs] = []
  var rejectedFiles: Int?
  var wal = WALStatus()
  /// The pools that share the store; nil for a SQLite file.
  var members: [PoolMember]?
  /// The versions of workerpool that these pools are of, by their identities, as far as they tell.
  var versions: [Int64: String] = [:]
  /// The file systems without room.
  var fullDisks: [PoolStatus.FullDisk] = []

  /// The state that is shown for jobs that run; the store has none.
  static let running = JobText.runningName
  /// How many groups the backlog names.
  static let mostGroups = 100
}

extension StoreJobSource {
  func readOverview(
    at ended: [JobKey], running: [JobKey], completion: @escaping @Sendable (StoreOverview) -> Void
  ) {
    countingContext.perform { [self] in
      var overview = StoreOverview()
      // What cannot be read now is left out; the next status may have it.
      if let counted = try? overviews.find({ try count(running) }) {
        overview.jobs = counted.jobs
        overview.backlog = counted.backlog
        overview.backlogRest = counted.outsideBacklog
        overview.oldestWaiting = counted.oldestWaiting
        overview.stuck = counted.stuck
      }
      // The status is worth having without the parts that cannot be read, which are missing then.
      if let times = try? store.times(of: ended, in: countingContext) { overview.times = times }
      if store.isShared {
        overview.members = try? store.members(in: countingContext)
        for owner in (try? PoolOwner.all(in: countingContext)) ?? [] {
          if let member = owner.member { overview.versions[member] = owner.version }
        }
      }
      countingContext.reset()
      // Nil says that the directory cannot be read.
      overview.rejectedFiles = try? intake.rejected.count()
      overview.wal = walStatus
      overview.fullDisks = fullDisks
      completion(overview)
    }
  }

  /// Bytes with which neither a job file nor a transaction fits any more.
  private static let leastRoom = 1 << 20

  /// Of the file systems of the store and of the queue directory, those that have hardly any room; each is named once.
  /// Of a server's only its errors tell, and of a file's also those of a quota.
  private var fullDisks: [PoolStatus.FullDisk] {
    let store = StorePlace(store.url)
    var seen: Set<UInt64> = []
    let disks = ((store.isServer ? [] : [store.text]) + [layout.root]).compactMap { path -> PoolStatus.FullDisk? in
      var disk = statvfs()
      guard let device = FileID(path: path)?.device, seen.insert(device).inserted, statvfs(path, &disk) == 0 else {
        return nil
      }
      let free = Int(
        clamping: UInt64(disk.f_bavail).multipliedReportingOverflow(by: UInt64(disk.f_frsize)).partialValue)
      return free < Self.leastRoom ? PoolStatus.FullDisk(path: path, freeBytes: free) : nil
    }
    guard storeWatch.isDiskFull, !disks.contains(where: { $0.path == store.text }) else { return disks }
    return [PoolStatus.FullDisk(path: store.text, freeBytes: nil)] + disks
  }

  /// Counts all jobs in one generation of the store.
  private func count(_ running: [JobKey]) throws -> CountedJobs {
    let context = countingContext
    try context.setQueryGenerationFrom(.current)
    // The next count pins another generation, which ends this one at the latest.
    defer { try? context.setQueryGenerationFrom(nil) }
    var counted = CountedJobs(
      states: try store.counts(in: context),
      backlog: try store.backlog(limit: StoreOverview.mostGroups, in: context),
      running: try store.available(among: running, in: context))
    counted.oldestWaiting = try store.oldestWaiting(except: running, in: context)
    if counted.jobs[JobState.blocked.name, default: 0] > 0 { counted.stuck = try store.stuckJobs(in: context) }
    return counted
  }
}

/// The jobs of a store, counted at one moment.
struct CountedJobs: Equatable, Sendable {
  var jobs: [String: Int]
  var backlog: [JobBacklog]
  /// By state, how many unfinished jobs are in no group of the backlog; states without any are left out.
  var outsideBacklog: [String: Int]
  /// Since when the job has been waiting that waits longest, by kind.
  var oldestWaiting: [String: Date] = [:]
  /// Jobs that wait for something that does not come by itself.
  var stuck: [StuckJobs] = []

  /// - Parameters:
  ///   - states: the jobs by the state in their rows.
  ///   - backlog: the largest groups of unfinished ones, by the same states.
  ///   - running: the available jobs that run.
  init(states: [JobState: Int], backlog: [JobBacklog], running: [JobSummary]) {
    let available = JobState.available.name
    jobs = Dictionary(uniqueKeysWithValues: JobState.allCases.map { ($0.name, states[$0] ?? 0) })
    outsideBacklog = jobs.filter { JobState(name: $0.key)?.isUnfinished == true }
    for group in backlog { outsideBacklog[group.state, default: 0] -= group.count }
    self.backlog = backlog
    jobs[StoreOverview.running] = running.count
    jobs[available, default: 0] -= running.count
    for (group, members) in Dictionary(grouping: running, by: { [$0.kind, $0.queue] }) {
      let entry = JobBacklog(state: StoreOverview.running, kind: group[0], queue: group[1], count: members.count)
      let index = backlog.firstIndex { $0.state == available && $0.kind == entry.kind && $0.queue == entry.queue }
      if let index {
        self.backlog[index].count -= entry.count
      } else {
        outsideBacklog[available, default: 0] -= entry.count
      }
      self.backlog.append(entry)
    }
    self.backlog.removeAll { $0.count <= 0 }
    outsideBacklog = outsideBacklog.filter { $0.value > 0 }
  }
}

/// Uses counts again for a while: counting a store with very many jobs takes at most a tenth of the time, no matter how
/// many clients ask.
///
/// `@unchecked Sendable`: used on the queue of one context only.
final class OverviewCache: @unchecked Sendable {
  private var last: (jobs: CountedJobs, until: Double)?
  private let now: @Sendable () -> Double

  /// A count is used again for this many times as long as it took, and for this many seconds at most.
  static let share = 10.0
  static let longest = 30.0

  init(now: @escaping @Sendable () -> Double = { Clock.now }) { self.now = now }

  func find(_ count: () throws -> CountedJobs) rethrows -> CountedJobs {
    let start = now()
    if let last, start < last.until { return last.jobs }
    let jobs = try count()
    let end = now()
    last = (jobs, end + min(Self.longest, Self.share * (end - start)))
    return jobs
  }
}

extension PoolStatus.Spread {
  /// The percentiles of some times; `nil` for none.
  init?(_ times: [Double]) {
    guard !times.isEmpty else { return nil }
    let sorted = times.sorted()
    func at(_ share: Double) -> Double { sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))] }
    self.init(median: at(0.5), p90: at(0.9), p99: at(0.99), longest: sorted[sorted.count - 1])
  }
}
