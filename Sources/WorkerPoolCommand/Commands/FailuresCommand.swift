import Jobs
import PoolClient

let failuresCommand = CommandDescription(
  name: "failures", summary: "List what goes wrong: failed jobs by kind and error",
  discussion: """
    Counts the jobs that are dead, or wait for another attempt, by kind and by the first line of their last error, in
    which # stands for numbers and … for what is in quotes. The other commands choose the jobs of a group by both:

      workerpool retry --state dead --kind KIND --error ERROR
    """,
  options: [
    CommandOption(name: "kind", value: "KIND", help: "only jobs of this kind"),
    CommandOption(name: "limit", value: "N", help: "the most groups; 0 for all", defaultText: "50"),
    CommandOption(name: "json", help: "print a JSON object on each line, with the last message"),
    CommonOptions.store, CommonOptions.queue,
  ],
  run: listFailures)

@Sendable private func listFailures(_ arguments: ParsedArguments) throws -> ExitCode {
  let limit = try arguments.int("limit", in: 0...Int.max) ?? 50
  let failures = try StoreReader(poolStore: try arguments.storePath()).failures(kind: arguments.string("kind"))
  let most = limit == 0 ? failures.groups.count : limit
  if arguments.has("json") {
    for group in failures.groups.prefix(most) { Output.line(group.json.text) }
    return .success
  }
  guard let largest = failures.groups.first else {
    Output.line("no failed jobs")
    return .success
  }
  failures.lines(Output.layout, limit: most).forEach(Output.line)
  let state = largest.dead > 0 ? JobState.dead : .retryable
  let command = AdvisedCommand.workerpool(
    "retry", "--state", state.name, "--kind", largest.kind, "--error", largest.error)
  let advice: Advice = "to run the jobs of the first group again: \(command)"
  Output.line("")
  Output.line(advice.text(for: arguments.adviceReader))
  return .success
}
