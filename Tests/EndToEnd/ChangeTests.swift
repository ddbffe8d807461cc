import Foundation
import Jobs
import Testing
import WorkerPool

/// Changes to many jobs at a time: `retry`, `cancel` and `delete` by filter.
@Suite(.serialized) struct ChangeTests {
  private func rows(_ items: ItemPool, _ condition: String = "1") throws -> Int {
    try #require(Int(try sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB WHERE \(condition)")))
  }

  @Test(.timeLimit(.minutes(20)))
  func nothingIsChangedBeforeSomebodyHasSaidThatItIsMeant() throws {
    let items = try ItemPool(items: 3)
    let pool = try items.start()
    try items.submit("fail-for-good")
    try pool.wait { $0.jobs?["dead"] == 3 }
    let unasked = try pool.command("delete", "--state", "dead")
    #expect(
      unasked.code == 2 && unasked.errors.contains("3 jobs match: 3 dead. There is no terminal to ask at"), "\(unasked)"
    )
    let dry = try pool.command("delete", "--kind", "fail-for-good", "--dry-run")
    #expect(dry.code == 0 && dry.output == "3 jobs match: 3 dead\n", "\(dry)")
    #expect(try rows(items) == 3)
    #expect(try pool.command("delete", "p1").output == "1 of 1 job deleted\n")
    #expect(try pool.command("delete", "--state", "dead", "--yes").output == "2 of 2 jobs deleted\n")
    #expect(try pool.command("delete", "--state", "dead", "--yes").output == "no job matches\n")
    #expect(try rows(items) == 0)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)), arguments: ["n", "y"])
  func aPersonAtATerminalIsAsked(answer: String) throws {
    // Given a dead job, and a person at a terminal
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("fail-for-good")
    try pool.wait { $0.jobs?["dead"] == 1 }
    // ioctl_tty(2), TIOCSPTLCK and TIOCGPTN: unlocks the other end, and tells its number.
    let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(terminal) }
    var (lock, number): (Int32, Int32) = (0, 0)
    try #require(ioctl(terminal, 0x4004_5431, &lock) == 0 && ioctl(terminal, 0x8004_5430, &number) == 0)
    let other = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(other) }
    // When they answer
    #expect(write(terminal, answer + "\n", 2) == 2)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Built.path("workerpool"))
    process.arguments = ["delete", "--queue", items.queue, "--state", "dead"]
    process.standardInput = FileHandle(fileDescriptor: other)
    process.standardError = FileHandle(fileDescriptor: other)
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    try output.fileHandleForWriting.close()
    let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    // Then that is done, and nothing else
    #expect(said == (answer == "y" ? "1 of 1 job deleted\n" : "nothing is changed\n"))
    #expect(process.terminationStatus == (answer == "y" ? 0 : 1))
    #expect(try rows(items) == (answer == "y" ? 0 : 1))
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func whatRunsAndWhatOthersWaitForIsNotDeleted() throws {
    // Given a job that runs, one for later, and one that waits for it
    let items = try ItemPool()
    let pool = try items.start()
    let end = items.place.path("end")
    try items.submit("wait", "--set", "until=\(end)")
    try pool.waitForRunningWorker()
    let later = try pool.command("submit", "nothing", "--run-at", "2999-01-01T00:00:00Z").lines
    try pool.submit("nothing", "--after", try #require(later.first))
    try pool.wait { $0.jobs?["blocked"] == 1 }
    // When they are to be deleted
    let running = try pool.command("delete", "--kind", "wait", "--yes")
    let awaited = try pool.command("delete", "p2", "--json")
    // Then they stay, and the reason is said
    #expect(running.code == 1 && running.output == "0 of 1 job deleted; 1 run now: workerpool cancel\n", "\(running)")
    #expect(awaited.code == 1 && awaited.output == #"{"jobs":1,"done":0,"running":0,"awaited":1}"# + "\n", "\(awaited)")
    #expect(try rows(items) == 3)
    // And with the word for it what waited goes on
    #expect(try pool.command("delete", "p2", "--even-if-awaited").code == 0)
    try items.place.write("", to: "end")
    try pool.waitForJobs(2)
    #expect(try rows(items) == 2)
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }

  @Test(.timeLimit(.minutes(20)))
  func aJobThatIsNamedTwiceCountsOnce() throws {
    let items = try ItemPool()
    let pool = try items.start()
    for _ in 1...2 { try pool.submit("nothing", "--run-at", "2999-01-01T00:00:00Z") }
    try pool.wait { $0.jobs?["scheduled"] == 2 }
    let first = try #require(try pool.command("jobs", "--json", "--limit", "0").lines.last)
    let uri = try #require(try JSONParser.parse(first)["job"]?.stringValue)
    for (command, done) in [("cancel", "cancelled"), ("retry", "will run again")] {
      let finished = try pool.command(command, "p1", uri, "p1")
      #expect(finished.code == 0 && finished.output == "1 of 1 job \(done)\n", "\(finished)")
    }
    try pool.waitForJobs(1)
    let deleted = try StatusClient(queue: pool.queue).request(StatusRequest(.delete, jobs: [uri, uri]))
    #expect(deleted.count == 1 && deleted.kept?.missing == 0, "\(deleted)")
    for command in ["cancel", "retry"] {
      let missing = try pool.command(command, "p99")
      #expect(missing.code == 1 && missing.errors.contains("/PoolJob/p99, or not any more"), "\(missing)")
    }
    let finished = try pool.command("delete", "p2", "p2", "p99", "p99")
    #expect(finished.code == 1 && finished.output == "1 of 2 jobs deleted; 1 not found\n", "\(finished)")
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func manyJobsAreChangedInSteps() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let count = 2500
    let line = #"{"kind": "nothing", "runAt": "2999-01-01T00:00:00Z"}"#
    let file = try items.place.write(String(repeating: line + "\n", count: count), to: "many.json")
    try FileManager.default.moveItem(atPath: file, toPath: items.queue + "/incoming/many.json")
    try pool.wait { $0.jobs?["scheduled"] == count }
    let cancelled = try pool.command("cancel", "--kind", "nothing", "--yes")
    #expect(cancelled.output == "2500 of 2500 jobs cancelled\n", "\(cancelled)")
    // What is cancelled already is not counted.
    #expect(try pool.command("cancel", "--kind", "nothing", "--yes").output == "no job matches\n")
    let retried = try pool.command("retry", "--state", "cancelled", "--yes")
    #expect(retried.output == "2500 of 2500 jobs will run again\n", "\(retried)")
    try pool.waitForJobs(count)
    #expect(try pool.command("delete", "--state", "succeeded", "--yes").output == "2500 of 2500 jobs deleted\n")
    #expect(try rows(items) == 0)
    try pool.stop()
  }

  /// Jobs are deleted while others of them run:
  ///
  ///     workers                    test
  ///     run jobs, oldest first     deletes what is available
  ///
  /// Each job has run to its end or was deleted before it began: those in the store have all had their effect, once.
  @Test(.timeLimit(.minutes(20)))
  func whatIsDeletedWhileOthersRunHasNotBegun() throws {
    let items = try ItemPool(items: 40)
    let pool = try items.start(workers: 2)
    let count = 4000
    let lines = (0..<count).map { #"{"kind": "add-slowly", "objects": ["\#(items.items[$0 % 40])"]}"# }
    let file = try items.place.write(lines.joined(separator: "\n"), to: "many.json")
    try FileManager.default.moveItem(atPath: file, toPath: items.queue + "/incoming/many.json")
    try pool.wait { ($0.jobs?["succeeded"] ?? 0) > 10 }
    _ = try pool.command("delete", "--state", "available", "--yes")
    try pool.wait { ($0.jobs?["available"] ?? 0) + ($0.jobs?["running"] ?? 0) == 0 && $0.jobs?["retryable"] == 0 }
    let succeeded = try rows(items, "ZSTATE = 3")
    #expect(try sqlite(items.store, "SELECT sum(ZVALUE) FROM ZITEM") == "\(succeeded)")
    #expect(try rows(items) == succeeded)
    #expect(succeeded < count)
    try pool.stop()
  }
}
