import Foundation
import Jobs
import Synchronization
import TestFiles
import Testing
import WorkerPool

/// What `workerpool submit` tells of the jobs that it submits.
@Suite(.serialized) struct SubmitTests {
  private func submit(_ items: ItemPool, _ arguments: String...) throws -> Finished {
    try run(Built.path("workerpool"), ["submit", "--queue", items.queue] + arguments)
  }

  /// The URIs of all jobs, the oldest first.
  private func uris(_ items: ItemPool) throws -> [String] {
    let jobs = try run(Built.path("workerpool"), ["jobs", "--json", "--limit", "0", "--store", items.store])
    return try jobs.lines.reversed().map { line in
      struct Line: Decodable { let job: String }
      return try JSONDecoder().decode(Line.self, from: Data(line.utf8)).job
    }
  }

  @Test(.timeLimit(.minutes(20)))
  func theURIsAreThoseOfTheStore() throws {
    // Given a pool
    let items = try ItemPool(items: 3)
    let pool = try items.start()
    // When jobs are submitted, one by itself and one for each object of a query
    let one = try submit(items, "nothing")
    let three = try submit(items, "add", "--entity", "Item", "--json")
    // Then what is printed are the URIs of the jobs in the store, in their order
    let uris = try uris(items)
    try #require(uris.count == 4)
    #expect(one.output == uris[0] + "\n" && one.code == 0, "\(one)")
    #expect(three.lines == uris.dropFirst().map { #"{"job":"\#($0)","isNew":true}"# }, "\(three)")
    try pool.waitForJobs(4)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func aSubmissionThatIsRepeatedTellsTheSameJobsAndAddsNone() throws {
    // Given a submission that was sent twice before any pool ran, as by a sender that was killed before it knew
    let items = try ItemPool()
    try FileManager.default.createDirectory(atPath: items.queue + "/incoming", withIntermediateDirectories: true)
    #expect(try submit(items, "add", items.items[0], "--submission", "first").output.isEmpty)
    #expect(try submit(items, "add", items.items[0], "--submission", "first").output.isEmpty)
    // When a pool runs, and it is sent again and again, also after a restart
    var pool = try items.start()
    let first = try submit(items, "add", items.items[0], "--submission", "first")
    try pool.waitForJobs(1)
    try pool.kill9()
    pool = try items.start()
    let second = try submit(items, "add", items.items[0], "--submission", "first")
    // Then there is one job, which has run once, and all that asked for it hear its URI
    #expect(try first.lines == uris(items) && first.code == 0, "\(first)")
    #expect(second.output == first.output, "\(second)")
    // The answer is in the store already: the last file may still wait to be taken, which the next pool would do.
    try pool.wait { _ in try FileManager.default.contentsOfDirectory(atPath: items.queue + "/incoming").isEmpty }
    #expect(try pool.command("stop").code == 0)
    try items.checkNothingIsLeft(of: pool)
  }

  @Test(.timeLimit(.minutes(20)))
  func aJobThatIsThereBeforeIsToldInsteadOfASecondOne() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let first = try submit(items, "wait", "--unique", "one", "--set", "until=\(items.place.path("end"))")
    let second = try submit(items, "wait", "--unique", "one", "--set", "until=\(items.place.path("end"))")
    #expect(second.output == first.output)
    #expect(second.errors.contains("1 job had been submitted before with the same unique key"))
    try items.place.write("", to: "end")
    try pool.waitForJobs(1)
    try pool.stop()
  }

