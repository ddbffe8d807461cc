import CSystem
import Foundation
import Testing

/// A pool knows its own processes by its identity, and not by a path that another pool may have, too.
@Suite(.serialized) struct IdentityTests {
  /// A process as a worker of a pool of that identity has started it, which then died.
  private func stray(_ items: ItemPool, identity: String) throws -> WatchedProcess {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/sleep")
    process.arguments = ["1000"]
    process.environment = [
      "WORKERPOOL_QUEUE": items.queue, "WORKERPOOL_POOL": identity, "WORKERPOOL_PID": "4194305",
    ]
    try process.run()
    return try WatchedProcess(process.processIdentifier)
  }

  @Test(.timeLimit(.minutes(20)))
  func aProcessOfAnotherPoolWithTheSamePathsIsLeftAlone() throws {
    let items = try ItemPool()
    try items.start().stop()
    let text = try String(contentsOfFile: items.queue + "/run/identity", encoding: .utf8)
    let identity = String(try #require(text.split(separator: " ").first))
    let ownStray = try stray(items, identity: identity)
    let foreign = try stray(items, identity: String(identity.reversed()))
    let pool = try items.start()
    ownStray.waitForEnd()
    #expect(foreign.isAlive)
    foreign.kill9()
    foreign.waitForEnd()
    try pool.stop()
    try items.checkNothingIsLeft(of: pool, value: 0)
  }
}
