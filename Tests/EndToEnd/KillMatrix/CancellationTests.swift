import Foundation
import Testing

@testable import WorkerPool

/// A cancellation that was confirmed holds, no matter which process is killed after that.
@Suite(.serialized) struct CancellationTests {
  /// The job does not hear that it is cancelled. Its pool is killed before the job has ended.
  @Test(.timeLimit(.minutes(20)), arguments: [true, false])
  func aConfirmedCancellationOutlivesThePool(workerDiesToo: Bool) throws {
    let items = try ItemPool()
    try items.submit("deaf")
    let pool = try items.start()
    let worker = try pool.waitForRunningWorker()
    #expect(try pool.command("cancel", "p1").code == 0)
    pool.signal(SIGKILL)
    if workerDiesToo { kill(worker, SIGKILL) }
    _ = pool.waitForExit()
    let next = try items.start()
    try next.wait { $0.jobs?["cancelled"] == 1 }
    if !workerDiesToo { kill(worker, SIGKILL) }
    #expect(try items.rows().hasSuffix("|0|0"), "no attempt is counted")
    // A job that comes later runs, and adds to the item for the first time.
    try items.submit("add")
    try next.waitForJobs(1)
    #expect(try sqlite(items.store, "SELECT ZVALUE FROM ZITEM") == "1")
    try next.stop()
    let ledgers = try FileManager.default.contentsOfDirectory(atPath: items.queue + "/run")
      .filter { $0.hasPrefix("ledger-") }
    #expect(try ledgers.flatMap { try LedgerContents(path: items.queue + "/run/" + $0).entries }.isEmpty)
  }
}
