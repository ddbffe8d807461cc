import CoreData
import Jobs

/// Jobs as the command line shows them.
///
/// ```swift
/// import PoolClient
///
/// let reader = try StoreReader(poolStore: "app.sqlite")
/// var table = JobText.table()
/// try reader.jobs(JobFilter(), limit: 20) { job, run in
///   JobText.add(job, run: run, waits: reader.waits, to: &table)
/// }
/// print(table.lines().joined(separator: "\n"))
/// ```
///
/// Everything that comes from the store is escaped for terminals.
public enum JobText {
  /// An empty table for ``add(_:run:waits:hasHosts:to:at:)``.
  ///
  /// - Parameter hasHosts: whether it says on which host a job runs.
  public static func table(hasHosts: Bool = false) -> TextTable {
    let host: [TextTable.Column] = hasHosts ? [.text("host", worth: 4)] : []
    let columns: [TextTable.Column] = [
      .text("job"), .text("kind"), .text("state"), .text("queue", worth: 2), .number("priority", worth: 2),
      .number("attempts", worth: 5),
      .number("crashes", worth: 3), .number("objects", worth: 1), .number("progress", worth: 4), .number("age"),
      .number("took", worth: 6),
    ]
    return TextTable(columns + host + [.text("waits", worth: 6), .text("last error", worth: 7)])
  }

  /// Adds the row of a job to its table. Called on the queue of its context.
  ///
  /// - Parameters:
  ///   - run: who runs it.
  ///   - waits: why jobs wait; nil leaves it out.
  ///   - hasHosts: whether the table says on which host.
  ///   - now: the moment for its age and for how long it has been running.
  public static func add(
    _ job: Job, run: JobRun? = nil, waits: JobWaits? = nil, hasHosts: Bool = false, to table: inout TextTable,
    at now: Date = Date()
  ) {
    let state = state(job, run)
    let error = job.failures.last.map { "\($0.type): \($0.message)" } ?? ""
    let host = hasHosts ? [job.state == .available ? run?.host ?? "" : ""] : []
    let row = [
      job.objectID.objectURI?.name ?? "", job.kind, state, job.queue, String(job.priority), String(job.attempt),
      String(job.crashes), String(job.objectURIs.count), progress(job),
      StatusText.age(now.timeIntervalSince(job.createdAt)), took(job, run, now),
    ]
    table.add(
      row + host + [waits?.text(job, run: run) ?? "", error], styles: style(ofState: state).map { [2: $0] } ?? [:])
  }

  /// How long the last attempt took, or takes until now.
  private static func took(_ job: Job, _ run: JobRun?, _ now: Date) -> String {
    if let run, job.state == .available { return StatusText.shortTime(max(0, now.timeIntervalSince(run.since))) }
    guard let start = job.startedAt, let end = job.finishedAt else { return "" }
    return StatusText.shortTime(max(0, end.timeIntervalSince(start)))
  }

  /// The colour of a state: green for what runs well, red for what needs a person.
  static func style(ofState state: String) -> TextStyle? {
    switch state {
    case runningName: .active
    case JobState.succeeded.name: .good
    case JobState.retryable.name: .warning
    case JobState.dead.name: .bad
    default: nil
    }
  }

  /// How a job has ended: one line, and below it its results and output. Called on the queue of its context.
  ///
  /// The first line has the job's URI and state. The first results and the first lines of output follow:
  /// ``json(_:run:waits:use:)`` has all.
  public static func end(_ job: Job) -> [String] {
    var first = "\(job.objectID.uriString) \(job.state.name)"
    if job.state == .dead, let failure = job.failures.last { first += ": \(failure.type): \(failure.message)" }
    var lines = [first] + job.resultURIs.prefix(shownResults).map { "  \($0)" }
    if job.resultURIs.count > shownResults { lines.append("  and \(job.resultURIs.count - shownResults) more objects") }
    if let output = job.shownOutput, job.state == .succeeded {
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

  /// The names in ``json(_:run:waits:use:)``.
  package static let columns =
    ["job", "state", "pid", "host", "waitsFor", "waits"] + JobField.all.filter { $0.show != nil }.map(\.name)

  /// The whole job, as `workerpool jobs --json` shows it: each ``JobField`` of its row, its URI, its state, and the
  /// process that runs it.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let reader = try StoreReader(poolStore: "app.sqlite")
  /// try reader.jobs(JobFilter(), limit: 20) { job, run in print(JobText.json(job, run: run).text) }
  /// ```
  ///
  /// The keys stay the same over all versions 1.x; new ones may come. Values of jobs are among them (parameters,
  /// output, errors): do not send them to people who may not read the store. Called on the queue of the job's context.
  ///
  /// - Parameters:
  ///   - run: who runs it.
  ///   - waits: why jobs wait: a job that waits then has `waitsFor` and `waits`, a word and a text.
  ///   - use: what its last attempt has used; nil leaves it out.
  public static func json(
    _ job: Job, run: JobRun? = nil, waits: JobWaits? = nil, use: ResourceUse? = nil
  ) -> JSONValue {
    let pid = job.state == .available ? run?.pid : nil
    let members = [
      JSONMember("job", .string(job.objectID.uriString)), JSONMember("state", .string(state(job, run))),
      JSONMember("pid", pid.map { .number($0) } ?? .null),
    ]
    let wait = waits?.wait(job, run: run).map { wait in
      [JSONMember("waitsFor", .string(wait.rawValue)), JSONMember("waits", .string(waits?.text(job, run: run) ?? ""))]
    }
    let host = pid == nil ? nil : run?.host.map { JSONMember("host", .string($0)) }
    return .object(
      members + (host.map { [$0] } ?? []) + (wait ?? []) + (use.map { [JSONMember("use", $0.json)] } ?? [])
        + JobField.all.compactMap { field in field.show.map { JSONMember(field.name, $0(job)) } })
  }
}