  /// With 256 files, a pool has room for 64 clients.
  @Test(.timeLimit(.minutes(20)))
  func twoHundredWaitingSubmissionsAtOnceAllSucceed() throws {
    let items = try ItemPool()
    let pool = try RunningPool(
      items.place, store: items.store, model: items.model, plugins: items.plugins,
      behind: ["/usr/bin/prlimit", "--nofile=256:256"])
    let problems = Mutex<[String]>([])
    let done = DispatchGroup()
    for number in 0..<200 {
      done.enter()
      Thread.detachNewThread { [queue = items.queue] in
        defer { done.leave() }
        do {
          let token = "one-of-200-\(number)"
          var request = JobRequest(kind: "nothing")
          request.submission = token
          let file = try JobSubmission(queue: queue).submit([request])
          let inquiry = SubmissionInquiry(queue: queue, token: token, file: file)
          let answer = inquiry.ask(timeout: Double(TestLimit.seconds))
          guard case .taken(let jobs) = answer else { return problems.withLock { $0.append("\(token): \(answer)") } }
          let follower = try JobFollower(store: jobs.store, queue: queue, jobs: jobs.runs.flatMap(\.keys))
          try follower.follow { _ in
          } checked: { failure in
            // One that is told to come again asks the store meanwhile.
            if let failure, case .notRunning = failure { problems.withLock { $0.append("\(token): \(failure)") } }
          }
          if follower.tally.succeeded != 1 { problems.withLock { $0.append("\(token): \(follower.tally)") } }
        } catch {
          problems.withLock { $0.append("\(error)") }
        }
      }
    }
    let commands = try (0..<8).map { _ in
      let process = Process()
      process.executableURL = URL(fileURLWithPath: Built.path("workerpool"))
      process.arguments = ["submit", "--queue", items.queue, "nothing", "--wait"]
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      return process
    }
    for command in commands {
      command.waitUntilExit(within: TestLimit.seconds)
      #expect(command.terminationStatus == 0)
    }
    done.wait()
    #expect(problems.withLock(\.self) == [])
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func whatThePoolDoesNotAcceptFailsWithTheReason() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let finished = try submit(items, "nothing", "--after", "x-coredata://NOWHERE/PoolJob/p99")
    #expect(finished.code == 1)
    #expect(finished.errors.contains("does not accept the submission: job 1: "), "\(finished.errors)")
    #expect(finished.errors.contains("is not a job of this pool"))
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func waitingEndsWithTheJobsAndSaysHowTheyEnded() throws {
    let items = try ItemPool(items: 2)
    let pool = try items.start()
    let good = try submit(items, "add", "--entity", "Item", "--wait")
    #expect(good.code == 0, "\(good)")
    let uris = try uris(items)
    #expect(good.lines.sorted() == uris.map { "\($0) succeeded" }, "\(good)")
    let bad = try submit(items, "fail-for-good", "--wait", "--json")
    #expect(bad.code == 1 && bad.lines.count == 1, "\(bad)")
    #expect(bad.output.contains(#""state":"dead""#) && bad.output.contains("nothing can help"))
    let text = try submit(items, "fail-for-good", "--wait")
    #expect(text.code == 1 && text.output.contains(" dead: PermanentFailure: nothing can help"), "\(text)")
    try pool.stop()
  }

  /// The sender and the pool are killed at any step of the sender's file, and the sender's command is repeated each
  /// time until it has heard an answer:
  ///
  ///     sender                       pool
  ///     submits, or repeats it       takes the file, commits, removes it, answers
  ///     kill -9 at any step          kill -9 at any step, then the next one runs
  @Test(.timeLimit(.minutes(20)))
  func aSubmissionIsTakenOnceWheneverItsSenderAndThePoolAreKilled() throws {
    let items = try ItemPool()
    let rounds = 8
    var pool = try items.start()
    let steps = try JobFileSteps(queue: items.queue)
    for round in 0..<rounds {
      // The file is made, renamed into place (two steps), taken (two), removed.
      for step in (0...6).shuffled().prefix(2) {
        steps.skip()
        let sender = Process()
        sender.executableURL = URL(fileURLWithPath: Built.path("workerpool"))
        sender.arguments = ["submit", "--queue", items.queue, "add", items.items[0], "--submission", "round-\(round)"]
        sender.standardOutput = FileHandle.nullDevice
        sender.standardError = FileHandle.nullDevice
        try sender.run()
        try steps.wait(for: step, orEndOf: sender.processIdentifier)
        sender.send(SIGKILL)
        if Bool.random() {
          try pool.kill9()
          sender.waitUntilExit()
          pool = try items.start()
        } else {
          sender.waitUntilExit()
        }
      }
      let heard = try submit(items, "add", items.items[0], "--submission", "round-\(round)", "--wait")
      #expect(heard.code == 0, "\(heard)")
    }
    #expect(try sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB") == "\(rounds)")
    // A repeated file that a killed pool has just taken rests until the next scan, and the jobs of a file whose
    // submission is known are answered before the file is taken.
    try waitUntil("all files are taken and read") {
      try items.files("queue/taken").isEmpty && items.files("queue/incoming").allSatisfy(Self.isUnfinished)
    }
    #expect(try pool.command("stop").code == 0)
    // What a killed sender has written and not renamed is nobody's, and stays.
    for name in try FileManager.default.contentsOfDirectory(atPath: items.queue + "/incoming") {
      #expect(Self.isUnfinished(name))
      try FileManager.default.removeItem(atPath: items.queue + "/incoming/" + name)
    }
    try items.checkNothingIsLeft(of: pool, value: rounds)
  }

  private static func isUnfinished(_ name: String) -> Bool { name.hasPrefix(".") && name.hasSuffix(".tmp") }

  @Test(.timeLimit(.minutes(20)))
  func waitingSurvivesTheDeathOfThePool() throws {
    // Given a command that waits for a job that runs
    let items = try ItemPool()
    var pool = try items.start()
    let waiting = Process()
    waiting.executableURL = URL(fileURLWithPath: Built.path("workerpool"))
    waiting.arguments = [
      "submit", "--queue", items.queue, "wait", items.items[0], "--set", "until=\(items.place.path("end"))", "--wait",
    ]
    let output = Pipe()
    waiting.standardOutput = output
    waiting.standardError = FileHandle.nullDevice
    try waiting.run()
    try output.fileHandleForWriting.close()
    try pool.waitForRunningWorker()
    // When the pool is killed, another one runs, and the job can end
    try pool.kill9()
    pool = try items.start()
    try items.place.write("", to: "end")
    // Then that is noticed
    let lines = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    waiting.waitUntilExit()
    #expect(waiting.terminationStatus == 0)
    #expect(try lines == uris(items)[0] + " succeeded\n")
    #expect(try pool.command("stop").code == 0)
    try items.checkNothingIsLeft(of: pool)
  }

  @Test(.timeLimit(.minutes(20)))
  func everyFieldOfAJobHasAnOptionThatComesIntoTheFile() throws {
    // Given no pool: what is submitted stays in the file
    let items = try ItemPool()
    let incoming = items.queue + "/incoming"
    try FileManager.default.createDirectory(atPath: incoming, withIntermediateDirectories: true)
    let options = [
      "priority": "4", "job-queue": "slow", "run-at": "2096-01-01T00:00:00Z", "unique": "17", "unique-for": "60",
      "unique-by": "kind,parameters", "unique-period": "3600",
      "max-attempts": "7", "backoff": "2", "max-backoff": "30.5", "timeout": "1.5", "limit-key": "disk", "limit": "3",
      "after": "x-coredata://A/PoolJob/p1", "batch": "night", "after-batch": "day", "when-failed": "run",
      "tag": "spring sale",
    ]
    #expect(Set(options.keys) == Set(JobField.all.filter { $0.option != nil }.map(\.optionName)))
    // When all options are given
    let together = options.filter { $0.key != "unique-period" }
    let arguments = together.flatMap { ["--\($0.key)", $0.value] } + ["--set", "a=1"]
    let finished = try run(Built.path("workerpool"), ["submit", "--queue", items.queue, "nothing"] + arguments)
    #expect(finished.code == 0, "\(finished)")
    // Then the file asks for all of it
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: incoming).first)
    let job = try #require(
      try JobFile.parse([UInt8](FileManager.default.contents(atPath: incoming + "/" + name) ?? Data())).first)
    #expect(job.kind == "nothing" && job.parameters == #"{"a":1}"# && job.priority == 4 && job.queue == "slow")
    #expect(job.runAt == Timestamp.date("2096-01-01T00:00:00Z") && job.uniqueKey == "17" && job.maxAttempts == 7)
    #expect(job.timeout == 1.5 && job.limitKey == "disk" && job.batch == "night" && job.options.uniqueFor == 60)
    #expect(job.options.backoff == 2 && job.options.maxBackoff == 30.5 && job.options.limit == 3)
    #expect(job.options.after == ["x-coredata://A/PoolJob/p1"] && job.options.afterBatch == "day")
    #expect(job.options.whenFailed == .run && job.options.tags == ["spring sale"])
    #expect(job.uniqueBy == [.kind, .parameters])
    // The period takes the place of --unique-for.
    try FileManager.default.removeItem(atPath: incoming + "/" + name)
    let period = ["--unique", "17", "--unique-period", try #require(options["unique-period"])]
    #expect(try run(Built.path("workerpool"), ["submit", "--queue", items.queue, "nothing"] + period).code == 0)
    let other = try #require(try FileManager.default.contentsOfDirectory(atPath: incoming).first)
    let file = [UInt8](FileManager.default.contents(atPath: incoming + "/" + other) ?? Data())
    #expect(try JobFile.parse(file).first?.uniquePeriod == 3600)
  }

  @Test(
    .timeLimit(.minutes(20)),
    arguments: [
      (["--priority", "x"], #"--priority must be a whole number from -32768 to 32767, not "x""#),
      (["--timeout", "1e9"], #"--timeout must be a number of seconds above 0 and at most 2592000, not "1e9""#),
      (["--job-queue", "a b"], #"--job-queue must be a name of 1 to 100"#),
      (["--tag", "a,b"], "--tag must be an array of tags"), (["--run-at", "soon"], "--run-at must be a time"),
      (["--after", "p1"], #"--after needs a job's URI, not "p1""#), (["--when-failed", "no"], "--when-failed must be"),
    ])
  func aValueThatTheFileCouldNotHaveIsRefused(arguments: [String], message: String) throws {
    let items = try ItemPool()
    let finished = try run(Built.path("workerpool"), ["submit", "--queue", items.queue, "nothing"] + arguments)
    #expect(finished.code == 2 && finished.errors.contains(message), "\(finished)")
  }
}
