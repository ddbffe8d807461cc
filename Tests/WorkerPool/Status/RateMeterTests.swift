import PoolMetrics
import Testing
import WorkerProtocol

@testable import WorkerPool

@Suite struct RateMeterTests {
  @Test func ratesAreThoseOfTheLastMinutes() {
    var meter = RateMeter(now: 1000)
    // Ten in each second of twenty minutes, then none for two.
    for second in 0..<1200 { meter.add(10, now: 1000 + Double(second)) }
    #expect(abs(meter.perSecond(minutes: 1, now: 2200) - 10) < 0.5)
    #expect(abs(meter.perSecond(minutes: 15, now: 2200) - 10) < 0.5)
    #expect(meter.perSecond(minutes: 1, now: 2320) == 0)
    #expect(abs(meter.perSecond(minutes: 5, now: 2320) - 6) < 0.5)
    #expect(meter.perSecond(minutes: 15, now: 1e9) == 0)
  }

  @Test func aYoungPoolCountsFromItsStart() {
    var meter = RateMeter(now: 50)
    meter.add(30, now: 53)
    #expect(meter.perSecond(minutes: 15, now: 60) == 3)
  }
}

@Suite struct StatusAdviceTests {
  private let status = PoolStatus(
    pid: 1, store: "s", model: "m", phase: "running", age: 100, isPaused: false, pausedQueues: ["slow"],
    pausedKinds: [],
    workerCount: 1,
    workers: [
      PoolStatus.Worker(
        id: 3, plugin: "a", pid: 77, phase: "up", age: 9000, credit: 1, holding: 1,
        running: ["x-coredata://A/PoolJob/p17"],
        busy: 7200, jobsDone: 4, memory: 1 << 20, processorTime: 1.5, isRetiring: false, path: "/worker-a",
        lastLines: [])
    ],
    plugins: [PoolStatus.Plugin(name: "b", kinds: ["b"], workers: 0, failure: "it exited\u{1B}[2J")], waiting: [:],
    counters: .init(), restarts: 0, jobs: ["dead": 2], walBytes: 100 << 20,
    rates: [.init(minutes: 1, done: 1.25, failed: 0)], waitingTime: .init([0.001]), runTime: .init([1, 2, 3]),
    backlog: [.init(state: "available", kind: "b", queue: "q\"1\"", count: 5)], problems: [], rejectedFiles: 1)

  @Test func whateverIsStuckIsNamedWithWhatToDo() {
    let text = StatusAdvice.lines(status).joined(separator: "\n")
    for part in [
      "plugin b is not in use: it exited", "workerpool reload",
      "queue slow is paused; to go on: workerpool resume slow",
      "5 jobs of kind b wait, and no plugin runs that kind", "2 jobs are dead", "workerpool retry JOB",
      "1 bad file lies in rejected/", "worker 3 has been on p17 for 2 h 0 min", "workerpool workers show 77",
      "workerpool cancel p17",
    ] {
      #expect(text.contains(part), "\(part) is not in\n\(text)")
    }
  }

