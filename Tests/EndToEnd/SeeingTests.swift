import Foundation
import Jobs
import Testing
import WorkerPool

@testable import WorkerPool

/// What an operator sees of a pool.
@Suite(.serialized) struct SeeingTests {
  @Test(.timeLimit(.minutes(20)))
  func oneCommandTellsTheStoryOfAJobAndOfAWorker() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    let metrics = items.place.path("metrics.prom")
    try items.submit("misbehave", "--set", "how=abort")
    let pool = try items.start(options: ["--metrics-file", metrics])
    try pool.waitForJobs(1)
    try items.submit("nobody-runs-this", "--even-if-unknown")
    try items.submit("misbehave", "--set", "how=wait", "--set", "stop=\(stop.path)")
    let worker = try stop.waitForArrival()
    // One runs, and is not available as well.
    try pool.wait { !($0.backlog ?? []).isEmpty && $0.jobs?["available"] == 1 && $0.jobs?["running"] == 1 }

    let first = try pool.command("jobs", "show", "p1").output
    #expect(first.contains("state      succeeded"))
    #expect(first.contains("crash: was killed by signal 6") && first.contains("1 crashes"))
    let running = try pool.command("jobs", "show", "p3").output
    #expect(running.contains("running for") && running.contains("process \(worker.pid)"), "\(running)")
    #expect(running.contains("workerpool cancel --queue \(pool.queue) p3"))
    #expect(try pool.command("jobs", "show", "p2").output.contains("no plugin runs the kind nobody-runs-this"))
    #expect(try pool.command("jobs", "show", "p99").code == 1)

    let process = try pool.command("workers", "show", "\(worker.pid)").output
    #expect(process.contains("runs       x-coredata://") && process.contains("memory     "), "\(process)")
    #expect(try pool.command("workers", "show", "1234567").code == 1)

    let status = try pool.command("status").output
    for part in [
      "(last 1, 5, 15 minutes)", "half within", "what to do", "no plugin runs that kind",
      "what went wrong last", "p1 crashed", "queue    kind",
    ] {
      #expect(status.contains(part), "\(part) is not in\n\(status)")
    }
    let text = try pool.command("status", "--prometheus").output
    for sample in [
      #"jobs{state="succeeded"} 1"#, #"jobs{state="available"} 1"#, #"jobs{state="running"} 1"#,
      #"backlog{kind="misbehave",queue="default",state="running"} 1"#,
      #"backlog{kind="nobody-runs-this",queue="default",state="available"} 1"#,
    ] {
      #expect(text.contains("workerpool_\(sample)\n"), "\(sample) is not in\n\(text)")
    }
    #expect(!text.contains(#"backlog{kind="misbehave",queue="default",state="available"}"#))
    #expect(status.contains("1 running, 1 available"), "\(status)")
    #expect(try String(contentsOfFile: metrics, encoding: .utf8).contains("workerpool_up 1\n"))

    // Its stacks, for a person who asks: they come through the pool's log into the worker's last lines.
    kill(worker.pid, SIGQUIT)
    try pool.wait {
      $0.workers.contains { $0.lastLines.contains { $0.hasPrefix("thread ") || $0.hasPrefix("  at ") } }
    }

