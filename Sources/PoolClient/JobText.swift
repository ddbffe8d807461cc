import CoreData
import Jobs

/// Jobs as the command line shows them.
public enum JobText {
  /// An empty table for ``row(_:)``.
  public static func table() -> TextTable {
    TextTable(
      ["job", "kind", "state", "priority", "attempts", "crashes", "objects", "progress", "created", "last error"],
      rightAligned: [3, 4, 5, 6])
  }

  /// The row of a job. Called on the queue of its context.
  ///
  /// - Parameter run: who runs it.
  public static func row(_ job: Job, run: JobRun? = nil) -> [String] {
    [
      job.objectID.objectURI?.name ?? "", job.kind, state(job, run), String(job.priority), String(job.attempt),
      String(job.crashes), String(job.objectURIs.count), progress(job), Timestamp.text(job.createdAt),
      job.failures.last.map { "\($0.type): \($0.message)" } ?? "",
    ]
  }

  /// How a job has ended: one line, and below it its results and output. Called on the queue of its context.
  public static func end(_ job: Job) -> [String] {
    var first = "\(job.objectID.uriString) \(job.state.name)"
    if job.state == .dead, let failure = job.failures.last { first += ": \(failure.type): \(failure.message)" }
    var lines = [first] + job.resultURIs.prefix(shownResults).map { "  \($0)" }
    if job.resultURIs.count > shownResults { lines.append("  and \(job.resultURIs.count - shownResults) more objects") }
    if let output = job.output, job.state == .succeeded {
      lines += output.split(separator: "\n").prefix(shownOutput).map { "  \($0)" }
    }
    return lines.map(TerminalText.escaped)
  }

  /// Results and lines of output that are shown for each job; its JSON has all.
  private static let shownResults = 10
  private static let shownOutput = 20

  /// The state as people see it: a job that runs is `available` in the store.
  package static func state(_ job: Job, _ run: JobRun?) -> String {
    run != nil && job.state == .available ? runningName : job.state.name
  }

  /// The state that is shown for a job that runs, beside those of ``JobState``.
  public static let runningName = "running"

  private static func progress(_ job: Job) -> String {
    job.progressTotal > 0 ? "\(job.progressDone)/\(job.progressTotal)" : ""
  }

  /// The whole job, as `workerpool jobs --json` shows it: each ``JobField`` of its row, its URI, its state, and the
  /// process that runs it.
  ///
  /// - Parameter run: who runs it.
  public static func json(_ job: Job, run: JobRun? = nil) -> JSONValue {
    let pid = job.state == .available ? run?.pid : nil
    let members = [
      JSONMember("job", .string(job.objectID.uriString)), JSONMember("state", .string(state(job, run))),
      JSONMember("pid", pid.map { .number($0) } ?? .null),
    ]
    return .object(members + JobField.all.compactMap { field in field.show.map { JSONMember(field.name, $0(job)) } })
  }
}
