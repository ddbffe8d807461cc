import Foundation
import Jobs
import LinuxSystem
import PoolClient

let retryCommand = CommandDescription(
  name: "retry", summary: "Run dead, cancelled or waiting jobs again", discussion: discussion("retry", "dead"),
  operands: [jobOperand], options: options, run: { try JobChange.retry.run($0) })

let cancelCommand = CommandDescription(
  name: "cancel", summary: "Cancel jobs that are not finished", discussion: discussion("cancel", "scheduled"),
  operands: [jobOperand], options: options, run: { try JobChange.cancel.run($0) })

let deleteCommand = CommandDescription(
  name: "delete", summary: "Delete jobs from the store",
  discussion: discussion("delete", "dead")
    + "\n\nRunning jobs are never deleted. Jobs that unfinished jobs wait for are deleted only with\n"
    + "--even-if-awaited; the waiting jobs then go on without them.",
  operands: [jobOperand],
  options: options + [
    CommandOption(name: "even-if-awaited", help: "delete jobs for which unfinished ones wait, too")
  ],
  run: { try JobChange.delete.run($0) })

private let jobOperand = Operand(
  name: "JOB", help: "a job as `workerpool jobs` shows it: p17, or its whole URI", isOptional: true, isRepeating: true)

private let options =
  [CommonOptions.queue, CommonOptions.store] + JobFilterOptions.all + [
    CommandOption(name: "dry-run", help: "say how many jobs the options choose, and change nothing"),
    CommandOption(name: "yes", help: "change the chosen jobs without asking; required without a terminal"),
    CommandOption(name: "json", help: "print the numbers as a JSON object"),
  ]

private func discussion(_ name: String, _ state: String) -> String {
  """
  Names jobs, or chooses them by the same options as `workerpool jobs`. For chosen jobs the command
  first shows their number and asks at the terminal; without a terminal it needs --yes.

    workerpool \(name) --state \(state) --kind import --where "attempt < 3" --dry-run
  """
}

extension JobChange {
  /// As in "Delete 4 jobs?".
  private var question: String {
    switch self {
    case .retry: "Run again"
    case .cancel: "Cancel"
    case .delete: "Delete"
    }
  }

  fileprivate func run(_ arguments: ParsedArguments) throws -> ExitCode {
    let filter = try JobFilterOptions.filter(arguments)
    guard !arguments.operands.isEmpty || !filter.isEverything else {
      throw UsageError(
        "workerpool \(rawValue) needs jobs: name them (p17), or choose them by options such as --state")
    }
    guard arguments.operands.isEmpty || filter.isEverything else {
      throw UsageError("name jobs, or choose them by options such as --state, but not both")
    }
    let pool = try arguments.pool()
    let evenIfAwaited = arguments.has("even-if-awaited")
    guard arguments.operands.isEmpty else {
      var named: Set<String> = []
      let jobs = try arguments.operands.map { try arguments.jobURI($0) }.filter { named.insert($0).inserted }
      let result = try carryOut(on: jobs, by: pool, evenIfAwaited: evenIfAwaited)
      return try tell(result, areNamed: true, arguments)
    }
    let reader = try StoreReader(poolStore: try arguments.storePath())
    JobFilterOptions.noteWaits(arguments, in: reader)
    let byState = try reader.counts(narrowed(filter))
    let count = byState.reduce(0) { $0 + $1.count }
    guard count > 0 else {
      tell(matching: 0, result: nil, arguments, text: "no job matches")
      for sentence in try reader.unknownNames(in: filter) { Output.error(sentence + "\n") }
      return .success
    }
    let parts = byState.map { "\($0.count) \($0.state.name)" }.joined(separator: ", ")
    let summary = "\(Plural.text(count, "job")) \(count == 1 ? "matches" : "match"): \(parts)"
    if arguments.has("dry-run") {
      tell(matching: count, result: nil, arguments, text: summary)
      return .success
    }
    guard try arguments.has("yes") || isMeant(summary, count: count) else {
      tell(matching: count, result: nil, arguments, text: "nothing is changed")
      return .failure
    }
    let result = try carryOut(on: filter, of: reader, by: pool, evenIfAwaited: evenIfAwaited)
    return try tell(result, areNamed: false, arguments)
  }

  /// Asks the person at the terminal.
  private func isMeant(_ summary: String, count: Int) throws(UsageError) -> Bool {
    guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
      throw UsageError(
        "\(summary). There is no terminal to ask at: confirm with --yes, or use --dry-run to change nothing")
    }
    Output.error("\(summary)\n")
    Output.errorAsItIs("\(question) \(Plural.text(count, "job"))? [y/N] ")
    return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
  }

  // MARK: The result

  private func tell(_ result: JobChangeResult, areNamed: Bool, _ arguments: ParsedArguments) throws -> ExitCode {
    if result.done == 0, let refusal = result.refusal { throw PoolRefusal(reason: refusal) }
    var text = "\(result.done) of \(Plural.text(result.jobs, "job")) \(done)"
    if result.running > 0 { text += "; \(result.running) run now: workerpool cancel" }
    if result.awaited > 0 {
      text += "; unfinished jobs wait for \(result.awaited): --even-if-awaited deletes those, too"
    }
    if result.missing > 0 {
      text += "; \(result.missing) \(areNamed ? "not found" : "gone, or in another state by now")"
    }
    tell(matching: result.jobs, result: result, arguments, text: text)
    return result.done == result.jobs ? .success : .failure
  }

  private func tell(matching: Int, result: JobChangeResult?, _ arguments: ParsedArguments, text: String) {
    guard arguments.has("json") else { return Output.line(text) }
    var members = [JSONMember("jobs", .number(matching)), JSONMember("done", .number(result?.done ?? 0))]
    if self == .delete {
      members.append(JSONMember("running", .number(result?.running ?? 0)))
      members.append(JSONMember("awaited", .number(result?.awaited ?? 0)))
    }
    Output.line(JSONValue.object(members).text)
  }
}
