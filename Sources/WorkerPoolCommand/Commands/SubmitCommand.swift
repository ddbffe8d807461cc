import Foundation
import Jobs
import PoolClient

let submitCommand = CommandDescription(
  name: "submit", summary: "Submit jobs",
  discussion: """
    Writes a job file into the queue directory, and prints the URI of each job when the pool has taken it. No pool need run: the
    file waits for one, and the URIs are not known until then.

      workerpool submit import --set file=countries.json --set entity=Country --set key=code
      workerpool submit index --entity Document --where "indexedAt == nil" --chunk 100
      workerpool submit index x-coredata://STORE/Document/p42 x-coredata://STORE/Document/p43
    """,
  operands: [
    Operand(name: "KIND", help: "what is to be done: a kind of job that a plugin runs"),
    Operand(
      name: "URI", help: "objects that the job is about; all of them make one job", isOptional: true, isRepeating: true),
  ],
  options: [CommonOptions.queue] + Submitter.options + jobOptions + [NameCheck.option],
  run: submit)

private let jobOptions: [CommandOption] = [
  CommandOption(name: "entity", value: "NAME", help: "submit a job for each object of this entity"),
  CommandOption(name: "where", value: "PREDICATE", help: "only for objects that match, as in NSPredicate(format:)"),
  CommandOption(name: "sort", value: "KEYS", help: "in this order, as in \"name,-createdAt\""),
  CommandOption(name: "chunk", value: "K", help: "objects of one job", defaultText: "1"),
  CommonOptions.store, CommonOptions.model,
  CommandOption(name: "parameters", value: "JSON", help: "the parameters: a JSON object, or @FILE"),
  CommandOption(
    name: "set", value: "NAME=VALUE",
    help: "one parameter, read as JSON if it is JSON, else a string; may be repeated",
    isRepeating: true),
  CommandOption(name: "priority", value: "N", help: "higher runs first", defaultText: "0"),
  CommandOption(
    name: "job-queue", value: "NAME", help: "the queue that the jobs wait in", defaultText: JobRequest.defaultQueue),
  CommandOption(name: "run-at", value: "TIME", help: "not before this time: 2026-01-01T00:00:00Z"),
  CommandOption(name: "unique", value: "KEY", help: "take no second job with this key while one is unfinished"),
  CommandOption(
    name: "unique-for", value: "SECONDS", help: "and none for so long after this one came, even if it is finished"),
  CommandOption(
    name: "after", value: "JOB", help: "run it after this job has succeeded: its URI; may be repeated",
    isRepeating: true),
  CommandOption(name: "batch", value: "NAME", help: "the batch that the jobs belong to"),
  CommandOption(name: "after-batch", value: "NAME", help: "run it when all jobs of this batch have succeeded"),
  CommandOption(
    name: "when-failed", value: "RULE",
    help: "what happens when one of the jobs before it is dead or cancelled: wait, cancel or run", defaultText: "wait"
  ),
  CommandOption(name: "limit-key", value: "KEY", help: "jobs of the same key run a few at a time"),
  CommandOption(
    name: "limit", value: "N", help: "how many of the same key run at a time", defaultText: "the kind's own, or 1"),
  CommandOption(
    name: "backoff", value: "SECONDS", help: "the longest wait after the first failure", defaultText: "the kind's own"
  ),
  CommandOption(
    name: "max-backoff", value: "SECONDS", help: "the longest wait of all", defaultText: "the kind's own"),
  CommandOption(name: "max-attempts", value: "N", help: "attempts that may fail", defaultText: "the kind's own"),
  CommandOption(name: "timeout", value: "SECONDS", help: "what one attempt may take", defaultText: "the kind's own"),
]

@Sendable private func submit(_ arguments: ParsedArguments) throws -> ExitCode {
  let request = try request(arguments)
  let jobs: [JobRequest]
  if let entity = arguments.string("entity") {
    guard request.objects.isEmpty else { throw UsageError("URIs and --entity cannot be given together") }
    let chunk = try arguments.int("chunk", in: 1...1_000_000) ?? 1
    let query = ObjectQuery(
      entity: entity, predicate: arguments.string("where"), sort: arguments.string("sort"))
    let reader = try StoreReader(store: try arguments.storePath(), model: try arguments.modelPath())
    jobs = JobTemplate(request: request, chunk: chunk).jobs(for: try reader.uris(query))
  } else {
    for name in ["where", "sort", "chunk"] where arguments.has(name) {
      throw UsageError("--\(name) goes with --entity, which is missing")
    }
    jobs = [request]
  }
  guard !jobs.isEmpty else {
    Output.error("no object matches; no job submitted\n")
    return .success
  }
  try checkNames(of: request, arguments)
  return try Submitter(arguments).submit(jobs)
}

