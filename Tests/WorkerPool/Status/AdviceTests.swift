import PoolClient
import Testing

@Suite struct AdviceTests {
  private let advice: Advice =
    "2 jobs are dead; why: \(.workerpool("jobs", "--state", "dead")); to run one again: \(.retry("JOB"))"

  @Test func commandsNameTheQueueDirectoryThatTheReaderNamed() {
    #expect(
      advice.text(for: AdviceReader(queue: "other/my queue"))
        == "2 jobs are dead; why: workerpool jobs --queue 'other/my queue' --state dead; "
        + "to run one again: workerpool retry --queue 'other/my queue' JOB")
  }

  @Test func commandsForThePoolOfTheDirectoryNameNoQueue() {
    #expect(
      advice.text(for: .plain)
        == "2 jobs are dead; why: workerpool jobs --state dead; to run one again: workerpool retry JOB")
  }

  @Test func argumentsAreQuotedForTheShell() {
    let advice: Advice = "to go on: \(.resume(queue: "it's mine"))"
    #expect(advice.text(for: .plain) == #"to go on: workerpool resume 'it'\''s mine'"#)
  }

  /// A worker may print the name of a command of another pool, and a job's message may have one.
  @Test func aTextThatNamesACommandStaysAsItIs() {
    let line = "stopped by workerpool stop on the other host"
    let worker = PoolStatus.Worker(
      id: 3, plugin: "a", pid: 77, phase: "up", age: 9, credit: 1, holding: 1, running: ["x-coredata://A/PoolJob/p17"],
      jobsDone: 4, isRetiring: false, path: "/worker-a", lastLines: [line])
    let lines = WorkerStory.lines(worker, reader: AdviceReader(queue: "q"))
    #expect(lines.contains("  | \(line)"), "\(lines)")
    #expect(lines.contains { $0.contains("workerpool cancel --queue q p17 ends it") }, "\(lines)")
  }

  /// The pool ends a silent worker after 30 to 45 seconds, and until then nobody else can write.
  @Test(arguments: [true, false]) func aStoppedWorkerIsNamedAtOnce(hasStoreLocked: Bool) {
    var worker = PoolStatus.Worker(
      id: 3, plugin: "a", pid: 77, phase: "up", age: 9, credit: 1, holding: 1, running: ["x-coredata://A/PoolJob/p17"],
      busy: 3, jobsDone: 4, isRetiring: false, path: "/worker-a", lastLines: [])
    worker.isStopped = true
    var status = PoolStatus(
      pid: 1, store: "/app.sqlite", model: "/App.momd", phase: "running", age: 9, isPaused: false, pausedQueues: [],
      pausedKinds: [], workerCount: 1, workers: [worker], plugins: [], waiting: [:], counters: .init(), restarts: 0,
      rates: [], problems: [])
    status.jobs = [:]
    status.lockHolders = hasStoreLocked ? [.init(pid: 77, command: "worker-a")] : []
    let harm = hasStoreLocked ? " while it has the store locked, and all jobs wait for that" : ""
    #expect(
      StatusAdvice.lines(status) == [
        "worker 3, process 77, is stopped by a signal or a debugger\(harm): let it go on (kill -CONT 77), or end it "
          + "(kill -KILL 77)"
      ])
  }
}
