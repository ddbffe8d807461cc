import Foundation
import Testing
import WorkerPool

/// The process that started the pool reads its log for a while, and then does not, as a `less` that is left open.
@Suite(.serialized) struct UnreadLogTests {
  @Test(.timeLimit(.minutes(20)))
  func aPipeThatIsFullStopsNothingAndNothingIsLost() throws {
    let items = try ItemPool(items: 3)
    let pool = try StartingPool(items)
    try #require(pool.line(with: "running on") != nil)
    // F_SETPIPE_SZ of fcntl(2): a page. From here on nobody reads.
    _ = fcntl(pool.logDescriptor, 1031, 4096)
    // Two hundred lines of output in a second are taken from a worker: many times what the pipe holds.
    let client = try StatusClient(queue: items.queue)
    _ = try client.request(StatusRequest(.observe))
    try items.submit("misbehave", "--set", "how=flood")
    var jobsLeft = 3
    while jobsLeft > 0 { jobsLeft -= try client.next().ended?.count ?? 0 }
    #expect(pool.isLogFull)
    #expect(try StatusClient(queue: items.queue).request(StatusRequest(.status)).status?.counters.done == 3)
    #expect(try items.rows() == "3|1|0")

    let ending = pool.end(SIGTERM)
    #expect(ending.code == 0)
    #expect(ending.lines.last?.hasSuffix("stopped") == true, "\(ending.lines.suffix(3))")
    #expect(!ending.lines.contains { $0.contains("were dropped here") }, "all of it had room")
    // Each line of a worker stands there with its process and its job.
    #expect(ending.lines.count { $0.contains(/test\[\d+\] p\d+[^:]*: xxxxxxxxxx/) } >= 200)
  }

  @Test(.timeLimit(.minutes(20)))
  func aPoolWhoseLogNobodyReadsAnyMoreCanEnd() throws {
    let items = try ItemPool()
    let pool = try StartingPool(items)
    try #require(pool.line(with: "running on") != nil)
    _ = fcntl(pool.logDescriptor, 1031, 4096)
    let client = try StatusClient(queue: items.queue)
    _ = try client.request(StatusRequest(.observe))
    try items.submit("misbehave", "--set", "how=flood")
    while try client.next().ended == nil {}
    kill(pool.process.processIdentifier, SIGTERM)
    // Its last lines have a few seconds; then it ends without them.
    pool.process.waitUntilExit()
    #expect(pool.process.terminationStatus == 0)
  }
}
