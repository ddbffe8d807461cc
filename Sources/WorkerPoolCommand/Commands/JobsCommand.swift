import Foundation
import Jobs
import LinuxSystem
import PoolClient

let jobsCommand = CommandDescription(
  name: "jobs", summary: "List jobs",
  discussion: "`workerpool jobs show JOB` tells a job's whole story.",
  operands: [
    Operand(name: "show", help: "tell the story of one job", isOptional: true),
    Operand(name: "JOB", help: "a job as the list shows it: p17, or its whole URI", isOptional: true),
  ],
  options: [
    CommandOption(name: "limit", value: "N", help: "the most jobs; 0 for all", defaultText: "50"),
    CommandOption(
      name: "sort", value: "ORDER", help: "their order: \(JobOrder.allCases.map(\.rawValue).joined(separator: ", "))",
      defaultText: JobOrder.newest.rawValue),
    CommandOption(
      name: "columns", value: "NAMES",
      help: "the columns of the table, by the names of --json: job,kind,queue,parameters"),
    CommandOption(
      name: "changes", help: "with show: also the objects that the job inserted, updated and deleted, by attempt"),
    CommandOption(
      name: "group-by", value: "tag", help: "count the jobs of each tag by state instead of listing jobs"),
    CommandOption(
      name: "watch",
      help: "on a terminal: go on showing them, newer each second; arrows select, Enter opens, / filters, ? explains"),
    CommandOption(name: "json", help: "print a JSON object on each line, with parameters and errors"),
    CommonOptions.store, CommonOptions.queue, CommonOptions.local,
  ] + JobFilterOptions.all,
  run: listJobs)

@Sendable private func listJobs(_ arguments: ParsedArguments) throws -> ExitCode {
  let filter = try JobFilterOptions.filter(arguments)
  let limit = try arguments.int("limit", in: 0...Int.max) ?? 50
  let jobName = try arguments.shown("a job: p17", of: "jobs")
  let order = try arguments.word("sort", among: JobOrder.allCases.map(\.rawValue)).flatMap(JobOrder.init) ?? .newest
  let columns = try columns(arguments)
  guard jobName != nil || !arguments.has("changes") else {
    throw UsageError("--changes goes with one job: workerpool jobs show p17 --changes")
  }
  let reader = try StoreReader(poolStore: try arguments.storePath())
  let status = JobFilterOptions.noteWaits(arguments, in: reader)
  if reader.isShared, let status { reader.note(status) }
  if let jobName {
    let uri = try arguments.jobURI(jobName)
    // A pool that cannot say what keeps the job waiting leaves that out.
    let answer =
      status == nil ? nil : try? arguments.pool().request(StatusRequest(.explain, jobs: [uri]), within: 10)
    let isFound = try reader.job(uri) { job, run in
      var changes = arguments.has("changes") ? try JobEffects(job) : nil
      // Without a model the app's store cannot be read, nor its history.
      if changes?.saves.isEmpty == true, let app = try? appReader(arguments) {
        try changes?.addHistory(of: job, from: app)
      }
      if arguments.has("json") {
        let members = JobText.json(job, run: run, waits: reader.waits, use: answer?.use).objectValue ?? []
        Output.line(JSONValue.object(members + (changes?.members ?? [])).text)
      } else {
        JobStory.lines(
          job, status: status, run: run, obstacle: answer?.obstacle, use: answer?.use, reader: arguments.adviceReader
        ).forEach(Output.line)
        guard let changes else { return }
        (["", "what it changed"] + changes.lines(kind: job.kind).map { "  \($0)" }).forEach(Output.line)
      }
    }
    if !isFound { Output.error("workerpool jobs: there is no job \(jobName)\n") }
    return isFound ? .success : .failure
  }
  if try arguments.word("group-by", among: ["tag"]) != nil {
    let tags = try reader.tags(filter)
    let shown = tags.prefix(limit == 0 ? tags.count : limit)
    if arguments.has("json") {
      for tag in shown { Output.line(tag.json.text) }
    } else {
      let lines = tags.isEmpty ? ["no jobs with tags"] : TagCounts.table(Array(shown)).lines(Output.layout)
      lines.forEach(Output.line)
      let missing = tags.count - shown.count
      if missing > 0 { Output.line("\(Plural.text(missing, "more tag")); --limit 0 shows all") }
    }
    return .success
  }
  if arguments.has("json") {
    try reader.jobs(filter, order: order, limit: limit) { job, run in
      Output.line(JobText.json(job, run: run, waits: reader.waits).text)
    }
    return .success
  }
  if arguments.has("watch"), let screen = Screen() {
    defer { screen.close() }
    try watch(reader, filter, order, arguments, on: screen)
    return .success
  }
  let jobs = try table(of: reader, filter, order, limit: limit, columns: columns)
  guard jobs.isEmpty else {
    jobs.lines(Output.layout).forEach(Output.line)
    return .success
  }
  Output.line("no jobs")
  for sentence in try reader.unknownNames(in: filter) { Output.error(sentence + "\n") }
  return .success
}

