import Foundation
import Testing
import WorkerPool

/// Slots stay where they are while moving them does not pay.
@Suite(.serialized) struct ChurnTests {
  /// Bursts of short jobs of one plugin, beside a plugin that has nothing to do.
  @Test(.timeLimit(.minutes(20)))
  func burstsOfShortJobsCostNoPluginItsProcesses() throws {
    // Given a pool of four workers and two plugins
    let items = try ItemPool()
    try FileManager.default.createSymbolicLink(
      atPath: items.plugins + "/worker-export", withDestinationPath: Built.path("worker-export"))
    let pool = try items.start(workers: 4)
    try pool.wait { $0.workers.count { $0.pid != nil } == 4 }
    // When 200 jobs of one of them come again and again
    let bursts = 20
    let burst = Array(repeating: #"{"kind": "nothing"}"#, count: 200)
    var startsHalfway = 0
    for number in 1...bursts {
      try items.drop(burst, as: "burst.json")
      try pool.waitForJobs(number * burst.count)
      if number == bursts / 2 { startsHalfway = try starts(items) }
    }
    // Then processes have moved to them a few times at most, and not any more once that has paid
    let starts = try starts(items)
    #expect(startsHalfway <= 8, "\(startsHalfway) processes were started")
    #expect(starts == startsHalfway, "\(starts - startsHalfway) processes were started in the second half")
    #expect(try pool.status().problems == [])
    try pool.stop()
  }

  private func starts(_ items: ItemPool) throws -> Int {
    let finished = try workerpool("logs", "--queue", items.queue, "--json")
    return finished.lines.count { $0.contains(#""worker.started""#) }
  }
}