    stop.release()
    try pool.waitForJobs(2)
    #expect(try pool.command("cancel", "p2").code == 0)
    try pool.stop()
    #expect(try String(contentsOfFile: metrics, encoding: .utf8).contains("workerpool_up 0\n"))
  }

  /// A worker goes on with its job when its pool is killed, and the next pool has nobody to give the job to: that looks
  /// as if it hung.
  @Test(.timeLimit(.minutes(20)))
  func aJobThatAnEarlierPoolsWorkerStillHasIsSeen() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    try items.submit("misbehave", "--set", "how=wait", "--set", "stop=\(stop.path)")
    let first = try items.start()
    let worker = try stop.waitForArrival()
    try first.waitForRunningWorker()
    try first.kill9()
    let second = try items.start()
    let status = try second.command("status").output
    #expect(
      status.contains("process \(worker.pid), a worker of a pool that was killed, still finishes p1"), "\(status)")
    let story = try second.command("jobs", "show", "p1").output
    #expect(story.contains("running in process \(worker.pid)") && story.contains("kill \(worker.pid)"), "\(story)")
    #expect(try second.command("pause", "default").code == 0)
    stop.release()
    worker.waitForEnd()
    try second.waitForJobs(1)
    try second.wait { $0.survivors == [] }
    try items.submit("nothing")
    try second.wait { $0.jobs?["available"] == 1 }
    let waiting = try second.command("jobs", "show", "p2").output
    #expect(waiting.contains("workerpool resume --queue \(second.queue) default"), "\(waiting)")
    #expect(try second.command("resume", "default").code == 0)
    try second.waitForJobs(2)
    try second.stop()
    try items.checkNothingIsLeft(of: second)
  }

  @Test(.timeLimit(.minutes(20)))
  func aJobThatWaitsSaysForWhatAndWhoHoldsItsPlace() throws {
    let items = try ItemPool()
    let pool = try items.start(workers: 2, options: ["--limit", "wait=1"])
    let end = items.place.path("end")
    for _ in 0..<2 { try items.submit("wait", "--set", "until=\(end)") }
    try pool.wait { status in status.workers.contains { !$0.running.isEmpty } && status.jobs?["available"] == 1 }
    let story = try pool.command("jobs", "show", "p2").output
    #expect(
      story.contains("it waits, because the limit of the kind wait is one at a time; now p1 in worker "), "\(story)")
    let web = try RunningWeb(queue: items.queue)
    #expect(try web.client().get("/jobs/p2").body.contains("the limit of the kind wait is one at a time"))
    #expect(try pool.command("pause").code == 0)
    let paused = try pool.command("jobs", "show", "p2").output
    #expect(paused.contains("is paused: workerpool resume --queue \(pool.queue) --all"), "\(paused)")
    #expect(try pool.command("resume", "--all").code == 0)
    try items.place.write("", to: "end")
    try pool.waitForJobs(2)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func aFailureIsToldWithItsReasonBeforeTheEndThatItLedTo() throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("fail", "--max-attempts", "1")
    try pool.wait { status in status.problems.contains { $0.event == "job.failed" } && status.jobs?["dead"] == 1 }
    let reason = try #require(
      JSONParser.parse(
        sqlite(items.store, "SELECT ZERRORS FROM WPPOOLJOB")
      ).arrayValue?.first?["message"]?.stringValue)
    #expect(try pool.command("status").output.contains(reason))
    #expect(try pool.command("logs", "--json").output.contains(#""error":"#))
    let story = try pool.command("jobs", "show", "p1").output
    let attempt = try #require(story.range(of: "attempt 1: ")), end = try #require(story.range(of: "Z  dead"))
    #expect(attempt.upperBound < end.lowerBound, "\(story)")
    #expect(story.contains(#/:\d\d\.\d\d\dZ  dead/#), "jobs take milliseconds: \(story)")
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func theLogIsJSONWithOneEventForEachChange() throws {
    let items = try ItemPool()
    try items.submit("misbehave", "--set", "how=abort")
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: Built.path("workerpool"))
    process.arguments = [
      "run", "--store", items.store, "--model", items.model, "--queue", items.queue, "--plugins", items.plugins,
      "--without-bundled", "--log-format", "json", "--workers", "1",
    ]
    process.standardError = pipe
    try process.run()
    try pipe.fileHandleForWriting.close()
    let lines = LineReader(pipe.fileHandleForReading)
    var events: [String] = []
    while let line = lines.next() {
      let record = try JSONParser.parse(line)
      let event = try #require(record["event"]?.stringValue.flatMap(LogEvent.init(rawValue:)))
      #expect(record["level"]?.stringValue == event.level.rawValue)
      #expect(record["time"]?.stringValue.flatMap(Timestamp.date) != nil)
      #expect(record["message"]?.stringValue?.isEmpty == false)
      events.append(event.rawValue)
      if event == .workerUp, events.contains("worker.died") { process.terminate() }
    }
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let order = [
      "pool.started", "plugin.found", "worker.started", "worker.up", "worker.died", "job.crashed", "worker.started",
      "worker.up", "pool.stopping", "worker.draining", "worker.ended", "pool.stopped",
    ]
    var unmatched = events[...]
    for event in order {
      let position = unmatched.firstIndex(of: event)
      #expect(position != nil, "\(event) is missing in \(events)")
      unmatched = unmatched[((position ?? unmatched.startIndex) + 1)...]
    }
  }

  @Test func everyEventIsInTheTable() throws {
    let page = DocumentationPage.package.appendingPathComponent("Sources/WorkerPool/WorkerPool.docc/Operating.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    for event in LogEvent.allCases { #expect(text.contains("`\(event.rawValue)`"), "\(event.rawValue)") }
  }
}

