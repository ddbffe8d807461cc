import CSystem
import Foundation
import Glibc
import PoolMetrics
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Real processes and sockets; only the store is missing.
@Suite(.ownThreads) struct PoolServerTests {
  @Test func jobsAreRunByRealProcesses() throws {
    let pool = try PoolHarness(workers: 2, jobs: (1...50).map { fakeJob("ok", $0) })
    #expect(pool.effects.wait { $0.count == 50 })
    #expect(Set(pool.effects.all.map { $0.split(separator: " ")[1] }).count == 50, "each job ran once")
    try pool.end()
  }

  @Test func aWorkerThatCrashesIsReplacedAndItsJobSettled() throws {
    let pool = try PoolHarness(jobs: [fakeJob("crash", 1), fakeJob("ok", 2)])
    #expect(pool.effects.wait { $0.contains { $0.hasPrefix("ok p2") } }, "\(pool.effects.all) \(pool.log.all)")
    #expect(pool.source.settled.wait { $0.count == 1 })
    guard case .crashed(let obituary) = pool.source.settled.all.first else {
      Issue.record("the crash was not noted")
      return
    }
    #expect(obituary.death == .signalled(SIGABRT))
    #expect(obituary.lastLines == ["about to crash"])
    #expect(try pool.status().restarts == 1)
    try pool.end()
  }

  @Test func aKilledWorkersJobsGoToItsSuccessor() throws {
    let pool = try PoolHarness(credit: 3, jobs: [fakeJob("hold", 1), fakeJob("ok", 2), fakeJob("ok", 3)])
    #expect(pool.effects.wait { $0.count == 1 })
    let pid = try #require(try pool.status().workers.first?.pid)
    kill(pid, SIGKILL)
    #expect(pool.effects.wait { $0.count { $0.hasPrefix("ok") } == 2 })
    #expect(!pool.effects.all.contains { $0.hasPrefix("ok") && $0.hasSuffix(" \(pid)") })
    #expect(pool.source.settled.all.count == 1, "only the job that had begun is settled")
    try pool.end()
  }

  @Test func aStoreThatDoesNotAnswerDoesNotKeepAStatusBack() throws {
    let pool = try PoolHarness()
    pool.source.isSilent.store(true, ordering: .relaxed)
    let status = try #require(try pool.request(StatusRequest(.status, deadline: 0.5)).status)
    #expect(status.phase == "running" && status.jobs == nil && status.backlog == nil)
    #expect(!PrometheusText.text(status).contains("workerpool_store_age_seconds"))
    #expect(StatusText.lines(status).contains { $0.contains("the store did not answer in time: the numbers of jobs") })
    pool.source.isSilent.store(false, ordering: .relaxed)
    try pool.end()
  }

  @Test func aStoreThatDoesNotAnswerIsShownWithItsLastNumbers() throws {
    // Given a pool that has told the store's numbers once
    let pool = try PoolHarness()
    pool.source.overview.withLock { $0.jobs = ["available": 12, "running": 0] }
    let first = try pool.status()
    #expect(first.jobs?["available"] == 12 && first.storeAge == nil)
    #expect(PrometheusText.text(first).contains("\nworkerpool_store_age_seconds 0\n"))
    // When the store does not answer any more
    pool.source.isSilent.store(true, ordering: .relaxed)
    let status = try #require(try pool.request(StatusRequest(.status, deadline: 0.5)).status)
    // Then the status has these numbers, and says how old they are
    #expect(status.jobs == first.jobs && status.storeAge.map { $0 > 0 } == true)
    let lines = StatusText.lines(status)
    let jobs = lines.first { $0.hasPrefix("jobs ") }
    #expect(jobs?.wholeMatch(of: /jobs      0 running, 12 available \(\d+ s ago\)/) != nil, "\(lines)")
    #expect(lines.contains { $0.contains("the store did not answer in time: the numbers of jobs are those of ") })
    let metrics = PrometheusText.text(status)
    let age = try #require(status.storeAge)
    #expect(metrics.contains("\nworkerpool_jobs{state=\"available\"} 12\n"))
    #expect(metrics.contains("\nworkerpool_store_age_seconds \(age)\n"))
    // Also without a deadline
    let withoutDeadline = try pool.status()
    #expect(withoutDeadline.jobs == first.jobs && withoutDeadline.storeAge != nil)
    // And when the store answers again, all have numbers of now
    pool.source.isSilent.store(false, ordering: .relaxed)
    #expect(try pool.status().storeAge == nil)
    try pool.end()
  }