  /// Two long jobs have both workers, and a kind without a worker waits.
  @Test func longJobsThatKeepAnotherKindWaitingAreAdvisedToLeaveItAWorker() {
    var changed = status
    changed.plugins = [.init(name: "a", kinds: ["a"], workers: 1), .init(name: "b", kinds: ["b", "c"], workers: 0)]
    changed.kinds = [.init(kind: "b", oldestWaiting: 125), .init(kind: "c", oldestWaiting: 125)]
    changed.kinds?[0].couldBegin = 5
    let text = StatusAdvice.lines(changed).joined(separator: "\n")
    #expect(
      text.contains(
        "a job of kind b has been waiting for 2 min 5 s, because long jobs of a have all workers; to keep a worker for "
          + "it: workerpool scale b=1, and from the next start on: workerpool run --workers b=1"), "\(text)")
    // What a limit, a rate or a pause holds back would not begin in another worker either.
    #expect(!text.contains("job of kind c"), "\(text)")
    changed.workers[0].busy = 1
    #expect(!StatusAdvice.lines(changed).contains { $0.contains("has been waiting") })
  }

  @Test func aFullDiskIsAdvice() {
    var changed = status
    changed.fullDisks = [.init(path: "/srv/queue", freeBytes: 2048)]
    let text = StatusAdvice.lines(changed).joined(separator: "\n")
    #expect(text.contains("the disk of /srv/queue is full (2 KiB left)"), "\(text)")
    changed.fullDisks = [.init(path: "postgresql://db/app", freeBytes: nil)]
    let atServer = StatusAdvice.lines(changed).joined(separator: "\n")
    #expect(atServer.contains("the disk of postgresql://db/app is full: job files cannot be taken"), "\(atServer)")
    #expect(atServer.contains("make some at the database's server"), "\(atServer)")
  }

  /// `kill 0` ends the caller's own process group.
  @Test func aWorkerThatIsBeingStartedHasNoProcessID() throws {
    var changed = status
    changed.workers[0].pid = nil
    changed.workers[0].phase = "starting"
    let json = try JSONParser.parse(StatusText.json(changed))
    let worker = try #require(json["workers"]?.arrayValue?.first)
    #expect(worker["pid"] == nil && worker["phase"]?.stringValue == "starting")
    #expect(WorkerStory.lines(changed.workers[0]).first == "worker 3, which is being started")
    #expect(!WorkerStory.lines(changed.workers[0]).contains { $0.contains("kill") })
    #expect(!PrometheusText.text(changed).contains("workerpool_worker_busy{"))
  }

  /// A user who reads that no plugin runs a kind may cancel its jobs.
  @Test func aPluginThatHasNotAnsweredMayRunTheKindsThatNobodyElseRuns() {
    var changed = status
    changed.plugins[0].isAsked = true
    let text = StatusAdvice.lines(changed).joined(separator: "\n")
    #expect(text.contains("plugin b is not in use yet: it exited"))
    #expect(
      text.contains(
        "5 jobs of kind b wait, and no plugin that has answered runs that kind; not known yet: the kinds of b"))
    #expect(!text.contains("or cancel them"))
  }

  /// A long log alone is nobody's fault: it gets short by itself.
  @Test func aLongLogIsBlamedOnWhoeverHoldsIt() {
    func advice(_ change: (inout PoolStatus) -> Void) -> String {
      var changed = status
      change(&changed)
      return StatusAdvice.lines(changed).filter { $0.contains("the write-ahead log") }.joined(separator: "\n")
    }
    #expect(advice { _ in } == "")
    #expect(
      advice { $0.walReaders = [.init(pid: 4711, command: "sqlite3", age: 90)] }
        == "the write-ahead log has 100 MiB, because process 4711 (sqlite3) has been reading an older state for "
        + "1 min 30 s: let it end its transaction, or end it")
    #expect(advice { $0.walIsHeldByOthers = true }.contains("because programs outside the pool write to the store"))
  }

  @Test func nothingFromOutsideReachesTheTerminalAsItIs() {
    let text = StatusText.lines(status).joined(separator: "\n")
    #expect(text.contains(#"it exited\u{1b}[2J"#))
    #expect(!text.contains("\u{1B}"))
    var paused = status
    paused.pausedQueues = ["a\u{1B}[2J\nb"]
    #expect(StatusText.lines(paused).allSatisfy { !$0.contains("\u{1B}") && !$0.contains("\n") })
  }

  /// The longest backlog first, with what ended lately and what is limited.
  @Test func queuesAndKindsAreSortedByTheirBacklog() throws {
    var status = status
    status.backlog = [
      .init(state: "available", kind: "a", queue: "short", count: 2),
      .init(state: "available", kind: "a", queue: "long", count: 3),
      .init(state: "scheduled", kind: "a", queue: "long", count: 1234),
    ]
    #expect(!StatusText.lines(status).contains { $0.contains("per min") }, "the store was not read")
    status.activity = [
      .init(queue: "idle", kind: "a", succeededPerMinute: 0.5, died: 0),
      .init(queue: "long", kind: "a", oldestWaiting: 4000, succeededPerMinute: 12.25, died: 3),
    ]
    status.limits = [
      .init(kind: "a", limit: 2, held: 1, rate: JobRate(jobs: 100, period: 60)),
      .init(queue: "long", limit: 5, held: 0), .init(queue: "tenant-*", limit: 3, held: nil),
    ]
    let lines = StatusText.lines(status)
    let header = try #require(lines.firstIndex { $0.hasPrefix("queue ") })
    let rows = lines[header...].prefix(4).map { $0.split(separator: " ").map(String.init) }
    #expect(rows[0].first == "queue" && rows[0].suffix(4) == ["oldest", "per", "min", "died"])
    #expect(rows.dropFirst().map(\.first) == ["long", "short", "idle"])
    #expect(rows[1].suffix(4) == ["1", "h", "12.3", "3"] && rows[3].suffix(2) == ["0.5", "0"])
    #expect(lines[header...].prefix(4).allSatisfy { $0.count <= 120 })
    let limits = "limits    kind a: 1 of 2, 100 in 60 s; queue long: 0 of 5; queues tenant-*: 3 each"
    #expect(lines.contains(limits), "\(lines)")
  }

  @Test func metricsAreInPrometheusFormat() throws {
    var status = status
    // A carriage return and a newline are one character in Swift.
    status.backlog?.append(.init(state: "available", kind: "b", queue: "one\r\ntwo\\", count: 1))
    let text = PrometheusText.text(status)
    #expect(text.contains(#"queue="one"# + "\r" + #"\ntwo\\""#))
    #expect(text.contains("# TYPE workerpool_jobs gauge\nworkerpool_jobs{state=\"dead\"} 2\n"))
    #expect(text.contains(#"workerpool_backlog{kind="b",queue="q\"1\"",state="available"} 5"#))
    #expect(text.contains(#"workerpool_job_run_seconds{quantile="0.5"} 2"#))
    #expect(text.contains(#"workerpool_worker_resident_memory_bytes{pid="77",plugin="a"} 1048576"#))
    let families = try PrometheusParser(text).families
    #expect(families["workerpool_backlog"]?.samples.last?.labels["queue"] == "one\r\ntwo\\")
  }

  @Test func metricsTellTimesAndOutcomesByKind() throws {
    // Given two kinds, one of which only waits
    var status = status
    var ran = PoolStatus.Kind(kind: "in\"dex")
    for seconds in [0.001, 0.005, 0.4, 10_000] { ran.running.add(seconds) }
    for seconds in [-1.0, 2] { ran.waiting.add(seconds) }
    ran.counters.done = 3
    ran.counters.timedOut = 1
    var use = ResourceUse()
    use.processorTime = 12.5
    (use.peakMemory, use.bytesRead) = (3 << 20, 4096)
    ran.use = use
    status.kinds = [ran, PoolStatus.Kind(kind: "mail", oldestWaiting: 90.5)]
    // When they are written
    let families = try PrometheusParser(PrometheusText.text(status)).families
    // Then buckets hold those before them, and a time that equals a bound is in its bucket
    func samples(_ name: String, _ kind: String) -> [PrometheusParser.Sample] {
      let all: [PrometheusParser.Sample] = families.values.flatMap(\.samples)
      return all.filter { $0.name == "workerpool_\(name)" && $0.labels["kind"] == kind }
    }
    let run = samples("job_run_duration_seconds_bucket", "in\"dex")
    #expect(run.map(\.value) == [2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4])
    var bounds: [String?] = TimeHistogram.bounds.map { "\($0)" }
    bounds.append("+Inf")
    #expect(run.map { $0.labels["le"] } == bounds)
    #expect(samples("job_run_duration_seconds_sum", "in\"dex").map(\.value) == [10_000.406])
    // And a clock that was set back makes no negative time
    #expect(samples("job_wait_duration_seconds_sum", "in\"dex").map(\.value) == [2])
    #expect(samples("job_wait_duration_seconds_count", "in\"dex").map(\.value) == [2])
    #expect(samples("oldest_waiting_job_seconds", "mail").map(\.value) == [90.5])
    #expect(samples("oldest_waiting_job_seconds", "in\"dex").isEmpty)
    #expect(samples("attempts_total", "in\"dex").map(\.value) == [3, 0, 0, 1])
    #expect(samples("job_cpu_seconds_total", "in\"dex").map(\.value) == [12.5])
    #expect(samples("job_peak_memory_bytes", "in\"dex").map(\.value) == [Double(3 << 20)])
    #expect(samples("job_read_bytes_total", "in\"dex").map(\.value) == [4096])
    #expect(samples("job_written_bytes_total", "in\"dex").isEmpty, "the kernel did not tell")
    #expect(samples("job_cpu_seconds_total", "mail").isEmpty)
    // The status for people has the same.
    let text = StatusText.lines(status).joined(separator: "\n")
    #expect(text.contains("12.5 s") && text.contains("3 MiB") && text.contains("4 KiB"), "\(text)")
  }
}
