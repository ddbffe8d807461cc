import Foundation
import Testing
import WorkerPool

/// `run --slow-statements`: what an operator sees without a log.
@Suite(.serialized) struct SlowStatementsTests {
  ///     worker                  another process
  ///     runs the job
  ///                             BEGIN IMMEDIATE
  ///     BEGIN IMMEDIATE, waits
  ///                             ends
  ///     saves
  @Test(.timeLimit(.minutes(20)))
  func theStatusShowsTheSlowStatementOfAJob() throws {
    // Given a job whose save waits for another process
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    let pool = try items.start(options: ["--slow-statements", "1"])
    #expect(try pool.status().slowStatements?.limit == 1)
    try items.submit("misbehave", "--set", "how=wait", "--set", "stop=\(stop.path)")
    _ = try stop.waitForArrival()
    let shell = try StoreShell(store: items.store, "BEGIN IMMEDIATE;")
    stop.release()
    try pool.wait { $0.workers.contains { $0.waitsForStore == "locked" } }
    // When the other process has ended, then the status has the statement, and the kind of the job
    try shell.letGo()
    try pool.waitForJobs(1)
    try pool.wait { $0.slowStatements?.statements.contains { $0.kind == "misbehave" } == true }
    let slow = try #require(try pool.status().slowStatements)
    let own = try #require(slow.statements.first { $0.kind == "misbehave" })
    #expect(own.sql == "BEGIN IMMEDIATE" && own.count == 1 && own.longest >= 1, "\(slow)")
    let text = try pool.command("status").output
    #expect(text.contains("slow statements: ") && text.contains(", misbehave: BEGIN IMMEDIATE"), "\(text)")
    let metrics = try pool.command("status", "--prometheus").output
    #expect(metrics.contains("\nworkerpool_slow_statements_total "), "\(metrics)")
    let web = try RunningWeb(queue: items.queue)
    let page = try web.client().get("/kinds")
    web.stop()
    #expect(page.status == 200 && page.body.contains("Slow SQL statements"), "\(page.body)")
    #expect(page.body.contains("BEGIN IMMEDIATE"), "\(page.body)")
    // And the log and the last lines of the worker have none of it
    #expect(!pool.lastLines.contains("CoreData: slow"), "\(pool.lastLines)")
    #expect(try pool.status().workers.allSatisfy { !$0.lastLines.contains { $0.hasPrefix("CoreData: ") } })
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }

  @Test(arguments: ["-1", "much", "86401"])
  func aLimitThatIsNoNumberOfSecondsIsRefused(text: String) throws {
    let finished = try run(
      Built.path("workerpool"), ["run", "--store", "a.sqlite", "--queue", "queue", "--slow-statements", text])
    #expect(finished.code == 2 && finished.errors.contains("--slow-statements"), "\(finished)")
  }
}