  @Test func allProcessesWorkForTheOnlyPluginThatHasWork() throws {
    let pool = try PoolHarness(
      plugins: ["aaa", "bbb", "fake", "other"], workers: 3, jobs: (1...3).map { fakeJob("hold", $0) })
    #expect(pool.effects.wait { Set($0.compactMap { $0.split(separator: " ").last }).count == 3 }, "three processes")
    try pool.end(deadline: 0)
  }

  @Test func pluginsWithWorkTakeTurnsWhereProcessesAreFew() throws {
    let pool = try PoolHarness(
      plugins: ["fake", "other"], workers: 1,
      jobs: [fakeJob("hold", 1), fakeJob("ok", 2)] + [fakeJob("ok", 3, kind: "other")])
    // The first job ends when its process is drained.
    #expect(
      pool.effects.wait { $0.contains { $0.hasPrefix("ok p3") } && $0.contains { $0.hasPrefix("ok p2") } },
      "\(pool.effects.all) \(pool.log.all)")
    try pool.end()
  }

  @Test func anExitWithCodeZeroInTheMiddleOfAJobIsACrash() throws {
    let pool = try PoolHarness(jobs: [fakeJob("exit", 1)])
    #expect(pool.source.settled.wait { $0.count == 1 })
    try pool.end()
  }

  @Test func aWorkerThatTalksNonsenseIsDismissedAndItsJobSettled() throws {
    let pool = try PoolHarness(jobs: [fakeJob("nonsense", 1), fakeJob("ok", 2)])
    #expect(pool.waitForLog("the verb EXPLODE does not exist"))
    #expect(pool.effects.wait { $0.contains { $0.hasPrefix("ok p2") } }, "\(pool.effects.all) \(pool.log.all)")
    #expect(pool.source.settled.all.count == 1)
    try pool.end()
  }

  @Test func whatAWorkerLeavesBehindIsKilledWithIt() throws {
    let pool = try PoolHarness(jobs: [fakeJob("orphan", 1)])
    #expect(pool.effects.wait { $0.count == 1 })
    let orphan = try #require(pool.effects.all.first?.split(separator: " ").last.flatMap { Int32($0) })
    let pidfd = csystem_pidfd_open(orphan)
    #expect(pidfd >= 0)
    defer { close(pidfd) }
    _ = try pool.request(StatusRequest(.cancel, jobs: [FakeJob.uri("orphan", 1)]))
    #expect(pool.source.settled.wait { $0.count == 1 })
    var end = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
    #expect(poll(&end, 1, 30_000) == 1, "the process that the worker had started lives on")
    try pool.end()
  }

  @Test func drainingLetsTheJobInHandFinishAndGivesBackTheRest() throws {
    let pool = try PoolHarness(
      credit: 3, jobs: [fakeJob("hold", 1), fakeJob("ok", 2), fakeJob("ok", 3)], recording: true)
    #expect(pool.effects.wait { $0.count == 1 })
    try pool.end()
    #expect(pool.source.settled.all.isEmpty)
    let lines = pool.recording.split(separator: "\n").map(String.init)
    #expect(lines.contains("< RETURNED \(FakeJob.uri("ok", 2)) \(FakeJob.uri("ok", 3))"))
    #expect(lines.last == "< DONE \(FakeJob.uri("hold", 1))")
    for case .worker(let line) in try Transcript(pool.recording).steps { _ = try WorkerMessage(line: line) }
    for case .coordinator(let line) in try Transcript(pool.recording).steps { _ = try CoordinatorMessage(line: line) }
  }

  @Test func aJobThatIgnoresTheStopIsKilledAndNotBlamed() throws {
    let pool = try PoolHarness(jobs: [fakeJob("hang", 1)])
    #expect(pool.effects.wait { $0.count == 1 })
    try pool.end(deadline: 0)
    #expect(pool.source.settled.all.isEmpty)
  }

  @Test func savesReachTheOtherWorkersAndTheObservers() throws {
    let pool = try PoolHarness(plugins: ["fake", "other"], workers: 2)
    let observer = try StatusClient(queue: pool.queuePath)
    #expect(try observer.request(StatusRequest(.observe)).ok)
    pool.source.add([fakeJob("ok", 1, kind: "other")])
    #expect(pool.effects.wait { $0.count == 1 })
    pool.source.add([fakeJob("save", 7)])
    #expect(pool.effects.wait { $0.contains("saved updated x-coredata://APP/Document/p7") })
    var reply = try observer.next()
    while reply.saved == nil { reply = try observer.next() }
    #expect(reply.saved == .init(change: "updated", objects: ["x-coredata://APP/Document/p7"]))
    try pool.end()
  }

  /// One that never stops talking.
  @Test func aWorkerThatFloodsItsSocketDelaysNobody() throws {
    let pool = try PoolHarness(plugins: ["fake", "other"], workers: 2, jobs: [fakeJob("chatter", 1)])
    #expect(pool.effects.wait { $0.count == 1 })
    let clock = ContinuousClock()
    for number in 2..<12 {
      let time = try clock.measure {
        pool.source.add([fakeJob("ok", number, kind: "other")])
        #expect(pool.effects.wait { $0.count == number })
        _ = try pool.status()
      }
      #expect(time < .seconds(60))
    }
    try pool.end(deadline: 0)
  }

  @Test func requestsSentTogetherAreAnsweredInOrderAlsoWhenTheAskerHasSaidItsLast() throws {
    let pool = try PoolHarness()
    let socket = try UnixSocket.connect(to: QueueLayout(root: pool.queuePath).statusSocket)
    defer { close(socket) }
    let requests = Array("{\"command\":\"status\"}\nnonsense\n{\"command\":\"pause\",\"kind\":\"x\"}\n".utf8)
    #expect(send(socket, requests, requests.count, Int32(MSG_NOSIGNAL)) == requests.count)
    shutdown(socket, Int32(SHUT_WR))
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(socket, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
    let replies = try bytes.split(separator: 0x0A).map { try JSONDecoder().decode(StatusReply.self, from: Data($0)) }
    #expect(replies.map(\.ok) == [true, false, true])
    #expect(replies.first?.status != nil)
    try pool.end()
  }

  @Test func commandsOfTheStatusSocketWork() throws {
    let pool = try PoolHarness(workers: 1)
    #expect(pool.waitForLog("plugin fake"))
    #expect(try pool.request(StatusRequest(.pause, queue: "slow")).ok)
    #expect(try pool.status().pausedQueues == ["slow"])
    // The pause of the whole pool has nothing to do with the queue's.
    #expect(try pool.request(StatusRequest(.resume)).ok)
    #expect(try pool.status().pausedQueues == ["slow"])
    #expect(try pool.request(StatusRequest(.resume, queue: "slow")).ok)
    #expect(try pool.status().pausedQueues == [])
    #expect(try pool.request(StatusRequest(.scale, count: 3)).ok)
    #expect(try pool.status().workers.count == 3)
    #expect(try pool.request(StatusRequest(.scale, plugin: "nobody", count: 1)).error?.contains("nobody") == true)
    #expect(try pool.request(StatusRequest(.cancel, jobs: [FakeJob.uri("ok", 77)])).count == 1)
    #expect(pool.source.cancelled.all == [FakeJob.key("ok", 77)])
    #expect(try pool.request(StatusRequest(.cancel, jobs: ["77"])).ok == false)
    try pool.end()
  }

  @Test func scalingDownEndsIdleProcessesAndKeepsTheBusyOne() throws {
    let pool = try PoolHarness(workers: 3, jobs: [fakeJob("hold", 1)])
    #expect(pool.effects.wait { $0.count == 1 })
    let busy = try #require(pool.effects.all.first?.split(separator: " ").last.flatMap { Int32($0) })
    _ = try pool.request(StatusRequest(.scale, count: 1))
    let staying = try pool.status().workers.filter { $0.phase == "up" }
    #expect(staying.map(\.pid) == [busy])
    try pool.end()
  }

  @Test func anIdleProcessGivesWayToAKindThatWaits() throws {
    let pool = try PoolHarness(plugins: ["fake", "other"], workers: 1, jobs: [fakeJob("ok", 1)])
    #expect(pool.effects.wait { $0.count == 1 })
    pool.source.add([fakeJob("ok", 2, kind: "other")])
    #expect(pool.effects.wait { $0.count == 2 })
    try pool.end()
  }

  @Test func reloadingReplacesTheProcesses() throws {
    let pool = try PoolHarness(jobs: [fakeJob("ok", 1)])
    #expect(pool.effects.wait { $0.count == 1 })
    _ = try pool.request(StatusRequest(.reload))
    #expect(pool.waitForLog("exited with code 0"))
    pool.source.add([fakeJob("ok", 2)])
    #expect(pool.effects.wait { $0.count == 2 })
    let pids = pool.effects.all.compactMap { $0.split(separator: " ").last }
    #expect(Set(pids).count == 2)
    try pool.end()
  }
}

