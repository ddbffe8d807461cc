import CoreData
import Jobs

/// How many jobs have a tag, by state.
///
/// ```swift
/// import PoolClient
///
/// for tag in try StoreReader(poolStore: "app.sqlite").tags(JobFilter()) {
///   print(tag.tag, tag.jobs, tag.states["dead"] ?? 0)
/// }
/// ```
public struct TagCounts: Hashable, Sendable {
  /// One of the jobs' ``JobOptions/tags``.
  public let tag: String
  /// The number of jobs by the name of their state; a job that runs is `running`. States without jobs are left out.
  public internal(set) var states: [String: Int]
  /// The number of jobs in all states.
  public var jobs: Int { states.values.reduce(0, +) }

  /// The counts as `workerpool jobs --group-by tag --json` shows them.
  public var json: JSONValue {
    .object([
      JSONMember("tag", .string(tag)), JSONMember("jobs", .number(jobs)),
      JSONMember(
        "states",
        .object(JobFilter.stateNames.compactMap { name in states[name].map { JSONMember(name, .number($0)) } })),
    ])
  }

  /// The counts as a table, with a column for each state that has jobs.
  public static func table(_ tags: [TagCounts]) -> TextTable {
    let states = JobFilter.stateNames.filter { name in tags.contains { $0.states[name] != nil } }
    var table = TextTable([.text("tag"), .number("jobs")] + states.map { .number($0, worth: 1) })
    for tag in tags { table.add([tag.tag, String(tag.jobs)] + states.map { String(tag.states[$0] ?? 0) }) }
    return table
  }
}

extension StoreReader {
  /// The tags of the jobs that fit, those with the most jobs first. A job with two tags counts for both.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// var filter = JobFilter()
  /// filter.state = .dead
  /// print(try StoreReader(poolStore: "app.sqlite").tags(filter).map(\.tag))
  /// ```
  ///
  /// - Complexity: looks at each job that the filter leaves, and reads those with tags, some hundred at a time.
  /// - Throws: what the fetch throws.
  public func tags(_ filter: JobFilter) throws -> [TagCounts] {
    var tags: [String: TagCounts] = [:]
    try perform { context, _ in
      let runs = try runs()
      let request = Job.fetchRequest()
      request.predicate = NSCompoundPredicate(
        andPredicateWithSubpredicates: [try condition(filter, runs), JobOptions.predicate(tag: nil)].compactMap(\.self))
      request.propertiesToFetch = ["state", "options"] + (filter.error == nil ? [] : ["errors"])
      try context.forEach(request) { job in
        try checkTime()
        guard filter.fits(job) else { return }
        let state = JobText.state(job, runs[job.objectID.key ?? 0])
        for tag in job.tags { tags[tag, default: TagCounts(tag: tag, states: [:])].states[state, default: 0] += 1 }
      }
    }
    return tags.values.sorted { ($1.jobs, $0.tag) < ($0.jobs, $1.tag) }
  }
}
