import Foundation
import Glibc
import Testing
import WorkerPool

/// A pool whose program is replaced in place (`workerpool reexec`): no job notices.
@Suite(.serialized) struct ReexecTests {
  /// Jobs that wait until `release` is called, one for each of these items.
  private func submitWaiting(_ items: ItemPool, _ uris: some Collection<String>) throws {
    try items.submit("wait", items: Array(uris), ["--set", "until=\(items.place.path("release"))"])
  }

  private func release(_ items: ItemPool) throws { try items.place.write("", to: "release") }

  private func running(_ status: PoolStatus) -> Int { status.workers.reduce(0) { $0 + $1.running.count } }

  @Test(.timeLimit(.minutes(20)))
  func jobsGoOnWhileTheProgramIsReplaced() throws {
    let items = try ItemPool(items: 40)
    let pool = try items.start(workers: 2)
    try submitWaiting(items, items.items.prefix(2))
    try pool.wait { running($0) == 2 }
    // One more process for the short jobs, by a request: it holds for the new program, too.
    #expect(try pool.command("scale", "3").code == 0)
    // A client that asks for nothing meanwhile.
    let client = try StatusClient(queue: items.queue)
    _ = try client.request(StatusRequest(.status))
    try items.submit("add", items: [items.items[2]])
    try pool.waitForJobs(1)
    let workers = try pool.status().workers.compactMap(\.pid).sorted()
    #expect(workers.count == 3)
    var item = 3
    for _ in 1...3 {
      let jobs = items.items[item..<(item + 12)].map { #"{"kind": "add", "objects": ["\#($0)"]}"# }
      try items.drop(jobs, as: "short\(item).json")
      item += 12
      let replaced = try pool.command("reexec")
      #expect(replaced.code == 0, "\(replaced.errors)\(pool.lastLines)")
      #expect(replaced.output.contains("process \(pool.pid) runs the new program"))
    }
    try pool.waitForJobs(item - 2)
    // It connects again.
    #expect(try client.request(StatusRequest(.status)).status?.pid == pool.pid)
    let status = try pool.status()
    #expect(status.pid == pool.pid && status.workerCount == 3 && running(status) == 2)
    #expect(status.workers.compactMap(\.pid).sorted() == workers)
    #expect(status.restarts == 0 && status.survivors ?? [] == [])
    try release(items)
    try items.submit("add", items: [items.items[39]])
    try pool.waitForJobs(40)
    try pool.stop()
    #expect(throws: StatusClient.Failure.self) { try client.request(StatusRequest(.status)) }
    try items.checkNothingIsLeft(of: pool)
    #expect(try items.rows() == "3|1|0")
  }

  /// - Parameter text: a program that does not take over; nil for a file that is not there.
  @Test(.timeLimit(.minutes(20)), arguments: ["#!/bin/sh\nexit 0\n", "#!/bin/sh\necho no way >&2\nexit 1\n", nil])
  func aPoolGoesOnWhereTheNewProgramDoesNotTakeOver(text: String?) throws {
    let items = try ItemPool(items: 2)
    let pool = try items.start()
    try submitWaiting(items, items.items.prefix(1))
    try pool.wait { running($0) == 1 }
    let before = try pool.status()
    let program = items.place.path("new-program")
    if let text { try items.place.write(text, to: "new-program", mode: 0o755) }
    let refused = try pool.command("reexec", "--program", program)
    #expect(refused.code == 1)
    let reason =
      switch text {
      case nil: "No such file"
      case let text? where text.contains("no way"): "no way"
      default: "did not say that it can take over"
      }
    #expect(refused.errors.replacing("\n", with: " ").contains(reason), "\(refused.errors)")
    let after = try pool.status()
    #expect(after.age > before.age && after.workers.map(\.pid) == before.workers.map(\.pid))
    try release(items)
    try items.submit("add", items: [items.items[1]])
    try pool.waitForJobs(2)
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
    #expect(try items.rows() == "3|1|0")
  }

  /// A worker that takes the end of its parent's thread for the pool's death finishes its job first.
  @Test(.timeLimit(.minutes(20)))
  func aWorkerThatCannotBeHandedOverFinishesItsJob() throws {
    let items = try ItemPool(items: 2)
    unlink(items.plugins + "/worker-test")
    let script = """
      #!/bin/bash
      worker() { exec -a "$name" '\(Built.path("test-worker"))' "$@"; }
      name=$0
      if [ "$1" = describe ]; then worker describe | sed 's/"survivesReexec":true,*//'; else worker "$@"; fi

      """
    try items.place.write(script, to: "plugins/worker-test", mode: 0o755)
    let pool = try items.start()
    try submitWaiting(items, items.items.prefix(1))
    try pool.wait { running($0) == 1 }
    let refused = try pool.command("reexec", "--deadline", "0")
    #expect(refused.code == 1)
    #expect(refused.errors.replacing("\n", with: " ").contains("has to finish its job first"), "\(refused.errors)")
    #expect(try running(pool.status()) == 1)
    try release(items)
    try items.submit("add", items: [items.items[1]])
    try pool.waitForJobs(2)
    let replaced = try pool.command("reexec")
    #expect(replaced.code == 0, "\(replaced.errors)")
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
    #expect(try items.rows() == "3|1|0")
  }

  /// A new program that stops at the moment when it takes the process over, before it has done anything.
  private func stoppingProgram(_ items: ItemPool) throws -> String {
    try items.place.write(
      """
      #!/bin/sh
      case "$WORKERPOOL_HANDOVER" in take:*) : > '\(items.place.path("arrived"))'; kill -STOP $$;; esac
      exec '\(Built.path("workerpool"))' "$@"

      """, to: "stopping", mode: 0o755)
  }

  private func replaceAndStop(_ items: ItemPool, _ pool: RunningPool) throws {
    let request = StatusRequest(.reexec, program: try stoppingProgram(items))
    let reply = try StatusClient(queue: items.queue).request(request, within: 60)
    try #require(reply.ok, "\(reply.error ?? "")")
    try waitUntil("the new program runs") {
      FileManager.default.fileExists(atPath: items.place.path("arrived"))
    }
  }

  /// A variable that a pool sets for the program in its place, in the environment of a pool that takes over nothing.
  @Test(arguments: ["take:77", "check:77", "take:0", "take:", "anything"])
  func aHandOverThatIsNoneIsRefused(value: String) throws {
    let place = try TestPlace()
    let words = ["run", "--store", place.path("a.sqlite"), "--queue", place.path("queue")]
    let finished = try run(
      "/usr/bin/env", ["WORKERPOOL_HANDOVER=\(value)", Built.path("workerpool")] + words, in: place.url.path)
    #expect(finished.code == 1 && finished.errors.contains("start this one without it"), "\(finished)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path).isEmpty)
  }

  /// When the process dies between the two programs, its workers are what a killed pool leaves.
  @Test(.timeLimit(.minutes(20)), arguments: [false, true])
  func aKillCostsNoJob(afterwards: Bool) throws {
    let items = try ItemPool(items: 2)
    var pool = try items.start()
    try submitWaiting(items, items.items.prefix(1))
    try pool.wait { running($0) == 1 }
    if afterwards {
      #expect(try pool.command("reexec").code == 0)
    } else {
      try replaceAndStop(items, pool)
    }
    pool.signal(SIGKILL)
    _ = pool.waitForExit()
    pool = try items.start()
    #expect(try pool.status().survivors?.count == 1)
    try release(items)
    try items.submit("add", items: [items.items[1]])
    try pool.waitForJobs(2)
    try pool.wait { $0.survivors == [] }
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
    #expect(try items.rows() == "3|1|0")
  }

  /// A worker that dies between the two programs has crashed once, and its job runs again.
  @Test(.timeLimit(.minutes(20)))
  func aCrashBetweenTheProgramsCountsOnce() throws {
    let items = try ItemPool()
    let pool = try items.start()
    try submitWaiting(items, items.items)
    try pool.wait { running($0) == 1 }
    let worker = try #require(pool.status().workers.first?.pid)
    try replaceAndStop(items, pool)
    kill(worker, SIGKILL)
    // A signal that comes meanwhile waits, and does not end the process.
    pool.signal(SIGUSR1)
    pool.signal(SIGCONT)
    try release(items)
    try pool.waitForJobs(1)
    #expect(try pool.status().pid == pool.pid)
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
    #expect(try items.rows() == "3|1|1")
  }
}
