import CoreData
import Jobs
import PoolClient

/// The jobs in the pool's store, as the pages read them: bounded pieces, as values.
final class JobReader {
  /// The path of the store.
  let path: String
  let reader: StoreReader

  init(path: String) throws {
    self.path = path
    reader = try StoreReader(poolStore: path)
    reader.keepsSecrets = true
  }

  /// A job as a line of a list.
  struct Row: Sendable {
    var key: Int64
    var kind: String
    var queue: String
    /// The name of a state; `running` for a job that runs.
    var state: String
    var attempts: Int
    var crashes: Int
    var createdAt: Date
    var startedAt: Date?
    var finishedAt: Date?
    var runAt: Date?
    var progress: (done: Int64, total: Int64)?
    var error: String?
    /// Why it waits; nil for a job that does not.
    var waits: String?
    /// The beginning of the parameters, as people are shown them; nil for none.
    var parameters: String?
    var tags: [String] = []
  }

  /// A part of a list.
  struct Page: Sendable {
    var rows: [Row] = []
    /// The list as it goes on; nil at its end.
    var next: JobList?
    /// How many jobs fit; ``countedAtMost`` stands for that many or more.
    var count = 0
  }

  /// Jobs of one page.
  static let pageSize = 50
  /// Jobs are counted no further.
  static let countedAtMost = 10_000

  /// The jobs of a page.
  func page(_ list: JobList) throws -> Page {
    if list.filter.error != nil { return try pageOfError(list) }
    var page = Page()
    let filter = try bounded(list.filter, isSorted: !list.hasIndex)
    try within(Self.longest) {
      try reader.perform { context, objectID in
        let runs = try reader.runs()
        let condition = try reader.condition(filter, runs)
        let request = Job.fetchRequest()
        request.predicate = Self.and(
          condition, list.before.flatMap(objectID).map { NSPredicate(format: "self < %@", $0) })
        request.sortDescriptors = list.order.descriptors
        request.fetchLimit = Self.pageSize + 1
        request.fetchOffset = list.skipped
        request.propertiesToFetch = Self.shownAttributes
        let jobs = try context.fetch(request)
        page.rows = jobs.prefix(Self.pageSize).map { row($0, runs[$0.objectID.key ?? 0]) }
        page.next = Self.next(of: list, after: page.rows, ifThereAreMore: jobs.count > Self.pageSize)
        if list.isFirstPage, page.next == nil {
          page.count = page.rows.count
          return
        }
        let counted = Job.fetchRequest()
        counted.predicate = condition
        counted.fetchLimit = Self.countedAtMost
        page.count = try context.count(for: counted)
      }
    }
    return page
  }

  private static let shownAttributes = Job.shortAttributes + ["errors", "parameters"]

  private static func next(of list: JobList, after rows: [Row], ifThereAreMore isPart: Bool) -> JobList? {
    guard isPart else { return nil }
    var next = list
    if list.order == .newest { next.before = rows.last?.key } else { next.skipped += rows.count }
    return next
  }

  /// The jobs that fit a filter by an error, of which no statement knows.
  private func pageOfError(_ list: JobList) throws -> Page {
    var page = Page()
    let filter = try bounded(list.filter)
    try within(Self.longest) {
      let newest = try list.before.map { $0 - 1 } ?? reader.newestKey()
      let keys = try reader.keys(filter, upTo: newest, limit: Self.pageSize + 1)
      try reader.perform { context, objectID in
        let runs = try reader.runs()
        let request = Job.fetchRequest()
        request.predicate = NSPredicate(format: "self IN %@", keys.prefix(Self.pageSize).compactMap(objectID))
        request.sortDescriptors = list.order.descriptors
        request.propertiesToFetch = Self.shownAttributes
        page.rows = try context.fetch(request).map { row($0, runs[$0.objectID.key ?? 0]) }
      }
      page.next = Self.next(of: list, after: page.rows, ifThereAreMore: keys.count > Self.pageSize)
      page.count =
        list.isFirstPage && page.next == nil
        ? keys.count : try reader.keys(filter, upTo: try reader.newestKey(), limit: Self.countedAtMost).count
    }
    return page
  }

  /// The failed jobs in groups.
  func failures() throws -> FailureGroups { try within(Self.longest) { try reader.failures() } }

  /// Calls `body` with a job and who runs it; false when there is none.
  func job(_ key: Int64, body: (Job, JobRun?) throws -> Void) throws -> Bool {
    try reader.job(reader.jobURIs[key].description, body: body)
  }

  /// How many of the jobs that fit can be changed so, by their state; states without jobs are left out.
  func counts(_ filter: JobFilter, for change: JobChange) throws -> [(state: JobState, count: Int)] {
    let filter = change.narrowed(try bounded(filter))
    return try within(Self.longest) { try reader.counts(filter) }
  }

  /// The filter, which searches a text in the newest jobs only: it has no index. Neither have most orders.
  func bounded(_ filter: JobFilter, isSorted: Bool = false) throws -> JobFilter {
    guard filter.search != nil || isSorted else { return filter }
    var filter = filter
    filter.after = max(0, try reader.newestKey() - Self.searched)
    return filter
  }

  /// Runs `body`, and ends its statements when they take too long.
  ///
  /// - Throws: ``PageError/tooLong(_:)``, and what `body` throws.
  func within<Result>(_ seconds: Double, _ body: () throws -> Result) throws -> Result {
    do { return try reader.within(seconds, body) } catch is TimeLimit.Exceeded { throw PageError.tooLong(seconds) }
  }

  /// Seconds that a page's statements get.
  static let longest = 10.0
  /// Seconds to find the next jobs of a change.
  static let longestChange = 60.0

  /// Characters of a job's parameters that are shown in a list.
  private static let shownParameters = 120

  /// Jobs that are searched for a text, or sorted without an index: the newest.
  static let searched = JobFilter.searched

  /// The kinds of some jobs, by key.
  func kinds(of keys: [Int64]) throws -> [Int64: String] {
    var kinds: [Int64: String] = [:]
    try reader.perform { context, objectID in
      let request = Job.fetchRequest()
      request.predicate = NSPredicate(format: "self IN %@", keys.compactMap(objectID))
      request.propertiesToFetch = ["kind"]
      for job in try context.fetch(request) { kinds[job.objectID.key ?? 0] = job.kind }
    }
    return kinds
  }

  private static func and(_ one: NSPredicate?, _ other: NSPredicate?) -> NSPredicate? {
    let parts = [one, other].compactMap(\.self)
    return parts.isEmpty ? nil : NSCompoundPredicate(andPredicateWithSubpredicates: parts)
  }

  private func row(_ job: Job, _ run: JobRun?) -> Row {
    let failure = job.state == .succeeded ? nil : job.failures.last
    return Row(
      key: job.objectID.key ?? 0, kind: job.kind, queue: job.queue, state: JobText.state(job, run),
      attempts: job.attempt, crashes: job.crashes, createdAt: job.createdAt, startedAt: run?.since ?? job.startedAt,
      finishedAt: job.finishedAt, runAt: job.runAt,
      progress: job.progressTotal > 0 ? (job.progressDone, job.progressTotal) : nil,
      error: failure.map { "\($0.type): \($0.message)" }, waits: reader.waits.text(job, run: run),
      parameters: job.shownParameters.map { String($0.prefix(Self.shownParameters)) }, tags: job.tags)
  }
}