/// Without a pool nobody knows which plugins and jobs there will be.
private func checkNames(of request: JobRequest, _ arguments: ParsedArguments) throws {
  do {
    try NameCheck.check(
      arguments, kind: request.kind, queue: arguments.has("job-queue") ? request.queue : nil,
      batch: request.options.afterBatch, isStrict: { $0.what != "queue" })
  } catch is StatusClient.Failure {
    return
  }
}

private func request(_ arguments: ParsedArguments) throws -> JobRequest {
  var request = JobRequest(kind: arguments.operands[0], objects: Array(arguments.operands.dropFirst()))
  guard JobFile.isName(request.kind) else { throw UsageError("\"\(request.kind)\" cannot be the name of a kind") }
  if let stranger = request.objects.first(where: { ObjectURI($0) == nil }) {
    throw UsageError("\"\(stranger)\" is no object URI such as x-coredata://STORE/Document/p42")
  }
  request.parameters = try parameters(arguments)
  request.priority = Int16(try arguments.int("priority", in: Int(Int16.min)...Int(Int16.max)) ?? 0)
  request.uniqueKey = arguments.string("unique")
  request.maxAttempts = try arguments.int("max-attempts", in: 1...1000)
  if let queue = arguments.string("job-queue") {
    guard JobFile.isName(queue) else { throw UsageError("--job-queue cannot be \"\(queue)\"") }
    request.queue = queue
  }
  if let text = arguments.string("run-at") {
    guard let date = Timestamp.date(text) else {
      throw UsageError("--run-at must be a time such as 2026-01-01T00:00:00Z, not \"\(text)\"")
    }
    request.runAt = date
  }
  try applyOptions(arguments, to: &request)
  if let text = arguments.string("timeout") {
    guard let seconds = Double(text), seconds > 0 else {
      throw UsageError("--timeout must be a number of seconds above 0, not \"\(text)\"")
    }
    request.timeout = seconds
  }
  return request
}

private func applyOptions(_ arguments: ParsedArguments, to request: inout JobRequest) throws(UsageError) {
  let year = 366.0 * 86_400
  request.options.uniqueFor = try arguments.seconds("unique-for", in: 0.001...year)
  request.options.backoff = try arguments.seconds("backoff", in: 0.001...(30 * 86_400))
  request.options.maxBackoff = try arguments.seconds("max-backoff", in: 0.001...(30 * 86_400))
  request.batch = arguments.string("batch")
  request.limitKey = arguments.string("limit-key")
  request.options.limit = try arguments.int("limit", in: 1...10_000)
  request.options.after = arguments.strings("after")
  if let stranger = request.options.after.first(where: { ObjectURI($0) == nil }) {
    throw UsageError("--after needs a job's URI, not \"\(stranger)\"")
  }
  request.options.afterBatch = arguments.string("after-batch")
  let rules = JobOptions.FailureRule.allCases.map(\.rawValue)
  if let rule = try arguments.word("when-failed", among: rules).flatMap(JobOptions.FailureRule.init) {
    request.options.whenFailed = rule
  }
}

private func parameters(_ arguments: ParsedArguments) throws -> String? {
  var members: [JSONMember] = []
  if var text = arguments.string("parameters") {
    if text.hasPrefix("@") { text = try String(contentsOfFile: String(text.dropFirst()), encoding: .utf8) }
    do {
      guard case .object(let given) = try JSONParser.parse(text) else {
        throw UsageError("--parameters must be a JSON object")
      }
      members = given
    } catch let error as JSONError {
      throw UsageError("--parameters is not JSON: \(error)")
    }
  }
  for pair in arguments.strings("set") {
    let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty else { throw UsageError("--set must be NAME=VALUE, not \"\(pair)\"") }
    members.removeAll { $0.name == parts[0] }
    members.append(JSONMember(parts[0], (try? JSONParser.parse(parts[1])) ?? .string(parts[1])))
  }
  return members.isEmpty ? nil : JSONValue.object(members).text
}
