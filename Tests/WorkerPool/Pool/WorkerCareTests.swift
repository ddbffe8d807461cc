import Foundation
import Glibc
import LinuxSystem
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// How worker processes are started, replaced and found out when they hang.
@Suite(.ownThreads) struct WorkerCareTests {
  @Test func aWorkerGetsLimitsAndAnEnvironmentWithoutSurprises() throws {
    let pool = try PoolHarness(jobs: [fakeJob("describe", 1)]) { $0.limits.openFiles = 200 }
    #expect(pool.effects.wait { $0.count == 1 })
    let words = try #require(pool.effects.all.first).split(separator: " ").map(String.init)
    #expect(words[1...3] == ["1", "200", "0"], "no new privileges, 200 files, no core")
    #expect(words[4] == "1", "nothing is open but its socket")
    let strangers = words[5].split(separator: ",").map(String.init).filter { name in
      !WorkerEnvironmentRule.passes(name) && !name.hasPrefix("WORKERPOOL_") && !name.hasPrefix("FAKE_WORKER_")
    }
    #expect(strangers == [])
    #expect(pool.effects.all.first?.contains("WORKERPOOL_CONNECTION") == true)
    try pool.end()
  }

  @Test func aWorkerThatHangsIsFoundAndItsJobSettled() throws {
    let pool = try PoolHarness(jobs: [fakeJob("stopped", 1)]) { $0.heartbeat = 1 }
    #expect(pool.effects.wait { $0.count == 1 })
    #expect(pool.source.settled.wait { $0.count == 1 })
    guard case .crashed(let obituary) = pool.source.settled.all.first else {
      Issue.record("the hang was not noted")
      return
    }
    #expect(obituary.cause == .hung(seconds: 2))
    #expect(pool.waitForLog("has not answered for 2 s; its stacks follow"))
    try pool.end()
  }

  /// Without a heartbeat nothing else shows that it hangs.
  @Test(arguments: ["idler", "mule"])
  func aWorkerThatNeverBeginsItsJobsIsReplaced(plugin: String) throws {
    let mark = temporaryURL("mark").path
    defer { unlink(mark) }
    let pool = try PoolHarness(plugins: [plugin], credit: 2, jobs: (1...2).map { fakeJob("ok", $0, kind: plugin) }) {
      $0.extraEnvironment["FAKE_WORKER_BROKEN"] = mark
      $0.beginTimeout = 0.5
    }
    #expect(pool.waitForLog("has not begun any of the 2 jobs in its hand for 0.5 s; it is replaced"))
    #expect(pool.effects.wait { $0.count == 2 }, "another process runs them")
    #expect(pool.source.settled.all.isEmpty, "no crash is counted")
    try pool.end()
  }

  /// A crash that is not counted would let the job crash without end.
  @Test func aCrashThatCannotBeWrittenIsWrittenLater() throws {
    let pool = try PoolHarness()
    pool.source.failingSettlements.store(1, ordering: .relaxed)
    pool.source.add([fakeJob("crash", 1)])
    #expect(pool.waitForLog("the end of a job cannot be written into the store yet: the disk is full"))
    #expect(pool.source.settled.wait { $0.count == 2 })
    #expect(pool.source.settled.all.allSatisfy { if case .crashed = $0 { true } else { false } })
    try pool.end()
  }

  @Test func aWorkerThatAnswersIsLeftAlone() throws {
    let pool = try PoolHarness(jobs: [fakeJob("hold", 1)]) { $0.heartbeat = 1.5 }
    #expect(pool.effects.wait { $0.count { $0.hasPrefix("ping") } == 2 })
    #expect(pool.source.settled.all.isEmpty)
    try pool.end()
  }

  @Test func slotsKeptForAPluginThatIsNotThereGoToTheOthersAndTheMistakeIsTold() throws {
    let pool = try PoolHarness(workers: 2) { $0.fixedWorkers = ["ghost": 1] }
    #expect(pool.waitForLog("--workers names the unknown plugin ghost; known plugins: fake"))
    #expect(pool.waitForLog("is up", count: 2))
    #expect(try pool.status().problems.contains { $0.text.contains("ghost") })
    try pool.end()
  }

  @Test func aFloodOfOutputIsCutAndCounted() throws {
    let pool = try PoolHarness(jobs: [fakeJob("flood", 1)])
    #expect(pool.effects.wait { $0.count == 1 })
    try pool.end()
    #expect(pool.waitForLog("lines more, which are left out"))
    let lines = pool.log.all.count { $0.contains("xxxxxxxxx") }
    #expect(lines > 0 && lines < 20_000)
  }

  @Test func aProcessThatHasDoneEnoughIsReplacedWhileOthersWork() throws {
    let pool = try PoolHarness(credit: 3, jobs: (1...10).map { fakeJob("ok", $0) }) { $0.limits.jobs = 5 }
    #expect(pool.waitForLog("will be replaced: it has done"))
    #expect(pool.waitForLog("exited with code 0"))
    pool.source.add((11...12).map { fakeJob("ok", $0) })
    #expect(pool.effects.wait { $0.count == 12 })
    let pids = Set(pool.effects.all.compactMap { $0.split(separator: " ").last })
    #expect(pids.count >= 2)
    #expect(try pool.status().restarts == 0, "no process died")
    // The replacement was up before the old one was told to go.
    let story = pool.log.all.filter { $0.hasSuffix("is up") || $0.hasSuffix("finishes its jobs and exits") }
    #expect(story.prefix(3).map { $0.hasSuffix("is up") } == [true, true, false])
    try pool.end()
  }

