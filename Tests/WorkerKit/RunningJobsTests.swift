import CoreData
import Foundation
import Glibc
import Jobs
import TestFiles
import Testing
import WorkerPool
import WorkerProtocol

/// Jobs from the store through a real pool and real worker processes, and back into the store.
@Suite(.ownThreads) struct RunningJobsTests {
  @Test func aJobsWorkIsSavedWithItsSuccess() throws {
    let pool = try JobPool()
    let job = try pool.submit("add")
    try pool.waitForEnd(of: [job])
    #expect(try pool.row(job) == .init(state: .succeeded, attempt: 1, crashes: 0, failures: []))
    #expect(try pool.values() == [1])
    try pool.end()
  }

  @Test func jobsOfEachFileAreRun() throws {
    let pool = try JobPool(items: 2)
    let path = pool.configuration.queue + "/file.tmp"
    let lines = pool.items.map { #"{"kind": "add", "objects": ["\#($0)"]}"# }.joined(separator: "\n")
    try Data(lines.utf8).write(to: URL(fileURLWithPath: path))
    let observer = try StatusClient(queue: pool.configuration.queue)
    _ = try observer.request(StatusRequest(.observe))
    #expect(rename(path, pool.configuration.queue + "/incoming/file.json") == 0)
    var ended = 0
    while ended < 2 { ended += try observer.next().ended?.count ?? 0 }
    #expect(try pool.values() == [1, 1])
    #expect(!FileManager.default.fileExists(atPath: pool.configuration.queue + "/incoming/file.json"))
    try pool.end()
  }

  @Test func aThousandShortJobsAreEachRunOnce() throws {
    let pool = try JobPool(items: 1000, workers: 2, isStarted: false)
    let jobs = try pool.submit(pool.items.map { JobRequest(kind: "add", objects: [$0]) })
    try pool.start()
    try pool.waitForEnd(of: jobs)
    #expect(try pool.values() == Array(repeating: 1, count: 1000))
    #expect(try pool.states(jobs) == [.succeeded: 1000])
    try pool.end()
    let begun = pool.recording.split(separator: "\n").filter { $0.hasPrefix("< BEGIN") }
    // How many do depends on how long they take on this machine.
    #expect(begun.count < 1000, "short jobs share transactions: \(begun.count)")
  }

  @Test func aJobForLaterRunsWhenItsTimeHasCome() throws {
    let pool = try JobPool()
    let time = Date(timeIntervalSinceNow: 0.3)
    let job = try pool.submit([JobRequest(kind: "add", objects: pool.items, runAt: time)])[0]
    #expect(try pool.row(job).state == .scheduled)
    try pool.waitForEnd(of: [job])
    #expect(Date() >= time)
    #expect(try pool.row(job).state == .succeeded)
    try pool.end()
  }

  @Test func jobsOfHigherPriorityRunFirst() throws {
    let pool = try JobPool(isStarted: false)
    let jobs = try pool.submit((0..<20).map { JobRequest(kind: "nothing", priority: Int16($0)) })
    try pool.start()
    try pool.waitForEnd(of: jobs)
    try pool.end()
    // A worker that is slow to begin gives jobs back, and gets them again: the first time counts.
    var seen: Set<String> = []
    let begun = pool.recording.split(separator: "\n").filter { $0.hasPrefix("< BEGIN") }
      .flatMap { $0.split(separator: " ").dropFirst(2).map(String.init) }.filter { seen.insert($0).inserted }
    #expect(begun == jobs.reversed())
    let once = JobPool.Row(state: .succeeded, attempt: 1, crashes: 0, failures: [])
    for job in jobs { try #expect(pool.row(job) == once) }
  }

  @Test func aJobThatThrowsLeavesNothingButItsError() throws {
    let pool = try JobPool()
    let job = try pool.submit("fail")
    try pool.waitForEnd(of: [job])
    let row = try pool.row(job)
    #expect([.retryable, .available].contains(row.state), "one attempt of two has failed")
    #expect(row.failures.map(\.message) == ["this job always fails"])
    #expect(row.failures.map(\.type) == ["Refused"])
    #expect(try pool.values() == [0])
    try pool.waitForEnd(of: [job])
    #expect(try pool.row(job).state == .dead)
    #expect(try pool.row(job).attempt == 2)
    try pool.end()
  }

  @Test func aFailureThatIsPermanentIsNotTriedAgain() throws {
    let pool = try JobPool()
    let job = try pool.submit("fail-for-good")
    try pool.waitForEnd(of: [job])
    #expect(try pool.row(job).state == .dead)
    try pool.end()
  }

  @Test func aThrowingJobCostsItsNeighboursNothing() throws {
    let pool = try JobPool(items: 100, isStarted: false)
    let jobs = try pool.submit(
      pool.items.enumerated().map { JobRequest(kind: $0 % 10 == 9 ? "fail-for-good" : "add", objects: [$1]) })
    try pool.start()
    try pool.waitForEnd(of: jobs)
    #expect(try pool.values() == (0..<100).map { $0 % 10 == 9 ? 0 : 1 })
    #expect(try pool.states(jobs) == [.succeeded: 90, .dead: 10])
    try pool.end()
  }

  @Test func aJobThatRollsBackItsContextUndoesNoOther() throws {
    let pool = try JobPool(items: 100, isStarted: false)
    let jobs = try pool.submit(
      pool.items.enumerated().map { JobRequest(kind: $0 % 7 == 6 ? "selfish" : "add", objects: [$1]) })
    try pool.start()
    try pool.waitForEnd(of: jobs)
    #expect(try pool.values() == Array(repeating: 1, count: 100))
    #expect(try pool.states(jobs) == [.succeeded: 100])
    try pool.end()
  }

  @Test func aJobThatKillsItsWorkerIsSetAsideAfterAFewCrashes() throws {
    let pool = try JobPool(items: 2)
    let job = try pool.submit("crash")
    for _ in 0..<RetryPolicy().maxCrashes { try pool.waitForEnd(of: [job]) }
    let row = try pool.row(job)
    #expect(row.state == .dead)
    #expect(row.crashes == RetryPolicy().maxCrashes)
    #expect(row.attempt == 0, "a crash is not an error")
    #expect(row.failures.allSatisfy { $0.signal == SIGABRT })
    #expect(row.failures.last?.standardError == ["this job always crashes"])
    #expect(try pool.values() == [0, 0])
    let next = try pool.submit("add", item: 1)
    try pool.waitForEnd(of: [next])
    #expect(try pool.values() == [0, 1])
    try pool.end()
  }

  @Test func aPoisonJobAmongShortOnesIsFoundAndTheOthersAreNotBlamed() throws {
    let pool = try JobPool(items: 200, workers: 2, isStarted: false)
    let jobs = try pool.submit(
      pool.items.enumerated().map { JobRequest(kind: $0 == 150 ? "crash" : "add", objects: [$1]) })
    try pool.start()
    try pool.waitForEnd(of: jobs)
    #expect(try pool.row(jobs[150]).crashes >= 1)
    for (index, job) in jobs.enumerated() where index != 150 { #expect(try pool.row(job).crashes == 0) }
    #expect(try pool.values() == (0..<200).map { $0 == 150 ? 0 : 1 })
    try pool.end()
  }

  @Test func chunksSavedWithACheckpointAreNotDoneTwice() throws {
    let pool = try JobPool(items: 10)
    let job = try pool.submit([JobRequest(kind: "chunks", objects: pool.items)])[0]
    try pool.waitForEnd(of: [job])
    #expect(try pool.row(job).crashes == 1)
    #expect(try pool.values().prefix(6).allSatisfy { $0 == 1 }, "what was saved before the crash stays")
    try pool.waitForEnd(of: [job])
    #expect(try pool.row(job).state == .succeeded)
    #expect(try pool.values() == Array(repeating: 1, count: 10))
    try pool.end()
  }

  @Test func furtherJobsExistExactlyIfTheirParentsWorkDoes() throws {
    let pool = try JobPool(items: 5)
    let observer = try StatusClient(queue: pool.configuration.queue)
    _ = try observer.request(StatusRequest(.observe))
    _ = try pool.submit([JobRequest(kind: "spawn", objects: pool.items, parameters: #"{"crash": true}"#)])
    var ended = 0
    while ended < 7 { ended += try observer.next().ended?.count ?? 0 }
    #expect(try pool.values() == Array(repeating: 1, count: 5))
    try pool.end()
  }

  @Test func aJobThatIsCancelledWhileItRunsStopsAndStaysCancelled() throws {
    let pool = try JobPool()
    let job = try pool.submit("wait")
    let observer = try StatusClient(queue: pool.configuration.queue)
    _ = try observer.request(StatusRequest(.observe))
    try pool.waitForProgress(of: job)
    _ = try pool.request(StatusRequest(.cancel, jobs: [job]))
    try pool.waitForEnd(of: [job])
    #expect(try pool.row(job).state == .cancelled)
    #expect(try pool.values() == [0])
    try pool.end()
  }

  @Test func aWaitingJobIsCancelledAndCanBeRetried() throws {
    let pool = try JobPool()
    _ = try pool.request(StatusRequest(.pause))
    let job = try pool.submit("add")
    #expect(try pool.request(StatusRequest(.cancel, jobs: [job])).count == 1)
    #expect(try pool.row(job).state == .cancelled)
    // Its end is told, too.
    try pool.waitForEnd(of: [job])
    _ = try pool.request(StatusRequest(.resume))
    #expect(try pool.request(StatusRequest(.retry, jobs: [job])).count == 1)
    try pool.waitForEnd(of: [job])
    #expect(try pool.values() == [1])
    try pool.end()
  }

  @Test func aJobThatTakesTooLongFails() throws {
    let pool = try JobPool()
    let job = try pool.submit("late")
    try pool.waitForEnd(of: [job])
    let row = try pool.row(job)
    #expect(row.state == .dead)
    #expect(row.failures.map(\.type) == ["timeout"])
    // The job waits in poll(2) when its time is over.
    let stack = row.failures.last?.stack ?? []
    #expect(stack.contains { $0.contains("Late") }, "\(stack)")
    try pool.end()
  }

  @Test func aStopCostsNoAttempt() throws {
    let pool = try JobPool()
    let job = try pool.submit("wait")
    try pool.waitForProgress(of: job)
    try pool.end(deadline: 0)
    #expect(try pool.row(job) == .init(state: .available, attempt: 0, crashes: 0, failures: []))
  }

  @Test func aJobInHandIsFinishedBeforeTheStop() throws {
    let pool = try JobPool()
    let file = pool.directory.path + "/go"
    let job = try pool.submit("wait", parameters: #"{"until": "\#(file)"}"#)
    try pool.waitForProgress(of: job)
    _ = try pool.request(StatusRequest(.stop))
    try Data().write(to: URL(fileURLWithPath: file))
    try pool.waitForExit()
    #expect(try pool.row(job).state == .succeeded)
    #expect(try pool.values() == [1])
  }

  @Test func aRecordedConversationHoldsVerbsURIsAndCountersOnly() throws {
    let pool = try JobPool(items: 20, workers: 2)
    var requests = pool.items.map { JobRequest(kind: "add", objects: [$0], parameters: #"{"secret": "sesame"}"#) }
    requests += [JobRequest(kind: "fail-for-good"), JobRequest(kind: "chunks", objects: pool.items)]
    try pool.waitForEnd(of: try pool.submit(requests))
    try pool.end()
    let verbs: Set = [
      "HELLO", "CREDIT", "BEGIN", "SAVED", "PROGRESS", "DONE", "FAILED", "RETURNED", "NUDGE", "WELCOME", "REFUSED",
      "RUN", "CANCEL", "RECALL", "DRAIN", "inserted", "updated", "deleted", "version", "message",
    ]
    #expect(pool.recording.contains("< BEGIN"))
    #expect(!pool.recording.contains("sesame"))
    for line in pool.recording.split(separator: "\n") where !line.hasPrefix("< HELLO 2 ") {
      for word in line.dropFirst(2).split(separator: " ") {
        #expect(
          verbs.contains(String(word)) || Int(word) != nil || ObjectURI(String(word)) != nil,
          "\(line) holds something else")
      }
    }
  }
}
