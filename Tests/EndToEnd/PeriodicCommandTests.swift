import Foundation
import Testing

/// `workerpool periodic`.
@Suite(.serialized) struct PeriodicCommandTests {
  private func entry(_ items: ItemPool, _ name: String, _ text: String) throws {
    try FileManager.default.createDirectory(atPath: items.queue + "/periodic", withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(items.queue)/periodic/\(name).json"))
  }

  @Test(.timeLimit(.minutes(20)))
  func entriesAreListedWithTheirTimesAndBadOnesWithTheReason() throws {
    // Given an entry that has run at a full hour, and one that is none
    let items = try ItemPool()
    try entry(items, "hourly", #"{"cron": "0 * * * *", "catchUp": "none", "job": {"kind": "nothing"}}"#)
    try entry(items, "bad", #"{"cron": "0 * * *", "job": {"kind": "nothing"}}"#)
    let pool = try items.start()
    let fresh = try pool.command("periodic")
    try pool.stop()
    // 2026-01-01T00:00:00Z, in seconds since 2001.
    try _ = sqlite(items.store, "UPDATE WPPOOLPERIODIC SET ZLAST = 788918400")
    // When they are listed, with and without a pool
    let list = try workerpool("periodic", "--queue", items.queue, "--store", items.store)
    let json = try workerpool("periodic", "--queue", items.queue, "--json")
    // Then the times are there, as far as they are known
    #expect(fresh.code == 0 && fresh.lines.count == 4, "\(fresh)")
    #expect(list.lines[1].hasPrefix("bad") && list.lines[1].hasSuffix("bad"), "\(list)")
    #expect(list.lines[2].hasPrefix("hourly  0 * * * *  "), "\(list)")
    #expect(list.lines[2].contains("nothing  2026-01-01 00:00Z  2"), "\(list)")
    #expect(list.lines[3].hasPrefix("bad: periodic/bad.json: \"cron\""), "\(list)")
    #expect(json.lines.count == 2 && json.lines[0].contains(#""name":"bad","cron":null"#), "\(json)")
    #expect(json.lines[1].contains(#""lastRun":null,"nextRun":"2"#) && json.lines[1].contains(#""problem":null"#))
    #expect(json.errors.contains("The last runs are not known"))
  }

  /// Its jobs would wait without end, and so would who waits for them.
  @Test(.timeLimit(.minutes(20)))
  func anEntryOfAnUnknownKindIsSaidAndNotRun() throws {
    let items = try ItemPool()
    try entry(items, "nightly", #"{"cron": "@yearly", "job": {"kind": "nothng"}}"#)
    let pool = try items.start()
    // Until all plugins have described themselves, no name counts as mistyped.
    try pool.wait { $0.plugins.contains { $0.kinds.contains("nothing") } }
    let run = try pool.command("periodic", "run", "nightly", "--wait")
    #expect(
      run.code == 1 && run.errors.contains("no plugin of the pool runs the kind nothng; did you mean nothing?"),
      "\(run)")
    let list = try pool.command("periodic")
    #expect(
      list.errors.contains(
        "periodic/nightly.json: no plugin of the pool runs the kind nothng; did you mean nothing?"), "\(list)")
    try pool.wait { $0.problems.contains { $0.text.contains("periodic/nightly.json: no plugin runs the kind nothng") } }
    #expect(try items.rows().isEmpty)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func anEntryRunsNowWhenSomebodyAsksForIt() throws {
    let items = try ItemPool()
    try entry(items, "yearly", #"{"cron": "@yearly", "job": {"kind": "add", "objects": ["\#(items.items[0])"]}}"#)
    try entry(items, "bad", "{}")
    let pool = try items.start()
    let finished = try pool.command("periodic", "run", "yearly", "--wait")
    #expect(finished.code == 0 && finished.output.hasSuffix("/PoolJob/p1 succeeded\n"), "\(finished)")
    for (name, message) in [("yaerly", "did you mean yearly?"), ("bad", "periodic/bad.json")] {
      let wrong = try pool.command("periodic", "run", name)
      #expect(wrong.code == 1 && wrong.errors.contains(message), "\(wrong)")
    }
    #expect(try pool.command("periodic", "walk", "yearly").code == 2)
    #expect(try pool.command("stop").code == 0)
    try items.checkNothingIsLeft(of: pool)
  }
}