  @Test func aProcessThatHasGrownIsReplaced() throws {
    let pool = try PoolHarness(jobs: [fakeJob("ok", 1)]) { $0.limits.residentMemory = 1 }
    #expect(pool.waitForLog("will be replaced: it has grown to"))
    #expect(pool.waitForLog("exited with code 0"))
    try pool.end()
  }

  /// The slot of a process that was replaced belongs to its successor, however long its last job takes.
  @Test func theSuccessorOfAProcessWithALongJobKeepsItsSlot() throws {
    let pool = try PoolHarness(jobs: [fakeJob("hang", 1)]) { $0.heartbeat = 0 }
    #expect(pool.effects.wait { $0.count == 1 })
    _ = try pool.request(StatusRequest(.reload))
    #expect(pool.waitForLog("finishes its jobs and exits"))
    let start = Clock.now
    var count = 1
    // Each job lets the supervisor plan its slots again; after a turn it counts those that finish for long.
    while Clock.now - start < 1.5 * SlotPlan.turn {
      count += 1
      pool.source.add([fakeJob("ok", count)])
      try #require(pool.effects.wait { $0.count == count }, "job \(count) does not run")
      pause()
    }
    #expect(pool.log.all.count { $0.hasSuffix("finishes its jobs and exits") } == 1)
    try pool.end(deadline: 0)
  }

  @Test func aSmallerNumberOfProcessesEndsNoMoreThanAreTooMany() throws {
    let pool = try PoolHarness(workers: 4, jobs: (1...4).map { fakeJob("hang", $0) }) { $0.heartbeat = 0 }
    #expect(pool.effects.wait { $0.count == 4 })
    _ = try pool.request(StatusRequest(.scale, count: 3))
    #expect(pool.waitForLog("finishes its jobs and exits"))
    let start = Clock.now
    var count = 4
    while Clock.now - start < 2.5 * SlotPlan.turn {
      count += 1
      pool.source.add([fakeJob("ok", count)])
      _ = try pool.status()
      pause()
    }
    #expect(pool.log.all.count { $0.hasSuffix("finishes its jobs and exits") } == 1)
    try pool.end(deadline: 0)
  }

  /// Time has to pass until the supervisor's turn is over: the test leaves the processors to others meanwhile.
  private func pause() { poll(nil, 0, 50) }

  @Test func aWorkerWithoutAJobThatDoesNotExitWhenToldIsEnded() throws {
    let pool = try PoolHarness(jobs: [fakeJob("ok", 1)])
    #expect(pool.effects.wait { $0.count == 1 })
    let pid = try #require(try pool.status().workers.first?.pid)
    kill(pid, SIGSTOP)
    _ = try pool.request(StatusRequest(.reload))
    #expect(pool.waitForLog("has no job and does not exit; it is told to stop"))
    #expect(pool.waitForLog("is killed"))
    #expect(try pool.status().restarts == 0, "no process died by itself")
    try pool.end()
  }

  /// Its file may be replaced just now. Who removes it for good reloads once more.
  @Test func aPoolWhoseLastPluginIsGoneWaitsForAnother() throws {
    let pool = try PoolHarness(jobs: [fakeJob("ok", 1)])
    #expect(pool.effects.wait { $0.count == 1 })
    try FileManager.default.removeItem(atPath: pool.pluginPath("fake"))
    _ = try pool.request(StatusRequest(.reload))
    #expect(pool.waitForLog("it is asked again until it answers"))
    #expect(try pool.status().plugins.map(\.name) == ["fake"])
    _ = try pool.request(StatusRequest(.reload))
    #expect(pool.waitForLog("plugin fake is forgotten"))
    #expect(try pool.status().plugins.isEmpty)
    try pool.end()
  }

  @Test func reloadingABrokenPluginKeepsTheProcessesThatWork() throws {
    let mark = temporaryURL("broken").path
    defer { unlink(mark) }
    let pool = try PoolHarness(plugins: ["fickle"], workers: 2, jobs: [fakeJob("ok", 1, kind: "fickle")]) {
      $0.extraEnvironment["FAKE_WORKER_BROKEN"] = mark
    }
    #expect(pool.effects.wait { $0.count == 1 })
    #expect(pool.waitForLog("is up", count: 2))
    let before = Set(try pool.status().workers.map(\.pid))
    try Data().write(to: URL(fileURLWithPath: mark))
    _ = try pool.request(StatusRequest(.reload))
    #expect(pool.waitForLog("plugin fickle is given up"))
    pool.source.add([fakeJob("ok", 2, kind: "fickle")])
    #expect(pool.effects.wait { $0.count == 2 })
    #expect(Set(try pool.status().workers.map(\.pid)) == before)
    #expect(try pool.status().plugins.first?.failure?.contains("this version is broken") == true)

    unlink(mark)
    _ = try pool.request(StatusRequest(.reload))
    #expect(pool.waitForLog("exited with code 0", count: 2), "both are replaced, one after the other")
    #expect(before.isDisjoint(with: try pool.status().workers.map(\.pid)))
    try pool.end()
  }
}