private func appReader(_ arguments: ParsedArguments) throws -> StoreReader {
  let store = try arguments.storePath()
  return try StoreReader(store: store, model: arguments.has("store") ? nil : try arguments.modelPath())
}

/// The columns that the arguments name; nil for the usual ones.
private func columns(_ arguments: ParsedArguments) throws -> [String]? {
  guard let text = arguments.string("columns") else { return nil }
  let names = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
  for name in names where !JobText.columns.contains(name) {
    let hint = Spelling.hint(to: name, among: JobText.columns, otherwise: JobText.columns.joined(separator: ", "))
    throw UsageError("--columns: no job has \"\(name)\"\(hint)")
  }
  return names
}

/// A table of some members of the jobs' JSON.
private func table(
  of reader: StoreReader, _ filter: JobFilter, _ order: JobOrder, limit: Int, columns: [String]?
) throws -> TextTable {
  guard let columns else { return try table(of: reader, filter, order, limit: limit) }
  var rows = TextTable(columns.map { .text($0) })
  try reader.jobs(filter, order: order, limit: limit) { job, run in
    let json = JobText.json(job, run: run, waits: reader.waits)
    rows.add(
      columns.map { name in
        name == "job" ? job.objectID.objectURI?.name ?? "" : TextTable.cell(json[name] ?? .null)
      })
  }
  return rows
}

private func table(of reader: StoreReader, _ filter: JobFilter, _ order: JobOrder, limit: Int) throws -> TextTable {
  var table = JobText.table(hasHosts: reader.isShared)
  try reader.jobs(filter, order: order, limit: limit) { job, run in
    JobText.add(job, run: run, waits: reader.waits, hasHosts: reader.isShared, to: &table)
  }
  return table
}

/// Shows jobs until the user quits.
private func watch(
  _ reader: StoreReader, _ filter: JobFilter, _ order: JobOrder, _ arguments: ParsedArguments, on screen: Screen
) throws {
  var content = JobsScreen(filter, order: order)
  while true {
    let start = Clock.now
    let status = JobFilterOptions.noteWaits(arguments, in: reader)
    if let uri = content.openedURI {
      var lines: [String] = []
      let isFound = try reader.job(uri) { job, run in
        lines = JobStory.lines(job, status: status, run: run, reader: arguments.adviceReader)
      }
      content.show(story: isFound ? lines : ["the job has been deleted"])
    } else {
      try read(reader, order, into: &content, rows: screen.size.rows)
    }
    // An order without an index reads all jobs: that may not keep a processor busy.
    let next = Clock.now + max(1, 5 * (Clock.now - start))
    var mustRead = false
    repeat {
      let rows = screen.size.rows
      let clock = Timestamp.text(Date()).dropFirst(11).prefix(8)
      screen.show(content.lines(layout: Output.layout, rows: rows, clock: String(clock)))
      screen.isTyping = content.isTyping
      let event = screen.nextEvent(within: content.isTyping ? 60 : max(0, next - Clock.now))
      if event == .quit { return }
      mustRead = content.handle(event, rows: rows)
    } while !mustRead && (Clock.now < next || content.isTyping)
  }
}

/// Reads the jobs of a list that is watched.
private func read(_ reader: StoreReader, _ order: JobOrder, into content: inout JobsScreen, rows: Int) throws {
  var filter = content.filter
  // A person waits for the next key.
  if filter.search != nil { filter.after = max(0, try reader.newestKey() - JobFilter.searched) }
  var uris: [String] = []
  var table = JobText.table(hasHosts: reader.isShared)
  try reader.jobs(filter, order: order, limit: content.limit(rows: rows)) { job, run in
    uris.append(job.objectID.uriString)
    JobText.add(job, run: run, waits: reader.waits, hasHosts: reader.isShared, to: &table)
  }
  var layout = Output.layout
  layout.columns = layout.columns.map { max(1, $0 - JobsScreen.markWidth) }
  content.show(jobs: uris, table: table.lines(layout))
}
