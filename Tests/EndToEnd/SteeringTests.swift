import Foundation
import PoolClient
import Testing
import WorkerPool

@Suite(.serialized) struct SteeringTests {
  /// A pool with the import worker, whose jobs read small files.
  private func pool(_ place: TestPlace) throws -> RunningPool {
    try RunningPool(
      place, store: place.path("iso.sqlite"), model: try ISOCodesModel.write(into: place),
      plugins: try place.plugins("worker-import"))
  }

  private func submitImport(_ place: TestPlace, _ pool: RunningPool, code: String, _ more: String...) throws {
    let file = try place.write("alpha_2,name\n\(code),Somewhere\n", to: "\(code).csv")
    let arguments = ["import", "--set", "file=\(file)", "--set", "entity=Country", "--set", "key=alpha_2"]
    let finished = try run(Built.path("workerpool"), ["submit", "--queue", pool.queue] + arguments + more)
    try #require(finished.code == 0, "\(finished.errors)")
  }

  @Test(.timeLimit(.minutes(20)))
  func aPausedQueueWaitsAndGoesOn() throws {
    let place = try TestPlace()
    let pool = try pool(place)
    #expect(try pool.command("pause", "slow").output == "queue slow pauses\n")
    try submitImport(place, pool, code: "AA", "--job-queue", "slow")
    try submitImport(place, pool, code: "BB")
    try pool.waitForJobs(1)
    #expect(try sqlite(pool.store, "SELECT ZALPHA_2 FROM ZCOUNTRY") == "BB")
    let status = try pool.command("status")
    #expect(status.output.contains("paused: queue slow"))
    #expect(status.output.contains("1 available"))
    // The pause of the whole pool has nothing to do with the queue's.
    #expect(try pool.command("pause").code == 0)
    let resumed = try pool.command("resume", "--all")
    let remark = "still paused by name: workerpool resume --queue \(pool.queue) slow"
    #expect(resumed.output == "the pool goes on\n\(remark)\n", "\(resumed)")
    #expect(try pool.status().pausedQueues == ["slow"])
    #expect(try pool.command("resume", "slow").output == "queue slow goes on\n")
    #expect(try pool.command("resume", "slow").output == "queue slow was not paused\n")
    #expect(try pool.command("resume", "--all").output == "the pool was not paused\n")
    try pool.waitForJobs(2)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aStoppedPoolIsToldApart() throws {
    let place = try TestPlace()
    let pool = try pool(place)
    let client = try StatusClient(queue: pool.queue)
    #expect(try client.request(StatusRequest(.status)).ok)
    try #require(kill(pool.pid, SIGSTOP) == 0)
    let failure = #expect(throws: StatusClient.Failure.self) { try client.request(StatusRequest(.status), within: 0.1) }
    let pid = pool.pid
    let text = "the pool did not answer: it has been silent for 0.1 s; its process \(pid) is stopped, and goes on"
    #expect(failure?.description == text + " after: kill -CONT \(pid)")
    try #require(kill(pool.pid, SIGCONT) == 0)
    try pool.stop()
  }

  /// Nobody else can write while it has the turn, and the pool knows that it is silent only after two heartbeats.
  @Test(.timeLimit(.minutes(20))) func aStoppedWorkerIsNamedInStatusBeforeItsHeartbeatIsMissed() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    let pool = try items.start(options: ["--heartbeat", "0"])
    try items.submit("misbehave", "--set", "how=wait", "--set", "stop=\(stop.path)")
    let worker = try stop.waitForArrival()
    try #require(kill(worker.pid, SIGSTOP) == 0)
    try pool.wait { $0.workers.contains { $0.pid == worker.pid && $0.isStopped == true } }
    let text = try pool.command("status").output
    #expect(text.contains("process \(worker.pid), is stopped by a signal or a debugger"), "\(text)")
    try #require(kill(worker.pid, SIGCONT) == 0)
    stop.release()
    try pool.waitForJobs(1)
    try pool.stop()
  }

