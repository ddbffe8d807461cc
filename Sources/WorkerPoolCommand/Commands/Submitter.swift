import Foundation
import Jobs
import LinuxSystem
import PoolClient

/// Submits jobs and prints the results: their URIs, and with `--wait` their ends.
struct Submitter {
  let queue: String
  let asJSON: Bool
  let waits: Bool
  /// By it the pool recognises the submission, so that it takes none twice.
  let token: String

  /// The options of every command that submits jobs.
  static let options = [
    CommandOption(
      name: "wait",
      help: "wait until all jobs have ended, and print how; exit with 0 if all have succeeded, with 1 if not"),
    CommandOption(name: "json", help: "print a JSON object on each line for each job"),
    CommandOption(
      name: "submission", value: "TOKEN",
      help:
        "a name for this submission: repeated with the same name, it adds no job and tells of those of the first time",
      defaultText: "a random one"),
  ]

  /// Seconds that a pool gets to take the file before the command returns without URIs.
  private static let timeout = 10.0

  init(_ arguments: ParsedArguments) throws(UsageError) {
    queue = arguments.queue
    asJSON = arguments.has("json")
    waits = arguments.has("wait")
    token = arguments.string("submission") ?? UUID().uuidString.lowercased()
    guard JobRequest.isName(token) else {
      throw UsageError("--submission must be a name of 1 to 100 letters, digits, \".\", \"_\" and \"-\"")
    }
  }

  func submit(_ jobs: [JobRequest]) throws -> ExitCode {
    var jobs = jobs
    guard !jobs.isEmpty else { return .success }
    jobs[0].submission = token
    let file = try JobSubmission(queue: queue).submit(jobs)
    let inquiry = SubmissionInquiry(queue: queue, token: token, file: file)
    var progress = ProgressLine()
    while true {
      switch inquiry.ask(timeout: waits ? 1 : Self.timeout) {
      case .taken(let submission):
        progress.clear()
        return waits ? try follow(submission, progress) : tell(submission)
      case .rejected(let reason):
        progress.clear()
        Output.error("the pool does not accept the submission: \(reason)\n")
        return .failure
      case .unknown(let reason) where waits:
        progress.show("\(Plural.text(jobs.count, "job")) in a file; waiting for a pool to take it: \(reason)")
        Thread.sleep(forTimeInterval: 0.5)
      case .unknown(let reason):
        tellOfFile(file, jobs.count, reason)
        return .success
      }
    }
  }

  // MARK: Without waiting

  private func tell(_ submission: StatusReply.Submission) -> ExitCode {
    var existing = 0
    let uris = submission.jobURIs
    for run in submission.runs {
      if !run.isNew { existing += run.count }
      for key in run.keys {
        let uri = uris[key].description
        let line = JSONValue.object([JSONMember("job", .string(uri)), JSONMember("isNew", .bool(run.isNew))])
        Output.line(asJSON ? line.text : uri)
      }
    }
    if existing > 0 {
      Output.error(
        "\(Plural.text(existing, "job")) had been submitted before with the same unique key; no second one is added\n")
    }
    return .success
  }

  private func tellOfFile(_ file: String, _ count: Int, _ reason: String) {
    if asJSON {
      Output.line(
        JSONValue.object([
          JSONMember("submission", .string(token)), JSONMember("file", .string(file)),
          JSONMember("count", .number(count)), JSONMember("reason", .string(reason)),
        ]).text)
    }
    Output.error(
      """
      \(Plural.text(count, "job")) submitted, in \(file): \(reason).
      A pool that runs on \(queue) takes them. \
      The same command with --submission \(token) tells their URIs then, and adds no job.

      """)
  }

  // MARK: Waiting

  private func follow(_ submission: StatusReply.Submission, _ progress: ProgressLine) throws -> ExitCode {
    let keys = submission.runs.flatMap(\.keys)
    let follower = try JobFollower(store: submission.store, queue: queue, jobs: keys)
    var progress = progress
    var toldAttempts: [Int64: Int] = [:]
    try follower.follow { end in
      progress.clear()
      switch end {
      case .finished(let job):
        if asJSON { Output.line(JobText.json(job).text) } else { JobText.end(job).forEach(Output.line) }
      case .missing(let uri):
        let members = [JSONMember("job", .string(uri.description)), JSONMember("state", .string("deleted"))]
        Output.line(asJSON ? JSONValue.object(members).text : "\(uri) deleted")
      }
    } checked: { failure in
      let tally = follower.tally
      guard tally.unfinished > 0 else { return }
      // A program that waits for thousands of jobs does not want to read of each failure.
      let failed = follower.retries.filter { toldAttempts[$0] != $1.attempts }.sorted { $0.key < $1.key }
      if !failed.isEmpty { progress.clear() }
      for (key, retry) in failed {
        toldAttempts[key] = retry.attempts
        if toldAttempts.count <= Self.mostToldFailures { Output.error(Self.text(retry) + "\n") }
      }
      let lost = tally.failed > 0 ? ", \(tally.failed) of them without success" : ""
      let count = tally.succeeded + tally.failed
      let ended = "\(count) of \(Plural.text(keys.count, "job")) ended\(lost)" + Self.text(follower.retries)
      if let failure {
        progress.show("\(ended); \(failure)")
      } else if keys.count == 1, let part = Self.progress(of: submission.jobURIs[keys[0]].description, queue) {
        progress.show("\(part.done) of \(part.total) done", done: part.done, of: part.total)
      } else {
        progress.show(ended, done: count, of: keys.count)
      }
    }
    progress.clear()
    return follower.tally.failed == 0 ? .success : .failure
  }

  /// Jobs whose failures are told one by one; of further ones only the number is.
  private static let mostToldFailures = 20

  private static func text(_ retry: JobFollower.Retry) -> String {
    let attempts = retry.attempts == 1 ? "attempt 1 has" : "\(retry.attempts) attempts have"
    return TerminalText.escaped(
      "\(retry.job): \(attempts) failed: \(retry.error); the next one is at \(Timestamp.text(retry.next)), "
        + Self.wait(until: retry.next))
  }

  /// How many jobs wait for their next attempt, and until when; empty if none does.
  private static func text(_ retries: [Int64: JobFollower.Retry]) -> String {
    guard let next = retries.values.map(\.next).min() else { return "" }
    let count = retries.count == 1 ? "1 waits for its next attempt" : "\(retries.count) wait for their next attempts"
    return "; \(count), \(wait(until: next))"
  }

  private static func wait(until date: Date) -> String {
    let seconds = date.timeIntervalSinceNow.rounded(.up)
    return seconds > 0 ? "in \(StatusText.duration(seconds))" : "now"
  }

  /// How far the only job is, in the units in which its worker counts: bytes of an import, rows of an export, pages
  /// of a backup. Nil while it does not run, or does not say.
  private static func progress(of job: String, _ queue: String) -> (done: Int, total: Int)? {
    // A pool that does not answer shows no progress; the wait itself notices its end.
    guard let status = try? StatusClient(queue: queue).request(StatusRequest(.status), within: 1).status,
      let worker = status.workers.first(where: { $0.running.contains(job) }), let done = worker.progressDone,
      let total = worker.progressTotal, total > 0
    else { return nil }
    return (done, total)
  }
}
