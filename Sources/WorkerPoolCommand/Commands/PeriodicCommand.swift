import Jobs
import LinuxSystem
import PoolClient

let periodicCommand = CommandDescription(
  name: "periodic", summary: "List the periodic jobs, or run one of them now",
  discussion: """
    Lists the entries in the directory periodic/ of the queue directory with their last and next runs,
    and says what is wrong with bad ones. `workerpool periodic run NAME` submits the job of an entry at
    once; its own times stay as they are. The options --wait, --json and --submission are those of
    `workerpool submit`.
    """,
  operands: [
    Operand(name: "run", help: "submit the job of an entry now", isOptional: true),
    Operand(name: "NAME", help: "the entry: the name of its file, without .json", isOptional: true),
  ],
  options: [CommonOptions.queue, CommonOptions.store] + Submitter.options + [MistypedNames.option],
  run: periodic)

@Sendable private func periodic(_ arguments: ParsedArguments) throws -> ExitCode {
  if let word = arguments.operands.first {
    guard word == "run", arguments.operands.count == 2 else {
      throw UsageError("periodic takes nothing, or: run NAME")
    }
    let entry = try PeriodicReport(queue: arguments.queue, store: nil).entry(arguments.operands[1])
    try checkNames(of: entry.job, arguments)
    return try Submitter(arguments).submit([entry.job])
  }
  for name in ["wait", "submission"] where arguments.has(name) {
    throw UsageError("--\(name) goes with run NAME, which is missing")
  }
  // The list is useful without a pool, too.
  let store = try arguments.string("store") ?? arguments.storeOfRunningPool()
  let report = try PeriodicReport(queue: arguments.queue, store: store)
  if arguments.has("json") {
    for row in report.json { Output.line(row.text) }
  } else {
    report.lines(Output.layout).forEach(Output.line)
  }
  for sentence in unknownKinds(report, arguments) { Output.error(sentence + "\n") }
  if !report.knowsLastRuns, !report.rows.isEmpty {
    Output.error("The last runs are not known: no pool is running on \(arguments.queue); --store names its store.\n")
  }
  return .success
}

/// The entries whose jobs no plugin of the running pool would run.
private func unknownKinds(_ report: PeriodicReport, _ arguments: ParsedArguments) -> [String] {
  var sentences: [String] = []
  for row in report.rows {
    guard let kind = row.entry?.job.kind,
      // Without a pool it is not known which kinds there are.
      let reply = try? arguments.pool().request(StatusRequest(.check, kind: kind), within: 10),
      let unknown = reply.unknown?.first
    else { continue }
    sentences.append("periodic/\(row.name).json: no plugin of the pool runs the kind \(kind)\(unknown.hint)")
  }
  return sentences
}
