import CoreData

extension JobField {
  /// The fields of a job: those that producers ask for, in the order of their documentation, then those that the pool
  /// and plugins write.
  public static let all = asked + writtenByPool

  // Every job uses these, and a function alone is passed on with less work than a whole field.

  /// Functions that read each of ``asked`` from a job file, in their order: `JobFile.keys` has the names in the same
  /// one.
  static let readers = asked.compactMap { $0.request?.read }

  /// What a new job's row gets: the value of each field that an attribute keeps, and what follows from several fields.
  ///
  /// ```text
  /// activeKey     the unique key, as long as the job is unfinished or reserves it: the unique index is on this column
  /// options       the text of all fields that are kept there
  /// state         nothing for a job that may run now, which is the attribute's default
  /// createdAt     when the job came
  /// ```
  static let columns: [NewJobAttribute] =
    asked.compactMap { field in
      field.attribute.flatMap { name in field.request.map { NewJobAttribute(name, $0.column) } }
    } + [
      NewJobAttribute("activeKey") { job, _ in job.uniqueKey?.column },
      NewJobAttribute("options") { job, _ in job.options.text?.column },
      NewJobAttribute("state") { job, now in
        let state = job.firstState(at: now)
        return state == .available ? nil : Int(state.rawValue).column
      }, NewJobAttribute("createdAt") { _, now in now.column },
    ]

  private static let kindsOwn = "the kind's own"

  /// The fields that producers ask for. A field that is added here is known to job files, `submit`, the documentation's
  /// table and the lists; only an attribute of the row, if it needs one, is added elsewhere.
  static let asked: [JobField] = work + conditions + dependencies

  /// The work, and when it is done.
  private static let work: [JobField] = [
    .attribute(
      "kind", .name, get: { $0.kind }, set: { $0.kind = $1 },
      value: { $0.kind }),
    .attribute(
      "objects", .objects, isLong: true, get: { $0.objects.isEmpty ? nil : $0.objects }, set: { $0.objects = $1 },
      value: { $0.objectURIs }),
    .attribute(
      "parameters", .object, isLong: true, get: { $0.parameters }, set: { $0.parameters = $1 },
      value: { $0.shownParameters ?? "{}" }),
    .attribute(
      "priority", .int16, option: Option("N", "higher runs first", default: "0"),
      get: { $0.priority == 0 ? nil : $0.priority }, set: { $0.priority = $1 }, value: { $0.priority }),
    .attribute(
      "queue", .name,
      option: Option("NAME", "the queue that the jobs wait in", default: JobRequest.defaultQueue, name: "job-queue"),
      get: { $0.queue == JobRequest.defaultQueue ? nil : $0.queue }, set: { $0.queue = $1 }, value: { $0.queue }),
    .attribute(
      "runAt", .time, isForPeriodicJobs: false, option: Option("TIME", "not before this time: 2026-01-01T00:00:00Z"),
      applies: { $0 > $1 }, get: { $0.runAt }, set: { $0.runAt = $1 }, value: { $0.runAt }),
  ]

  /// Under which conditions: uniqueness, attempts, time, limits.
  private static let conditions: [JobField] = [
    .attribute(
      "unique", .text, attribute: "uniqueKey",
      option: Option("KEY", "submit nothing while a job with this key is unfinished"), get: { $0.uniqueKey },
      set: { $0.uniqueKey = $1 }, value: { $0.uniqueKey }),
    .options(
      "uniqueFor", .seconds(atMost: 366 * 86_400),
      option: Option("SECONDS", "submit nothing for this long after a job with this key came, finished or not"),
      get: { $0.uniqueFor }, set: { $0.uniqueFor = $1 }),
    .passing(
      "uniqueBy", .words(of: UniquePart.self), isForPeriodicJobs: true,
      option: Option(
        "PARTS", "submit nothing while a job that is equal in these is unfinished: kind,queue,objects,parameters"),
      get: { $0.uniqueBy.isEmpty ? nil : $0.uniqueBy }, set: { $0.uniqueBy = $1 }),
    .passing(
      "uniquePeriod", .seconds(atMost: 366 * 86_400), isForPeriodicJobs: true,
      option: Option("SECONDS", "with --unique-by or --unique: one job in each such period, as 3600 for hours"),
      get: { $0.uniquePeriod }, set: { $0.uniquePeriod = $1 }),
    .attribute(
      "maxAttempts", .int(1...1000), option: Option("N", "attempts that may fail", default: kindsOwn),
      get: { $0.maxAttempts }, set: { $0.maxAttempts = $1 },
      value: { $0.maxAttempts }),
    .options(
      "backoff", .seconds(atMost: 30 * 86_400),
      option: Option(
        "SECONDS", "the wait after the first failure; it doubles with each further one", default: kindsOwn),
      get: { $0.backoff },
      set: { $0.backoff = $1 }),
    .options(
      "maxBackoff", .seconds(atMost: 30 * 86_400),
      option: Option("SECONDS", "the wait doubles up to this", default: kindsOwn), get: { $0.maxBackoff },
      set: { $0.maxBackoff = $1 }),
    .attribute(
      "timeout", .seconds(atMost: 30 * 86_400),
      option: Option("SECONDS", "what one attempt may take", default: kindsOwn), get: { $0.timeout },
      set: { $0.timeout = $1 }, value: { $0.timeout }),
    .attribute(
      "limitKey", .text, option: Option("KEY", "jobs of the same key run a few at a time"), get: { $0.limitKey },
      set: { $0.limitKey = $1 }, value: { $0.limitKey }),
    .options(
      "limit", .int(1...10_000),
      option: Option("N", "how many of the same key run at a time", default: "\(kindsOwn), or 1"), get: { $0.limit },
      set: { $0.limit = $1 }),
  ]