@Suite(.ownThreads) struct RuntimeDirectoryTests {
  private func place() throws -> String {
    let queue = temporaryURL("runtime").path
    try FileManager.default.createDirectory(atPath: queue, withIntermediateDirectories: true)
    return queue
  }

  @Test func aSecondClaimIsRefusedWhateverWasRemoved() throws {
    let queue = try place()
    defer { try? FileManager.default.removeItem(atPath: queue) }
    let lock = try RuntimeDirectory(queue: queue).lock()
    #expect(throws: RuntimeDirectory.Occupied.self) { try RuntimeDirectory(queue: queue).lock() }
    try FileManager.default.removeItem(atPath: queue + "/run")
    #expect(throws: RuntimeDirectory.Occupied.self) { try RuntimeDirectory(queue: queue).lock() }
    lock.release()
    try RuntimeDirectory(queue: queue).lock().release()
  }

  /// A process that is being started has copies of all descriptors until it runs its program.
  @Test func aLockEndsThoughAChildHasACopyOfItsDescriptor() throws {
    let queue = try place()
    defer { try? FileManager.default.removeItem(atPath: queue) }
    let lock = try RuntimeDirectory(queue: queue).lock()
    let copy = dup(lock.descriptor.number)
    defer { close(copy) }
    lock.release()
    try RuntimeDirectory(queue: queue).lock().release()
  }

  /// A killed process closes its files late, and a child that it was starting has copies of them.
  @Test func theLockOfADeadProcessIsWaitedFor() throws {
    let queue = try place()
    defer { try? FileManager.default.removeItem(atPath: queue) }
    // Given: the lock of a pool that is gone, which a child still has.
    let child = Process()
    child.executableURL = URL(fileURLWithPath: "/bin/true")
    try child.run()
    child.waitUntilExit()
    try RuntimeDirectory(queue: queue).lock().release()
    let lock = try Descriptor(open(queue, O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open", path: queue)
    try #require(flock(lock.number, LOCK_EX | LOCK_NB) == 0)
    try "\(child.processIdentifier)".write(toFile: queue + "/run/pid", atomically: false, encoding: .utf8)
    // Then: another pool is refused after a while, and told why; it gets a lock that becomes free meanwhile.
    let begun = Clock.now
    let refusal = #expect(throws: RuntimeDirectory.Occupied.self) { try RuntimeDirectory(queue: queue).lock() }
    #expect(refusal?.isGone == true && Clock.now - begun >= LockPatience.longest)
    let number = lock.number
    DispatchQueue.global().asyncAfter(deadline: .now() + LockPatience.longest / 20) { flock(number, LOCK_UN) }
    try RuntimeDirectory(queue: queue).lock().release()
  }

  /// That a living pool has it is said at once.
  @Test func theLockOfALivingProcessIsNotWaitedFor() {
    var patience = LockPatience()
    let answers = [getpid(), getppid(), Int32.max].map { patience.waits(for: $0) }
    #expect(answers == [false, false, true])
  }

  @Test func aLinkInItsPlaceIsRefused() throws {
    let queue = try place()
    let elsewhere = try place()
    defer { for path in [queue, elsewhere] { try? FileManager.default.removeItem(atPath: path) } }
    try FileManager.default.createSymbolicLink(atPath: queue + "/run", withDestinationPath: elsewhere)
    #expect(throws: RuntimeDirectory.Unsafe.self) { try RuntimeDirectory(queue: queue).lock() }
  }

  @Test func itsIdentityStaysWithTheDirectoryAndNotWithItsCopies() throws {
    let queue = try place()
    let copy = queue + "-copy"
    defer { for path in [queue, copy] { try? FileManager.default.removeItem(atPath: path) } }
    try RuntimeDirectory(queue: queue).lock().release()
    let identity = try RuntimeDirectory(queue: queue).identity()
    #expect(identity.count == 32)
    #expect(try RuntimeDirectory(queue: queue).identity() == identity)
    try FileManager.default.copyItem(atPath: queue, toPath: copy)
    let other = try RuntimeDirectory(queue: copy).identity()
    #expect(other.count == 32 && other != identity)
    #expect(try RuntimeDirectory(queue: copy).identity() == other)
  }

  @Test func itIsClosedToOthers() throws {
    let queue = try place()
    defer { try? FileManager.default.removeItem(atPath: queue) }
    try FileManager.default.createDirectory(atPath: queue + "/run", withIntermediateDirectories: true)
    chmod(queue + "/run", 0o777)
    try RuntimeDirectory(queue: queue).lock().release()
    var status = stat()
    #expect(stat(queue + "/run", &status) == 0 && status.st_mode & 0o777 == 0o700)
  }
}
