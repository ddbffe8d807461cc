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
    CommandOption(
      name: "error", value: "ERROR", help: "only jobs with this last error, as `workerpool failures` shows it"),
    CommandOption(
      name: "where", value: "PREDICATE", help: "only jobs that match, as in NSPredicate(format:): \"attempt > 2\""),
  ]

  static func filter(_ arguments: ParsedArguments) throws(UsageError) -> JobFilter {
    var filter = JobFilter()
    filter.stateName = try arguments.word("state", among: JobFilter.stateNames)
    filter.kind = arguments.string("kind")
    filter.queue = arguments.string("job-queue")
    filter.batch = arguments.string("batch")
    filter.error = arguments.string("error")
    filter.predicate = arguments.string("where")
    return filter
  }
}
