import Foundation
import Testing
import WorkerPool

/// What jobs changed, as people see it, and undo it beside a running pool; and jobs on a copy of the store.
@Suite(.serialized) struct UndoTests {
  @Test(.timeLimit(.minutes(20)))
  func theChangesOfAJobAreShownAndUndoneOnce() throws {
    // Given a job that has inserted an item, one that has changed one, and one whose changes are not kept
    let items = try ItemPool()
    let pool = try items.start(options: ["--keep-changes", "named,add"])
    try items.submit("named")
    try pool.waitForJobs(1)
    try items.submit("add")
    try pool.waitForJobs(2)
    try items.submit("add-slowly")
    try pool.waitForJobs(3)
    // Then its changes are shown, by names alone
    let shown = try run(
      Built.path("workerpool"), ["jobs", "show", "p2", "--changes", "--queue", pool.queue])
    #expect(shown.output.contains("attempt 1, saved at "), "\(shown)")
    #expect(shown.output.contains("updated \(items.items[0]): value\n"), "\(shown)")
    let json = try run(
      Built.path("workerpool"), ["jobs", "show", "p1", "--changes", "--json", "--queue", pool.queue])
    let parsed = try JSONParser.parse(json.output)
    let saves = try #require(parsed["changes"]?.arrayValue)
    #expect(saves.count == 1 && saves[0]["changes"]?.arrayValue?[0]["change"]?.stringValue == "inserted", "\(json)")
    let web = try RunningWeb(queue: pool.queue)
    let page = try web.client().get("/jobs/p2").body
    #expect(page.contains("updated \(items.items[0]): value"), "\(page)")
    // When the second is undone, another program's change stands in the way
    #expect(try value(items) == "2")
    let refused = try pool.command("undo", "p2")
    #expect(refused.code == 1 && refused.errors.contains("\(items.items[0]) was changed since: value"), "\(refused)")
    _ = try sqlite(items.store, "UPDATE ZITEM SET ZVALUE = 1 WHERE Z_PK = 1")
    let dry = try pool.command("undo", "p2", "--dry-run")
    #expect(dry.code == 0 && dry.output.contains("set \(items.items[0]): value\n"), "\(dry)")
    #expect(try value(items) == "1")
    // And then it is undone, once
    let undone = try pool.command("undo", "p2")
    #expect(undone.code == 0 && undone.output.hasSuffix("p2 is undone\n"), "\(undone)")
    #expect(try value(items) == "0")
    let again = try pool.command("undo", "p2")
    #expect(again.code == 1 && again.errors.contains("undone already"), "\(again)")
    #expect(try pool.command("undo", "p1").code == 0)
    #expect(try sqlite(items.store, "SELECT count(*) FROM ZITEM") == "1")
    let unkept = try pool.command("undo", "p3")
    #expect(unkept.code == 1 && unkept.errors.contains("--keep-changes add-slowly"), "\(unkept)")
    try pool.stop()
  }

  private func value(_ items: ItemPool) throws -> String {
    try sqlite(items.store, "SELECT ZVALUE FROM ZITEM WHERE Z_PK = 1")
  }

  @Test(.timeLimit(.minutes(20)))
  func aTriedJobShowsWhatItDoesAndLeavesNothing() throws {
    // Given a store on which a pool runs, with a job that has succeeded
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("add")
    try pool.waitForJobs(1)
    let temporary = items.place.path("tmp")
    try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
    func tried(_ words: String...) throws -> Finished {
      try run(
        "/usr/bin/env",
        ["TMPDIR=\(temporary)", Built.path("workerpool"), "try"] + words + [
          "--plugins", items.plugins, "--queue", items.queue,
        ])
    }
    // When a new job, and one like that, are tried
    let new = try tried("named", items.items[0])
    let old = try tried("p1")
    // Then it is shown what they do
    #expect(new.code == 0 && new.output.contains("succeeded") && new.output.contains("one item"), "\(new)")
    #expect(new.output.contains("  inserted x-coredata://"), "\(new)")
    #expect(old.code == 0 && old.output.contains("updated \(items.items[0]): value\n"), "\(old)")
    // A failure is told, also one of the whole process.
    let failed = try tried("fail-for-good", items.items[0])
    #expect(failed.code == 1 && failed.output.contains("PermanentFailure"), "\(failed)")
    let crashed = try tried("crash", items.items[0])
    #expect(crashed.code == 1 && crashed.output.contains("while the job ran"), "\(crashed)")
    // A flood of output is cut as in a pool.
    let flood = try tried("misbehave", items.items[0], "--set", "how=flood")
    #expect(flood.code == 0 && flood.output.contains("lines more, which are left out"), "\(flood.output.suffix(2000))")
    #expect(flood.output.utf8.count < 1 << 20, "it wrote 10 MB")
    let unknown = try tried("nonsuch")
    #expect(unknown.code == 1 && unknown.errors.contains("runs the kind nonsuch"), "\(unknown)")
    // What a killed process has left goes with the next one.
    let left = temporary + "/workerpool-try-left"
    try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
    #expect(try tried("nothing", items.items[0]).code == 0)
    // And the store is as it was, and no copy is left.
    #expect(try value(items) == "1")
    #expect(try sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB") == "1")
    #expect(try sqlite(items.store, "SELECT count(*) FROM ZITEM") == "1")
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).isEmpty)
    try pool.stop()
  }

  @Test func aStoreAtAServerIsNotTriedOn() throws {
    let refused = try workerpool("try", "add", "--store", "postgresql://me@127.0.0.1:1/none")
    #expect(refused.code == 2 && refused.errors.contains("workerpool copy"), "\(refused)")
  }
}
