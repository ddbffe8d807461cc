import CSystem
import Foundation
import Glibc
import LinuxSystem
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// What a user removes from `run/` under a running pool comes back.
@Suite(.ownThreads) struct RuntimeDirectoryWatchTests {
  private func loss(_ names: String) -> String { "had lost \(names), which the pool has made again" }

  /// Asks until the pool answers, or for a while.
  private func answers(_ pool: PoolHarness) -> Bool {
    let end = Clock.now + Double(TestLimit.seconds)
    while Clock.now < end {
      if (try? pool.status()) != nil { return true }
    }
    return false
  }

  @Test func aSocketThatIsRemovedIsMadeAgain() throws {
    let pool = try PoolHarness(jobs: [fakeJob("ok", 1)])
    #expect(pool.effects.wait { $0.count == 1 })
    let layout = QueueLayout(root: pool.queuePath)
    unlink(layout.statusSocket)
    try #require(pool.waitForLog(loss("the status socket")))
    #expect(try pool.status().phase == "running")
    try pool.end()
  }

  @Test(arguments: ["removed", "moved"])
  func theWholeDirectoryIsMadeAgain(how: String) throws {
    let pool = try PoolHarness()
    let run = QueueLayout(root: pool.queuePath).run
    for count in 1...3 {
      // Out of the way first: the pool may come between the steps of removing it.
      #expect(rename(run, run + ".\(count)") == 0)
      if how == "removed" { try FileManager.default.removeItem(atPath: run + ".\(count)") }
      try #require(pool.waitForLog("the status socket", count: count))
      #expect(answers(pool))
    }
    var status = stat()
    #expect(stat(run, &status) == 0 && status.st_mode & 0o777 == 0o700)
    try pool.end()
  }

  @Test func requestsThatAreNoLinesOfTextAreAnswered() throws {
    let pool = try PoolHarness()
    let tooLong = [UInt8](repeating: UInt8(ascii: "x"), count: StatusServer.requestLimit + 1)
    for (bytes, reason) in [([0xFF, 0x0A], "is not UTF-8"), (tooLong, "longer than 1048576 bytes")] {
      let socket = try UnixSocket.connect(to: QueueLayout(root: pool.queuePath).statusSocket)
      defer { close(socket) }
      var sent = 0
      while sent < bytes.count {
        let count = bytes.withUnsafeBytes { send(socket, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL)) }
        guard count > 0 else { break }
        sent += count
      }
      var reply: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 65_536)
      while case let count = read(socket, &chunk, chunk.count), count > 0 { reply += chunk[..<count] }
      let text = String(decoding: reply, as: UTF8.self)
      #expect(text.contains(#""ok":false"#) && text.contains(reason), "\(text)")
    }
    try pool.end()
  }
}
