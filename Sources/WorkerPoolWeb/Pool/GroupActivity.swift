import CoreData
import Jobs
import PoolClient

/// What the jobs of each queue and kind did lately: how many ended in each minute, and how long the next one waits.
struct GroupActivity {
  /// What is known of one queue, or of one kind.
  struct Group {
    /// Jobs that ended in each minute, the oldest first: those that succeeded, and those that died.
    var succeeded = [Int](repeating: 0, count: GroupActivity.minutes)
    var dead = [Int](repeating: 0, count: GroupActivity.minutes)
    /// Since when the job has been waiting that is next, or the longest of these times where several kinds wait.
    var nextWaits: Date?

    /// Jobs that succeeded in a minute.
    var rate: Double { Double(succeeded.reduce(0, +)) / Double(GroupActivity.minutes) }
    /// Jobs that died.
    var deaths: Int { dead.reduce(0, +) }
  }

  /// The minutes that are looked at.
  static let minutes = 30
  /// Seconds after its end from which a minute does not change any more: a row may be seen later than it says.
  private static let settling = 15.0

  private var settledMinutes: [Date: [JobBacklog]] = [:]
  private var path: String?

  /// What is known of each group by its name.
  ///
  /// - Parameters:
  ///   - backlog: the unfinished jobs.
  ///   - name: the name of a group: that of its queue, or of its kind.
  ///   - now: the end of the minutes.
  mutating func groups(
    _ backlog: [JobBacklog], by name: (JobBacklog) -> String, in jobReader: JobReader, at now: Date = Date()
  ) throws -> [String: Group] {
    if path != jobReader.path { settledMinutes = [:] }
    path = jobReader.path
    let grid = TimeGrid(step: 60, count: Self.minutes, until: now)
    var groups: [String: Group] = [:]
    try jobReader.within(JobReader.longest) {
      try jobReader.reader.perform { context, _ in
        for (index, start) in grid.times.enumerated() {
          for ended in try ends(start, now, in: context) {
            var group = groups[name(ended)] ?? Group()
            if ended.state == JobState.dead.name {
              group.dead[index] += ended.count
            } else {
              group.succeeded[index] += ended.count
            }
            groups[name(ended)] = group
          }
        }
        let runs = Set(try jobReader.reader.runs().keys)
        for waiting in backlog where waiting.state == JobState.available.name {
          guard let date = try Self.nextWaits(waiting, except: runs, in: context) else { continue }
          let present = groups[name(waiting)]?.nextWaits
          groups[name(waiting), default: Group()].nextWaits = min(present ?? date, date)
        }
      }
    }
    settledMinutes.keys.filter { $0 < grid.times[0] }.forEach { settledMinutes[$0] = nil }
    return groups
  }

  private mutating func ends(
    _ start: Date, _ now: Date, in context: NSManagedObjectContext
  ) throws -> [JobBacklog] {
    if let settled = settledMinutes[start] { return settled }
    let ends = try [JobState.succeeded, .dead].flatMap {
      try JobStore.endedJobs($0, from: start, to: start + 60, in: context)
    }
    if start + 60 + Self.settling < now { settledMinutes[start] = ends }
    return ends
  }

  /// Since when the job of a queue and kind could have begun that is next, by the index of queues.
  private static func nextWaits(
    _ group: JobBacklog, except runs: Set<JobKey>, in context: NSManagedObjectContext
  ) throws -> Date? {
    let request = Job.fetchRequest()
    request.predicate = NSCompoundPredicate(
      andPredicateWithSubpredicates: [
        JobState.available.predicate, NSPredicate(format: "kind == %@ AND queue == %@", group.kind, group.queue),
      ])
    request.sortDescriptors = [
      NSSortDescriptor(key: "priority", ascending: false), NSSortDescriptor(key: "objectID", ascending: true),
    ]
    request.fetchLimit = runs.count + 1
    request.propertiesToFetch = ["createdAt", "runAt"]
    return try context.fetch(request).first { !runs.contains($0.objectID.key ?? 0) }?.couldBeginAt
  }
}