/// What a service manager sees of a pool.
@Suite(.serialized) struct ServiceNotificationTests {
  @Test(.timeLimit(.minutes(20)))
  func theServiceManagerIsToldOfTheStartOfLifeAndOfTheEnd() throws {
    let items = try ItemPool()
    let manager = try NotifySocket(items.place)
    func next() throws -> String { try #require(manager.next(), "the pool says nothing") }
    let pool = try items.start(environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "200000"])
    // The unit of a package has one limit for all pools, so a pool asks for the time that it needs.
    #expect(try next() == "EXTEND_TIMEOUT_USEC=30000000\nWATCHDOG=1")
    var first = try next()
    while first == "WATCHDOG=1" { first = try next() }
    #expect(first == "READY=1")
    for _ in 1...3 { #expect(try next() == "WATCHDOG=1") }
    pool.signal(SIGTERM)
    var last = try next()
    while last == "WATCHDOG=1" { last = try next() }
    #expect(last.hasPrefix("STOPPING=1\nEXTEND_TIMEOUT_USEC="))
    #expect(pool.waitForExit() == 0)
  }

  @Test func theUnitFileRunsThisPool() throws {
    let place = try TestPlace()
    let finished = try run(
      Built.path("workerpool"),
      [
        "systemd-unit", "--store", "a b.sqlite", "--model", "/m/100%.xcdatamodeld", "--workers", "3", "--deadline",
        "60", "--store-wait", "120",
      ],
      in: place.url.path)
    #expect(finished.code == 0)
    let start = try #require(finished.lines.first { $0.hasPrefix("ExecStart=") })
    #expect(
      start.contains("\(Built.path("workerpool")) run --workers 3 --store \"\(place.path("a b.sqlite"))\""), "\(start)")
    #expect(start.contains("\"/m/100%%.xcdatamodeld\"") && start.contains("--queue \(place.path("queue"))"), "\(start)")
    #expect(finished.output.contains("Type=notify\n") && finished.output.contains("TimeoutStopSec=90\n"))
    #expect(finished.output.contains("\nOOMPolicy=continue\n"))
    #expect(finished.output.contains("\nDelegate=memory\n"))
    #expect(finished.output.contains("TimeoutStartSec=150\n"), "the store may take so long, and a bit")
    #expect(try workerpool("systemd-unit").code == 2)
    let server = "postgresql://app@db.example/app"
    let atServer = try workerpool("systemd-unit", "--store", server, "--model", "/m/App.xcdatamodeld")
    let command = atServer.lines.first { $0.hasPrefix("ExecStart=") }
    #expect(command?.contains(" --store \"\(server)\" ") == true, "\(atServer)")
  }

  @Test func theUnitOfAPackageReadsTheOptionsOfItsInstance() throws {
    let unit = try workerpool("systemd-unit", "--template").lines
    #expect(unit.contains("ExecStart=\(Built.path("workerpool")) run --config /etc/workerpool/%i.conf"), "\(unit)")
    #expect(unit.contains("ConditionPathExists=/etc/workerpool/%i.conf") && unit.contains("User=workerpool"))
  }