  /// What the job has to do with others: labels, dependencies, batches, tags, the submission.
  private static let dependencies: [JobField] = [
    .passing("label", .name, get: { $0.label }, set: { $0.label = $1 }),
    .options(
      "after", .jobs, isForPeriodicJobs: false,
      option: Option("JOB", "run it after this job has succeeded: its URI; may be repeated", isRepeating: true),
      get: { $0.after.isEmpty ? nil : $0.after }, set: { $0.after = $1 }),
    .attribute(
      "batch", .text, option: Option("NAME", "the batch that the jobs belong to"), get: { $0.batch },
      set: { $0.batch = $1 }, value: { $0.batch }),
    .options(
      "afterBatch", .text, option: Option("NAME", "run it when all jobs of this batch have succeeded"),
      get: { $0.afterBatch }, set: { $0.afterBatch = $1 }),
    .options(
      "whenFailed", .word(of: JobOptions.FailureRule.self),
      option: Option(
        "RULE", "what happens when one of the jobs before it is dead or cancelled: wait, cancel or run",
        default: JobOptions.FailureRule.wait.rawValue), get: { $0.whenFailed == .wait ? nil : $0.whenFailed },
      set: { $0.whenFailed = $1 }),
    .options(
      "tags", .tags,
      option: Option(
        "TAG", "a tag, by which people find and count jobs; may be repeated", name: "tag", isRepeating: true),
      get: { $0.tags.isEmpty ? nil : $0.tags }, set: { $0.tags = $1 }, show: { .array($0.tags.map(JSONValue.string)) }),
    .passing("submission", .name, get: { $0.submission }, set: { $0.submission = $1 }),
  ]

  /// What the pool and plugins write. The state is not shown by it, since a row does not say whether the job runs.
  private static let writtenByPool: [JobField] = [
    .written("options") { $0.options.json }, .written("activeKey", show: nil),
    .written("claimant", show: nil), .written("hostDeaths", show: nil),
    // The row does not say whether the job runs: the caller knows it, and shows the state.
    .written("state", show: nil), .written("attempts", attribute: "attempt") { .number($0.attempt) },
    .written("crashes") { .number($0.crashes) }, .written("progressDone") { .number($0.progressDone) },
    .written("progressTotal") { .number($0.progressTotal) },
    .written("checkpointBytes", attribute: "checkpoint", isLong: true) { .number($0.checkpoint?.count ?? 0) },
    .written("results", isLong: true) { .array($0.resultURIs.map(JSONValue.string)) },
    // Most plugins that leave an output write JSON.
    .written("output", isLong: true) { $0.shownOutput.map { (try? JSONParser.parse($0)) ?? .string($0) } ?? .null },
    .written("errors", isLong: true) { .array($0.failures.map(\.json)) },
    .written("createdAt") { .optional(Timestamp.text($0.createdAt)) },
    .written("startedAt") { .optional($0.startedAt.map(Timestamp.text)) },
    .written("finishedAt") { .optional($0.finishedAt.map(Timestamp.text)) },
  ]
}
