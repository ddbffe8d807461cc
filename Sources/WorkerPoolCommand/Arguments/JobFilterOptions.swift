import LinuxSystem
import PoolClient

/// The options by which commands choose jobs.
enum JobFilterOptions {
  static let all = [
    CommandOption(
      name: "state", value: "STATE", help: "only jobs that are \(JobFilter.stateNames.joined(separator: ", "))"),
    CommandOption(name: "kind", value: "KIND", help: "only jobs of this kind"),
    CommandOption(name: "job-queue", value: "NAME", help: "only jobs that wait in this queue"),
    CommandOption(name: "batch", value: "NAME", help: "only jobs of this batch"),
    CommandOption(name: "tag", value: "TAG", help: "only jobs with this tag"),
    CommandOption(name: "from", value: "TIME", help: "only jobs that came then or later: 2026-01-01T00:00:00Z"),
    CommandOption(name: "to", value: "TIME", help: "only jobs that came before"),
    CommandOption(
      name: "error", value: "ERROR", help: "only jobs with this last error, as `workerpool failures` shows it"),
    CommandOption(
      name: "waits-for", value: "REASON",
      help: "only jobs that wait for this: \(JobWait.allCases.map(\.rawValue).joined(separator: ", "))"),
    CommandOption(
      name: "where", value: "PREDICATE", help: "only jobs that match, as in NSPredicate(format:): \"attempt > 2\""),
  ]

  /// Lets the reader know why jobs wait, as the pool on the queue directory says. Returns its status.
  @discardableResult
  static func noteWaits(_ arguments: ParsedArguments, in reader: StoreReader) -> PoolStatus? {
    // Where no pool runs, jobs wait for one.
    guard let pool = try? arguments.pool(), let reply = try? pool.request(StatusRequest(.explain), within: 10) else {
      return nil
    }
    // The store has the jobs when no pool answers.
    let request = StatusRequest(.status, local: arguments.has("local") ? true : nil)
    let status = try? pool.request(request).status
    reader.note(reply.obstacles, status)
    return status
  }

  static func filter(_ arguments: ParsedArguments) throws(UsageError) -> JobFilter {
    var filter = JobFilter()
    filter.stateName = try arguments.word("state", among: JobFilter.stateNames)
    filter.kind = arguments.string("kind")
    filter.queue = arguments.string("job-queue")
    filter.batch = arguments.string("batch")
    filter.tag = arguments.string("tag")
    filter.from = try time(arguments, "from")
    filter.to = try time(arguments, "to")
    filter.error = arguments.string("error")
    filter.wait = try arguments.word("waits-for", among: JobWait.allCases.map(\.rawValue)).flatMap(JobWait.init)
    filter.predicate = arguments.string("where")
    return filter
  }

  private static func time(_ arguments: ParsedArguments, _ name: String) throws(UsageError) -> Date? {
    guard let text = arguments.string(name) else { return nil }
    if let date = Timestamp.date(text) { return date }
    throw UsageError("--\(name): \"\(text)\" is no time; write it as 2026-01-01T00:00:00Z")
  }
}
