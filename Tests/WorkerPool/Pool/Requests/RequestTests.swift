import CSystem
import Foundation
import Glibc
import PoolClient
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Requests to a running pool that it must refuse, or whose senders are gone.
@Suite struct RequestTests {
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
}
