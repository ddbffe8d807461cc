import Jobs
import PoolClient

let jobsCommand = CommandDescription(
  name: "jobs", summary: "List jobs, newest first",
  discussion: "`workerpool jobs show JOB` tells a job's whole story.",
  operands: [
    Operand(name: "show", help: "tell the story of one job", isOptional: true),
    Operand(name: "JOB", help: "a job as the list shows it: p17, or its whole URI", isOptional: true),
  ],
  options: [
    CommandOption(name: "limit", value: "N", help: "the most jobs; 0 for all", defaultText: "50"),
    CommandOption(name: "json", help: "print a JSON object on each line, with parameters and errors"),
    CommonOptions.store, CommonOptions.queue,
  ] + JobFilterOptions.all,
  run: listJobs)

@Sendable private func listJobs(_ arguments: ParsedArguments) throws -> ExitCode {
  let filter = try JobFilterOptions.filter(arguments)
  let limit = try arguments.int("limit", in: 0...Int.max) ?? 50
  let wanted = try arguments.shown("a job: p17")
  let reader = try StoreReader(poolStore: try arguments.storePath())
  if let wanted {
    let status = try? arguments.pool().request(StatusRequest(.status)).status
    let isFound = try reader.job(try arguments.jobURI(wanted)) { job, run in
      if arguments.has("json") {
        Output.line(JobText.json(job, run: run).text)
      } else {
        JobStory.lines(job, status: status, run: run).forEach(Output.line)
      }
    }
    if !isFound { Output.error("workerpool jobs: there is no job \(wanted)\n") }
    return isFound ? .success : .failure
  }
  if arguments.has("json") {
    try reader.jobs(filter, limit: limit) { job, run in
      Output.line(JobText.json(job, run: run).text)
    }
    return .success
  }
  var table = JobText.table()
  try reader.jobs(filter, limit: limit) { job, run in
    table.add(JobText.row(job, run: run))
  }
  guard table.isEmpty else {
    table.lines.forEach(Output.line)
    return .success
  }
  Output.line("no jobs")
  for sentence in try reader.unknownNames(in: filter) { Output.error(sentence + "\n") }
  return .success
}
