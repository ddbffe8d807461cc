import Foundation
import Testing
import WorkerPool

/// One store has one pool, and the pool follows the file that it has open.
@Suite(.serialized) struct OneStoreTests {
  private func secondPool(_ items: ItemPool, store: String) throws -> Finished {
    try run(
      Built.path("workerpool"),
      [
        "run", "--store", store, "--model", items.model, "--queue", items.place.path("other"), "--plugins",
        items.plugins,
      ])
  }

  @Test(.timeLimit(.minutes(20)), arguments: ["its path", "a symbolic link", "a hard link", "a linked directory"])
  func aSecondPoolOnTheStoreIsRefusedByWhateverNameItComes(name: String) throws {
    let items = try ItemPool()
    let pool = try items.start()
    var path = items.place.path("alias.sqlite")
    switch name {
    case "a symbolic link": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: items.store)
    case "a hard link": try FileManager.default.linkItem(atPath: items.store, toPath: path)
    case "a linked directory":
      let link = items.place.path("linked")
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: items.place.url.path)
      path = link + "/app.sqlite"
    default: path = items.store
    }
    let before = try FileManager.default.contentsOfDirectory(atPath: items.place.url.path).sorted()
    let second = try secondPool(items, store: path)
    #expect(second.code == 1)
    let sentence =
      "another pool, process \(pool.pid), runs on the store \(path) with the queue directory \(items.queue); "
      + "a store has one pool: stop that one first (workerpool stop --queue \(items.queue))"
    #expect(second.errors.contains(sentence), "\(second.errors)")
    let after = try FileManager.default.contentsOfDirectory(atPath: items.place.url.path).sorted()
    #expect(after.filter { $0 != "other" } == before, "nothing is made beside the store")
    try items.submit("add")
    try pool.waitForJobs(1)
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }

  /// The log of a killed pool lies beside the first name: under the second one the jobs in it would be missing.
  @Test(.timeLimit(.minutes(20)))
  func aStoreWithTwoNamesIsRefusedAfterItsPoolWasKilled() throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("add")
    try pool.waitForJobs(1)
    try pool.kill9()
    let other = items.place.path("alias.sqlite")
    try FileManager.default.linkItem(atPath: items.store, toPath: other)
    let second = try secondPool(items, store: other)
    #expect(second.code == 1 && second.errors.contains("the file has 2 names (hard links)"), "\(second.errors)")
    unlink(other)
    let next = try items.start()
    try items.submit("add")
    try next.waitForJobs(2)
    #expect(try items.rows() == "3|1|0")
    try next.stop()
  }

  /// Started at the same moment on a store that does not exist, each with a queue directory of its own, of two pools
  /// one runs.
  @Test(.timeLimit(.minutes(20)))
  func ofTwoPoolsThatMakeTheStoreOneRuns() throws {
    for round in 1...5 {
      let items = try ItemPool()
      let racers = try ["queue", "other"].map { queue in
        try StartingPool(items, store: items.place.path("new\(round).sqlite"), queue: items.place.path(queue))
      }
      let running = racers.filter { $0.line(with: "running on") != nil }
      #expect(running.count == 1)
      for racer in running { racer.process.terminate() }
      #expect(racers.map { $0.end().code }.sorted() == [0, 1])
    }
  }

  /// The log and its index lie beside the file, and not beside the link.
  @Test(.timeLimit(.minutes(20)))
  func jobsAreTakenOnAStoreThatIsNamedThroughALink() throws {
    let items = try ItemPool()
    let link = items.place.path("elsewhere/link.sqlite")
    try FileManager.default.createDirectory(atPath: items.place.path("elsewhere"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: items.store)
    let pool = try RunningPool(items.place, store: link, model: items.model, plugins: items.plugins, workers: 1)
    try items.submit("add")
    try pool.waitForJobs(1)
    #expect(try pool.status().store == items.store)
    #expect(try FileManager.default.contentsOfDirectory(atPath: items.place.path("elsewhere")) == ["link.sqlite"])
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }

  /// What can happen to the files of a store.
  enum Parting: String, CaseIterable, Sendable {
    case deleted, renamed, replaced, logDeleted

    func happen(to store: String) throws {
      let files = FileManager.default
      switch self {
      case .deleted: try files.removeItem(atPath: store)
      case .renamed: try files.moveItem(atPath: store, toPath: store + ".moved")
      case .replaced:
        try files.copyItem(atPath: store, toPath: store + ".copy")
        #expect(rename(store + ".copy", store) == 0)
      case .logDeleted: try files.removeItem(atPath: store + "-wal")
      }
    }
  }

  /// No job file that comes after that is acknowledged: the next pool has them all.
  @Test(.timeLimit(.minutes(20)), arguments: Parting.allCases)
  func whenPathAndOpenFilePartNothingMoreIsTakenAndThePoolEnds(parting: Parting) throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.drop([#"{"kind": "nothing"}"#], as: "before.json")
    try pool.waitForJobs(1)
    try parting.happen(to: items.store)
    for number in 1...6 { try items.drop([#"{"kind": "nothing"}"#], as: "after\(number).json") }
    #expect(pool.waitForExit() == 6)
    #expect(pool.lastLines.contains("no more job files are taken, and the pool ends"), "\(pool.lastLines)")
    #expect(try pool.leftovers().isEmpty)
    if parting == .deleted { for suffix in ["-wal", "-shm"] { unlink(items.store + suffix) } }
    let next = try items.start()
    try next.wait { status in
      let jobs = status.jobs ?? [:]
      return (jobs["available"] ?? 0) == 0 && (jobs["succeeded"] ?? 0) >= 6
    }
    #expect(try next.status().jobs?["succeeded"] ?? 0 <= 7, "each file is taken once")
    try next.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func statusSaysThatTheStoreIsGoneWhileThePoolEnds() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    let pool = try items.start()
    try items.submit("misbehave", "--set", "how=wait and ignore", "--set", "stop=\(stop.path)")
    _ = try stop.waitForArrival()
    try Parting.renamed.happen(to: items.store)
    // The worker ignores TERM for five seconds.
    try pool.wait { $0.storeFailure != nil }
    let text = try pool.command("status").output
    let sentence =
      "\(items.store) was deleted or renamed while the pool had it open: no more job files are taken, and the pool ends"
    #expect(text.contains(sentence), "\(text)")
    #expect(pool.waitForExit() == 6)
  }

  /// A worker that is started when the store is gone makes no new one, and does not work on another.
  @Test(.timeLimit(.minutes(20)))
  func aWorkerRefusesAnyOtherFileThanThePools() throws {
    let items = try ItemPool()
    func worker(store: String, id: String) throws -> Finished {
      try run(
        "/usr/bin/env",
        [
          "WORKERPOOL_CONNECTION=3", "WORKERPOOL_STORE=\(store)", "WORKERPOOL_STORE_ID=\(id)",
          "WORKERPOOL_MODEL=\(items.model)", Built.path("test-worker"),
        ])
    }
    let other = try worker(store: items.store, id: "1:2")
    #expect(other.code == 66)
    #expect(other.errors.contains("\(items.store) was replaced by another file"), "\(other.errors)")
    let gone = try worker(store: items.place.path("gone.sqlite"), id: "1:2")
    #expect(gone.code == 66)
    #expect(gone.errors.contains("was deleted or renamed"), "\(gone.errors)")
    #expect(!FileManager.default.fileExists(atPath: items.place.path("gone.sqlite")))
  }
}