  @Test(.timeLimit(.minutes(20))) func aPoolRunsWithTheOptionsOfAFile() throws {
    // Given a file with options, values with spaces among them
    let items = try ItemPool()
    let file = try items.place.write(
      """
      # the pool of a test
      store    \(items.store)
      model    \(items.model)
        queue  \(items.place.path("the queue"))

      plugins  \(items.plugins)
      workers  1
      without-bundled
      """, to: "pool.conf")
    // When a unit is made of it, with an option that it has, too
    let unit = try workerpool("systemd-unit", "--config", file, "--workers", "3")
    // Then the file's options are in it, and the command line has replaced what both have
    let start = try #require(unit.lines.first { $0.hasPrefix("ExecStart=") })
    #expect(start.contains("run --workers 3 --store \(items.store) --model \(items.model)"), "\(start)")
    #expect(start.contains("--queue \"\(items.place.path("the queue"))\"") && start.hasSuffix("--without-bundled"))
    // And mistakes are told with their line
    for (line, expected) in [
      ("wrokers 3", "pool.conf, line 9: workerpool run has no option --wrokers; did you mean --workers?"),
      ("workers", "pool.conf, line 9: --workers needs a value: --workers N"),
      ("store other", "pool.conf, line 9: --store is given twice"),
      ("store=other", "pool.conf, line 9: \"store=other\" is not the name of an option"),
      ("queue q  # here", "pool.conf, line 9: a comment stands on a line of its own; else"),
      ("plugins \"a b\"", "pool.conf, line 9: a value needs no quotes, which would be part of it: plugins a b"),
      ("without-bundled yes", "pool.conf, line 9: --without-bundled takes no value"),
    ] {
      let text = try String(contentsOfFile: file, encoding: .utf8) + "\n" + line
      // Editors of other systems end lines with two characters, and begin the file with a mark.
      try items.place.write("\u{FEFF}" + text.replacingOccurrences(of: "\n", with: "\r\n"), to: "bad/pool.conf")
      let finished = try workerpool("run", "--config", items.place.path("bad/pool.conf"))
      #expect(finished.code == 2 && finished.errors.contains(expected), "\(finished)")
    }
    let missing = try workerpool("run", "--config", items.place.path("none.conf"))
    #expect(missing.code == 2 && missing.errors.contains("none.conf is not there"), "\(missing)")
  }

  /// systemd itself reads the units of the web program, which belong together.
  @Test(.enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0, "systemd is not installed"))
  func systemdAcceptsTheUnitsOfTheWebProgram() throws {
    let place = try TestPlace()
    let files = try [("--web", "workerpool-web.service"), ("--web-socket", "workerpool-web.socket")].map {
      try place.write(try workerpool("systemd-unit", $0.0).output, to: $0.1)
    }
    let verified = try run("/usr/bin/systemd-analyze", ["verify"] + files)
    #expect(verified.code == 0 && verified.errors.split(separator: "\n").allSatisfy { !$0.contains(place.path("")) })
    let service = try String(contentsOfFile: files[0], encoding: .utf8)
    #expect(
      service.contains("ExecStart=\(Built.path("workerpool")) web --config /etc/workerpool-web.conf\n"), "\(service)")
    // What is misspelt is found.
    let bad = try place.write(
      service.replacingOccurrences(of: "Type=exec", with: "Type=nothing"), to: "workerpool-web.service")
    #expect(try run("/usr/bin/systemd-analyze", ["verify", bad]).errors.contains("nothing"))
  }

  /// Source: systemd.syntax(7), "Quoting", and systemd.service(5), "Command lines".
  @Test func theUnitFileQuotesEveryPath() throws {
    let program = "/opt/a $b%c \"d\"/workerpool"
    let text = SystemdUnit.text(
      executable: program, arguments: ["--store", "/a'b/$HOME/50%\\.sqlite", "--queue", "/q\tr\nUser=x\u{1}", ";"],
      storeTimeout: 1, stopDeadline: 1)
    let start = text.split(separator: "\n").map(String.init)
      .filter { $0.hasPrefix("ExecStart=") || $0.hasPrefix("User=") }
    #expect(
      start == [
        #"ExecStart="/opt/a $b%%c \"d\"/workerpool" run --store "/a'b/$$HOME/50%%\\.sqlite" --queue "#
          + #""/q\tr\nUser=x\x01" ";""#
      ], "\(start)")
  }
}
