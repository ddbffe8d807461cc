import CSystem
import Foundation
import Glibc
import PoolClient
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Requests to a running pool that it must refuse, or whose senders are gone.
@Suite(.ownThreads) struct RequestTests {
  /// A client that waits for a submission gives up its place when it disconnects, however long its deadline is.
  @Test func clientsThatAreGoneKeepNoOtherFromAsking() throws {
    let pool = try PoolHarness()
    for number in 0...SubmissionWaiters.limit {
      let descriptor = try UnixSocket.connect(to: pool.queuePath + "/run/status.sock")
      let line = #"{"command": "submission", "submission": "gone-\#(number)", "deadline": 86400}"# + "\n"
      #expect(send(descriptor, line, line.utf8.count, Int32(MSG_NOSIGNAL)) == line.utf8.count)
      close(descriptor)
    }
    let reply = try pool.request(StatusRequest(.submission, deadline: 0.1, submission: "mine"))
    #expect(reply.error?.contains("no job file with the submission mine was taken") == true, "\(reply)")
    try pool.end()
  }

  /// The kind would be passed over, and the sender would believe that it is paused.
  @Test func aPauseOfAQueueAndAKindIsRefused() throws {
    let pool = try PoolHarness()
    let reply = try pool.request(StatusRequest(.pause, queue: "mail", kind: "fake"))
    #expect(reply.ok == false && reply.error == "pause takes a queue or a kind, not both: send one request for each")
    #expect(try pool.status().pausedQueues.isEmpty)
    try pool.end()
  }

  /// The worker says only that a job failed: why is in the store.
  @Test func aFailureShowsItsReasonInTheLogAndInTheStatus() throws {
    let pool = try PoolHarness()
    let job = fakeJob("fail", 1)
    let reason = "NoSuchPage: the page has\n  no title"
    pool.source.setFailure(job.key, FailureSummary(kind: "fake", reason: reason, isDead: true))
    pool.source.add([job])
    let text = "\(FakeJob.uri("fail", 1)) (fake) failed: NoSuchPage: the page has…; it is dead"
    #expect(pool.waitForLog(text), "\(pool.log.all)")
    #expect(try pool.status().problems.last?.text == text)
    try pool.end()
  }

  @Test func aPoolExplainsWhyAJobWaits() throws {
    let pool = try PoolHarness(jobs: [fakeJob("hold", 1), fakeJob("ok", 2)])
    #expect(pool.effects.wait { $0.count == 1 })
    let reply = try pool.request(StatusRequest(.explain, jobs: [FakeJob.uri("ok", 2)]))
    #expect(reply.obstacle?.reason == .workersBusy && reply.obstacle?.name == "fake", "\(reply)")
    #expect(reply.obstacle?.holders.map(\.job) == [FakeJob.uri("hold", 1)], "\(reply)")
    #expect(reply.obstacle?.holders.first?.pid == (try pool.status().workers.first?.pid))
    try pool.end()
  }
}