/// Plugins that do not start: told apart, given up after a few tries, and no trouble to the others.
@Suite(.ownThreads) struct StartFailureTests {
  private func failure(of plugin: String, in pool: PoolHarness) throws -> String? {
    try pool.status().plugins.first { $0.name == plugin }?.failure
  }

  @Test func aPluginThatExitsBeforeHelloIsGivenUpAndTheOthersGoOn() throws {
    // A slot of its own: without jobs a plugin gets no other one while it waits for its next try.
    let pool = try PoolHarness(plugins: ["fake", "quitter"], workers: 2, jobs: [fakeJob("ok", 1)]) {
      $0.fixedWorkers = ["quitter": 1]
    }
    #expect(pool.effects.wait { $0.count == 1 })
    #expect(pool.waitForLog("plugin quitter is given up"))
    let text = try #require(try failure(of: "quitter", in: pool))
    #expect(text.contains("exited with code 3 before it said hello"))
    #expect(text.contains("I never liked this job"))
    pool.source.add([fakeJob("ok", 2)])
    #expect(pool.effects.wait { $0.count == 2 })
    try pool.end()
  }

  /// A user kills them, or the kernel for want of memory: that may pass.
  @Test func aPluginWhoseProcessesAreKilledBeforeHelloIsNotGivenUp() throws {
    let pool = try PoolHarness(plugins: ["fake", "victim"], workers: 2)
    #expect(pool.effects.wait { $0.count > RestartPolicy.mostFailures })
    #expect(try failure(of: "victim", in: pool) == nil)
    try pool.end()
  }