  /// Workers take the oldest jobs. Who cancels in the same order is too late for each while they run.
  @Test(.timeLimit(.minutes(20)), arguments: [true, false])
  func manyJobsAreCancelledFromTheNewestOn(byCommand: Bool) throws {
    let items = try ItemPool()
    let pool = try items.start()
    #expect(try pool.command("pause").code == 0)
    let lines = String(repeating: #"{"kind": "nothing"}"# + "\n", count: 1001)
    let file = try items.place.write(lines, to: "jobs.json")
    try FileManager.default.moveItem(atPath: file, toPath: items.queue + "/incoming/jobs.json")
    try pool.wait { $0.jobs?["available"] == 1001 }
    if byCommand {
      let finished = try pool.command("cancel", "--state", "available", "--yes")
      #expect(finished.output == "1001 of 1001 jobs cancelled\n", "\(finished)")
    } else {
      let web = try RunningWeb(queue: items.queue)
      let client = try web.client()
      let page = try client.get("/change?do=cancel&state=available")
      let answer = try client.post(
        "/change", ["do": "cancel", "state": "available", "confirmed": "yes", "key": try #require(page.formKey)])
      #expect(answer.status == 303)
      try pool.wait { $0.jobs?["cancelled"] == 1001 }
    }
    let told = try run(Built.path("workerpool"), ["logs", "--queue", items.queue, "--json"]).lines
      .filter { $0.contains("will be cancelled") }
    // Jobs are cancelled a thousand at a time, and one alone is named.
    #expect(told.count == 2 && told[0].contains("1000 jobs will"), "\(told)")
    #expect(told.last?.contains("/PoolJob/p1 will be cancelled") == true, "\(told)")
    try pool.stop()
  }

  /// The kernel tells the pool whose command it is; the web program tells who is logged in there.
  @Test(.timeLimit(.minutes(20)))
  func theLogSaysWhoHasChangedSomething() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let token = String(repeating: "a", count: 32)
    let tokens = try items.place.write("\(token) operate Anna \u{202E}Meier\n", to: "tokens", mode: 0o600)
    let user = "user \(geteuid()) (\(try run("/usr/bin/id", ["-un"]).lines[0]))"
    // The pool looks the name up beside its loop.
    try waitUntil("the pool knows the name of its user") {
      #expect(try pool.command("resume", "other").code == 0)
      return try pool.command("logs").output.contains("queue other goes on, by \(user)")
    }
    for word in ["pause", "resume"] { #expect(try pool.command(word, "slow").code == 0) }
    try items.submit("fail", items: items.items, ["--max-attempts", "1"])
    try pool.wait { $0.jobs?["dead"] == 1 }
    #expect(try pool.command("retry", "p1").code == 0)
    try pool.wait { $0.jobs?["dead"] == 1 && $0.counters.failed == 2 }
    #expect(try pool.command("scale", "2").code == 0)

    let web = try RunningWeb(queue: items.queue, options: ["--token-file", tokens])
    let client = try web.client(token: token)
    let key = try #require(try client.get("/queues").formKey)
    #expect(try client.post("/pause", ["key": key, "kind": "fail"]).status == 303)
    #expect(try client.post("/change", ["key": key, "do": "retry", "job": "p1"]).status == 303)
    #expect(try client.post("/change", ["key": key, "do": "cancel", "job": "p1"]).status == 303)
    let deletion = ["key": key, "do": "delete", "kind": "fail", "confirmed": "yes"]
    #expect(try client.post("/change", deletion).status == 303)
    try waitUntil("the deletion is in the log") {
      try pool.command("logs").output.contains("will be deleted")
    }
    let other = try RunningWeb(queue: items.queue)
    let unnamed = try other.client()
    let otherKey = try #require(try unnamed.get("/queues").formKey)
    #expect(try unnamed.post("/resume", ["key": otherKey, "kind": "fail"]).status == 303)
    try pool.stop()

    let lines = try run(Built.path("workerpool"), ["logs", "--queue", items.queue, "--json"]).lines
      .compactMap { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
    let told = lines.filter { $0["userID"] != nil && ($0["message"] as? String)?.hasPrefix("queue other") == false }
    let anna = "by Anna \u{202E}Meier through the web program of \(user)"
    let expected = [
      ("pool.paused", "queue slow is paused, by \(user)"), ("pool.resumed", "queue slow goes on, by \(user)"),
      ("job.retried", "will run again, by \(user)"), ("note", "told to keep 2 workers, by \(user)"),
      ("pool.paused", "kind fail is paused, \(anna)"), ("job.retried", "will run again, \(anna)"),
      ("job.cancelled", "will be cancelled, \(anna)"), ("job.deleted", "will be deleted, \(anna)"),
      ("pool.resumed", "kind fail goes on, through the web program of \(user)"),
    ]
    #expect(told.map { $0["event"] as? String ?? "" } == expected.map(\.0))
    for (line, text) in zip(told, expected.map(\.1)) {
      #expect((line["message"] as? String)?.hasSuffix(text) == true, "\(line)")
      #expect((line["userID"] as? NSNumber)?.uint32Value == geteuid() && user.hasSuffix("(\(line["user"] ?? ""))"))
    }
    #expect(told.compactMap { $0["webUser"] as? String } == Array(repeating: "Anna \u{202E}Meier", count: 4) + [""])
    #expect(told.prefix(4).allSatisfy { $0["webUser"] == nil })
    // A name cannot turn the text for people around.
    let text = try run(Built.path("workerpool"), ["logs", "--queue", items.queue]).output
    #expect(text.contains("by Anna ") && !text.contains("\u{202E}"))
  }

  /// A command that has returned is carried out: a pause is kept, and a pool that was stopped is in nobody's way.
  @Test(.timeLimit(.minutes(20)))
  func whatACommandHasAnsweredHolds() throws {
    let items = try ItemPool()
    var pool = try items.start()
    #expect(try pool.command("pause", "slow").code == 0)
    try pool.kill9()
    for _ in 0..<5 {
      pool = try items.start()
      #expect(try pool.command("status").output.contains("paused: queue slow"))
      #expect(try pool.command("stop").code == 0)
    }
    try items.checkNothingIsLeft(of: pool, value: 0)
  }

  @Test(.timeLimit(.minutes(20)))
  func aDeadJobRunsAgainWhenAPersonSaysSo() throws {
    let place = try TestPlace()
    let pool = try pool(place)
    let file = place.path("late.csv")
    try pool.submit(
      "import", "--set", "file=\(file)", "--set", "entity=Country", "--set", "key=alpha_2", "--max-attempts", "1")
    try pool.wait { $0.jobs?["dead"] == 1 }
    try place.write("alpha_2,name\nCC,There now\n", to: "late.csv")
    #expect(try pool.command("retry", "p1").output == "1 of 1 job will run again\n")
    // The pool counts its jobs now and then.
    try pool.wait { $0.jobs?["dead"] ?? 0 == 0 }
    try pool.waitForJobs(1)
    #expect(try sqlite(pool.store, "SELECT ZNAME FROM ZCOUNTRY") == "There now")
    // What has succeeded cannot be retried.
    #expect(try pool.command("retry", "p1").code == 1)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func aCancelledJobDoesNotRun() throws {
    let place = try TestPlace()
    let pool = try pool(place)
    try submitImport(place, pool, code: "DD", "--run-at", "2999-01-01T00:00:00Z")
    try pool.wait { $0.jobs?["scheduled"] == 1 }
    #expect(try pool.command("cancel", "1").code == 0)
    try pool.wait { $0.jobs?["cancelled"] == 1 }
    #expect(try pool.command("cancel", "1").code == 1)
    #expect(try pool.command("jobs", "--state", "cancelled").lines.count == 2)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func thePoolScalesAndStops() throws {
    let place = try TestPlace()
    let pool = try pool(place)
    try pool.wait { $0.workers.filter { $0.phase == "up" }.count == 2 }
    #expect(try pool.command("scale", "3").code == 0)
    try pool.wait { $0.workers.filter { $0.phase == "up" }.count == 3 }
    #expect(try pool.command("workers").lines.count == 4)
    pool.signal(SIGTTOU)
    try pool.wait { $0.workers.count == 2 }
    let wrong = try pool.command("scale", "imprt=2")
    #expect(wrong.code == 1 && wrong.errors.contains("there is no plugin imprt"))
    #expect(try pool.command("stop").output == "stopped\n")
    #expect(try pool.leftovers().isEmpty)
    #expect(try pool.command("status").code == 3)
  }

  @Test(.timeLimit(.minutes(20)))
  func aSignalAsksForNoMoreWorkersThanAnOptionMay() throws {
    let items = try ItemPool()
    let pool = try items.start(workers: PoolLimit.workers, options: ["--workers", "test=0"])
    pool.signal(SIGTTIN)
    try waitUntil("the pool refuses") {
      pool.lastLines.contains("a signal asks for 1001 workers; a pool has 0 to 1000")
    }
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func fetchShowsWhatIsThereFitForATerminal() throws {
    let place = try TestPlace()
    let pool = try pool(place)
    let file = try place.write(
      #"[{"alpha_2":"EE","name":"\u001b[31mRed\nline"},{"alpha_2":"FF","name":"Plain"}]"#, to: "countries.json")
    try pool.submit("import", "--set", "file=\(file)", "--set", "entity=Country", "--set", "key=alpha_2")
    try pool.waitForJobs(1)
    let table = try pool.command("fetch", "Country", "--sort", "-alpha_2")
    #expect(table.lines.count == 3)
    #expect(table.lines.last?.contains(#"\u{1b}[31mRed\nline"#) == true)
    #expect(!table.output.contains("\u{1B}"))
    let json = try pool.command("fetch", "Country", "--json", "--where", "name == 'Plain'", "--limit", "1")
    #expect(json.lines.count == 1)
    #expect(json.output.contains(#""alpha_2":"FF","alpha_3":null"#))
    for (arguments, message) in [
      (["fetch", "Contry"], "did you mean Country?"), (["fetch", "Country", "--where", "name =="], "predicate"),
      (["fetch", "Country", "--sort", "nam"], "did you mean name?"),
    ] {
      let finished = try run(Built.path("workerpool"), arguments + ["--queue", pool.queue])
      #expect(finished.code == 1 && finished.errors.contains(message), "\(finished.errors)")
    }
    try pool.stop()
  }
}
