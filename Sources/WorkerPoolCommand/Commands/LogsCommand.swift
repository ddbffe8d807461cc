import Jobs
import LinuxSystem
import WorkerPool

let logsCommand = CommandDescription(
  name: "logs", summary: "Show the log of the pool, of a job or of a process",
  discussion: """
    Reads the log in the queue directory, with or without a running pool. For a job it shows what
    happened to it, and what its worker wrote while it ran.

      workerpool logs p17
      workerpool logs 4711 --follow
    """,
  operands: [
    Operand(
      name: "JOB|PID", help: "only lines about this job (p17, or its whole URI) or this process ID", isOptional: true)
  ],
  options: [
    CommonOptions.queue,
    CommandOption(name: "follow", help: "go on with the lines to come, also those of later pools"),
    CommandOption(
      name: "lines", short: "n", value: "N", help: "only the last N lines", defaultText: "all, with --follow 10"),
    CommandOption(name: "json", help: "print the lines as they are in the log: a JSON object each"),
  ],
  run: logs)

@Sendable private func logs(_ arguments: ParsedArguments) throws -> ExitCode {
  let count = try arguments.int("lines", in: 0...10_000_000) ?? (arguments.has("follow") ? 10 : nil)
  let reader = try LogReader(queue: arguments.queue, filter: try filter(arguments.operands.first))
  var isEmpty = true
  let show: (LogLine) -> Void = { line in
    isEmpty = false
    Output.line(arguments.has("json") ? line.json.text : line.text)
  }
  if let count {
    var last = LastElements<LogLine>(count)
    try reader.read { last.append($0) }
    last.elements.forEach(show)
  } else {
    try reader.read(show)
  }
  if isEmpty, count != 0, let about = arguments.operands.first {
    let advice = about.isJob ? "; jobs that begin and succeed are left out, see workerpool jobs show \(about)" : ""
    Output.error("no line of the log is about \(about)\(advice)\n")
  }
  if arguments.has("follow") { try reader.follow(show) }
  return .success
}

private func filter(_ word: String?) throws(UsageError) -> LogFilter {
  var filter = LogFilter()
  guard let word else { return filter }
  if let pid = Int32(word), pid > 0 {
    filter.pid = pid
  } else if word.isJob {
    filter.job = word
  } else {
    throw UsageError("\"\(word)\" is neither a job, such as p17, nor a process ID")
  }
  return filter
}

extension String {
  /// Whether it names a job, as its URI or as p17.
  fileprivate var isJob: Bool { ObjectURI(self) != nil || ObjectURI.key(name: self) != nil }
}

/// The last few elements of many.
private struct LastElements<Element> {
  private let count: Int
  private var ring: [Element] = []
  private var next = 0

  init(_ count: Int) { self.count = count }

  mutating func append(_ element: Element) {
    guard count > 0 else { return }
    if ring.count < count {
      ring.append(element)
    } else {
      ring[next] = element
      next = (next + 1) % count
    }
  }

  var elements: [Element] { Array(ring[next...] + ring[..<next]) }
}