  @Test func aPluginOfAnotherVersionIsNotStarted() throws {
    let pool = try PoolHarness(plugins: ["future"])
    #expect(pool.waitForLog("plugin future: it speaks protocol version 99"))
    #expect(pool.waitForExit() == 4, "a pool that can start nothing ends by itself")
  }

  @Test func aWorkerThatSaysAnotherVersionThanItsDescriptionIsGivenUp() throws {
    let pool = try PoolHarness(plugins: ["fake", "liar"], workers: 2)
    #expect(pool.waitForLog("plugin liar is given up"))
    #expect(try failure(of: "liar", in: pool)?.contains("version 99") == true)
    try pool.end()
  }

  @Test func aWorkerThatNamesKindsOutsideItsDescriptionIsGivenUp() throws {
    let pool = try PoolHarness(plugins: ["fake", "braggart"], workers: 2)
    #expect(pool.waitForLog("plugin braggart is given up"))
    #expect(try failure(of: "braggart", in: pool)?.contains("its hello names fake, which its description") == true)
    try pool.end()
  }

  /// The pool must give such a plugin up. It would start its processes for ever, since no job begins that could be
  /// blamed.
  @Test(
    .timeLimit(.minutes(20)),
    arguments: [
      ("mumbler", "the verb hello does not exist in protocol version 2; verbs are written in capitals"),
      ("clerk", "its first line must be HELLO, not CREDIT"),
      ("typist", "a line ends with a carriage return; lines end with a newline alone"),
    ])
  func aWorkerThatBreaksTheProtocolBeforeItsFirstJobIsGivenUp(name: String, reason: String) throws {
    let pool = try PoolHarness(plugins: ["fake", name], workers: 2)
    #expect(pool.waitForLog("plugin \(name) is given up"))
    #expect(try failure(of: name, in: pool)?.contains("it broke the protocol: \(reason)") == true)
    try pool.end()
  }

  @Test func aSilentWorkerIsToldApart() throws {
    let directory = temporaryURL("silent")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try FileManager.default.createSymbolicLink(
      atPath: directory.path + "/worker-mute", withDestinationPath: PoolHarness.fakeWorker)
    let loop = try EventLoop()
    let lines = Collected<String>()
    let supervisor = try Supervisor(
      loop: loop, log: Log { lines.add($0) },
      configuration: .init(pluginDirectories: [directory.path], workers: 3, environment: [:], helloTimeout: 0.05))
    let delegate = NobodyWaits()
    supervisor.delegate = delegate
    supervisor.reload()
    while supervisor.failures["mute"] == nil || !supervisor.workers.isEmpty { loop.turn(milliseconds: 1000) }
    let log = lines.all
    #expect(supervisor.failures["mute"] == .silent(seconds: 0.05))
    #expect(log.contains { $0.contains("did not say hello within 0.05 s") })
    #expect(log.contains { $0.contains("was killed because it had not said hello within 0.05 s") })
    #expect(!log.contains { $0.contains("out of memory") }, "the pool knows why it killed it")
    #expect(log.count { $0.contains("is given up") } == 1, "\(log)")
  }
}

/// A delegate without jobs.
private final class NobodyWaits: SupervisorDelegate {
  func demand() -> [String: Int] { [:] }
  var busyWorkers: Set<WorkerID> { [] }
  func work(of id: WorkerID) -> String? { nil }
  func takes(_ line: String, of id: WorkerID) -> Bool { false }
  func nothingCanBeStarted() {}
  func connect(_ id: WorkerID, _ connection: Connection) {}
  func drain(_ id: WorkerID) {}
  func workerDied(_ id: WorkerID, _ obituary: Obituary) {}
  func pluginsChanged(_ plugins: [Plugin]) {}
  func supervisorStopped() {}
}
