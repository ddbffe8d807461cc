import Foundation
import Testing

/// Jobs that do something bad at their first attempt: it is known and counted, nothing is left of it, and the next
/// attempt succeeds.
@Suite(.serialized) struct BadJobTests {
  @Test(
    .timeLimit(.minutes(20)),
    arguments: [
      ("exit", ["exited with code 0"]), ("abort", ["signal 6"]), ("loop", ["took longer than"]),
      ("eat memory", ["signal 6 (Aborted) (perhaps it reached its limit of 256 MiB, --memory"]),
      ("grandchildren", ["signal 6"]),
      // The socket is closed for good when the main thread wakes, if it does while the job runs.
      ("close the socket", ["had not answered", "had closed its connection"]), ("garbage", ["broke the protocol: "]),
      ("freeze", ["had not answered"]),
    ])
  func aBadJobIsNamedAndDoneAtItsNextAttempt(how: String, reasons: [String]) throws {
    let items = try ItemPool(items: 2)
    let stop = try StopPoint(items.place)
    try items.submit("add", items: [items.items[0]])
    try items.submit(
      "misbehave", items: [items.items[1]],
      ["--set", "how=\(how)", "--set", "stop=\(stop.path)"] + (how == "loop" ? ["--timeout", "1"] : []))
    let options =
      switch how {
      case "eat memory": ["--memory", "256"]
      case "freeze", "close the socket": ["--heartbeat", "3"]
      default: [String]()
      }
    let pool = try items.start(options: options)
    try pool.waitForJobs(2)
    let story = try pool.command("jobs", "--json").output
    #expect(reasons.contains(where: story.contains), "\(story)")
    // A process that could still do so has said where it was before it was killed.
    if how == "freeze" { #expect(story.contains("thread "), "\(story)") }
    if how == "loop" {
      #expect(story.contains("loopsWithoutEnd"), "\(story)")
      let text = try pool.command("jobs", "show", "p2").output
      #expect(text.contains("where it was:") && text.contains("loopsWithoutEnd"), "\(text)")
    }
    let rows = try items.rows()
    #expect(rows.contains(how == "loop" ? "3|2|0" : "3|1|1"), "\(rows)")
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }

  @Test(.timeLimit(.minutes(20)))
  func aFloodOfOutputStopsNobody() throws {
    let items = try ItemPool()
    try items.submit("misbehave", "--set", "how=flood")
    let pool = try items.start()
    try pool.waitForJobs(1)
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
    #expect(try items.rows() == "3|1|0")
  }

  @Test(.timeLimit(.minutes(20)))
  func aPluginThatDiesAtItsStartEndsThePoolWithACodeOfItsOwn() throws {
    let items = try ItemPool()
    try FileManager.default.removeItem(atPath: items.plugins + "/worker-test")
    try FileManager.default.createSymbolicLink(
      atPath: items.plugins + "/worker-quitter", withDestinationPath: Built.path("fake-worker"))
    let finished = try run(
      Built.path("workerpool"),
      [
        "run", "--store", items.store, "--model", items.model, "--queue", items.queue, "--plugins", items.plugins,
        "--without-bundled",
      ])
    #expect(finished.code == 4)
    #expect(finished.errors.contains("exited with code 3 before it said hello; its last lines: I never liked this job"))
    #expect(finished.errors.contains("no plugin can be started"))
    // With a good one the queue goes on where it was.
    try FileManager.default.removeItem(atPath: items.plugins + "/worker-quitter")
    try FileManager.default.createSymbolicLink(
      atPath: items.plugins + "/worker-test", withDestinationPath: Built.path("test-worker"))
    try items.submit("add")
    let pool = try items.start()
    try pool.waitForJobs(1)
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }

  @Test(.timeLimit(.minutes(20)))
  func ofTwoSupervisorsOneRuns() throws {
    let items = try ItemPool()
    let first = try items.start()
    // Not even removing its files makes room for a second one.
    for file in try FileManager.default.contentsOfDirectory(atPath: items.queue + "/run") where file != "status.sock" {
      unlink(items.queue + "/run/" + file)
    }
    let second = try run(
      Built.path("workerpool"),
      [
        "run", "--store", items.store, "--model", items.model, "--queue", items.queue, "--plugins", items.plugins,
        "--without-bundled",
      ])
    #expect(second.code == 1)
    #expect(second.errors.contains("runs on \(items.queue)"), "\(second.errors)")
    try first.stop()

    // Started at the same moment, again and again: one and only one runs.
    for _ in 1...5 {
      let racers = try (1...2).map { _ in try StartingPool(items) }
      #expect(outcomes(racers).sorted() == [0, 1])
    }
    try items.submit("add")
    let last = try items.start()
    try last.waitForJobs(1)
    try last.stop()
    try items.checkNothingIsLeft(of: last)
  }

  /// Waits until each of the pools has said that it runs or has ended, stops those that run, and returns the exit
  /// codes.
  private func outcomes(_ racers: [StartingPool]) -> [Int32] {
    let running = racers.filter { $0.line(with: "running on") != nil }
    for racer in running { racer.process.terminate() }
    return racers.map { $0.end().code }
  }
}
