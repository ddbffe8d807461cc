import Foundation
import Jobs
import LinuxSystem
import PoolClient

let submitCommand = CommandDescription(
  name: "submit", summary: "Submit jobs",
  discussion: """
    Writes a job file into the queue directory, and prints the URI of each job when the pool has taken
    it. Without a running pool the file waits for one, and the URIs are not known until then.

      workerpool submit import --set file=/data/countries.json --set entity=Country --set key=code
      workerpool submit index --entity Document --where "indexedAt == nil" --chunk 100
      workerpool submit index x-coredata://STORE/Document/p42 x-coredata://STORE/Document/p43
    """,
  operands: [
    Operand(name: "KIND", help: "the kind of the job, which decides the plugin that runs it"),
    Operand(
      name: "URI", help: "the objects of the job; all of them make one job", isOptional: true, isRepeating: true),
  ],
  options: [CommonOptions.queue] + Submitter.options + jobOptions + [MistypedNames.option],
  run: submit)

private let jobOptions: [CommandOption] =
  [
    CommandOption(name: "entity", value: "NAME", help: "submit a job for each object of this entity"),
    CommandOption(name: "where", value: "PREDICATE", help: "only for objects that match, as in NSPredicate(format:)"),
    CommandOption(name: "sort", value: "KEYS", help: "in this order, as in \"name,-createdAt\""),
    CommandOption(name: "chunk", value: "K", help: "objects of one job", defaultText: "1"),
    CommonOptions.store, CommonOptions.model,
  ] + parameterOptions + JobField.all.compactMap(\.commandOption)

/// What every command that makes a job takes.
let parameterOptions = [
  CommandOption(name: "parameters", value: "JSON", help: "the parameters: a JSON object, or @FILE"),
  CommandOption(
    name: "set", value: "NAME=VALUE",
    help: "one parameter, read as JSON if it is JSON, else a string; may be repeated",
    isRepeating: true),
]

@Sendable private func submit(_ arguments: ParsedArguments) throws -> ExitCode {
  let request = try jobRequest(arguments)
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

/// Without a pool it is not known which plugins and jobs there will be.
func checkNames(of request: JobRequest, _ arguments: ParsedArguments) throws {
  do {
    try MistypedNames.check(
      arguments, kind: request.kind, queue: arguments.has("job-queue") ? request.queue : nil,
      batch: request.options.afterBatch, isStrict: { $0.what != "queue" })
  } catch is StatusClient.Failure {
    return
  }
}

/// The job that the arguments ask for: its kind and the URIs of its objects as operands, and options.
func jobRequest(_ arguments: ParsedArguments) throws -> JobRequest {
  var request = JobRequest(kind: arguments.operands[0], objects: Array(arguments.operands.dropFirst()))
  guard JobRequest.isName(request.kind) else { throw UsageError("\"\(request.kind)\" cannot be the name of a kind") }
  if let stranger = request.objects.first(where: { ObjectURI($0) == nil }) {
    throw UsageError("\"\(stranger)\" is not an object URI such as x-coredata://STORE/Document/p42")
  }
  request.parameters = try parameters(arguments)
  if let stranger = arguments.strings("after").first(where: { ObjectURI($0) == nil }) {
    throw UsageError("--after needs a job's URI, not \"\(stranger)\"")
  }
  for field in JobField.all where field.option != nil {
    do {
      try field.read(arguments: arguments.strings(field.optionName), into: &request)
    } catch {
      let text = arguments.string(field.optionName) ?? ""
      throw UsageError("--\(field.optionName) must be \(field.request?.expected ?? "another value"), not \"\(text)\"")
    }
  }
  return request
}

extension JobField {
  /// The option of the field as the command line knows it.
  fileprivate var commandOption: CommandOption? {
    option.map {
      CommandOption(
        name: optionName, value: $0.value, help: $0.help, defaultText: $0.defaultText, isRepeating: $0.isRepeating)
    }
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
    // A value that is no JSON is a text.
    members.append(JSONMember(parts[0], (try? JSONParser.parse(parts[1])) ?? .string(parts[1])))
  }
  return members.isEmpty ? nil : JSONValue.object(members).text
}
