import CoreData
import Foundation
import Glibc
import Jobs
import TestFiles
import Testing
import WorkerPool

/// Exactly once, no matter which process is killed, and when: the effect is counted in the objects themselves.
@Suite(.ownThreads) struct SurvivalTests {
  @Test(arguments: ["add", "add-slowly"]) func everyObjectIsChangedOnceThoughWorkersAreKilledAllTheTime(kind: String)
    throws
  {
    let count = 1000
    let pool = try JobPool(items: count, workers: 2, isStarted: false)
    let jobs = try pool.submit(pool.items.map { JobRequest(kind: kind, objects: [$0]) })
    try pool.start()
    var ended = 0
    var kills = 0
    var lastKill = 0
    while ended < count, kills < 8 {
      ended += try pool.nextEvent()?.ended?.count ?? 0
      guard ended >= lastKill + 100 else { continue }
      lastKill = ended
      if let victim = try pool.status().workers.filter({ $0.phase == "up" }).randomElement(), let pid = victim.pid {
        kill(pid, SIGKILL)
        kills += 1
      }
    }
    #expect(kills >= 3)
    // A job that was settled after a crash waits for its next attempt; asking for it now saves the time.
    try pool.finish(jobs)
    #expect(try pool.values() == Array(repeating: 1, count: count))
    #expect(try pool.states(jobs) == [.succeeded: count])
    try pool.end()
  }

  /// Kills the worker at the first, second, third … point that its run passes, until a run passes fewer points than
  /// that.
  @Test func killedAtAnyPointEveryJobIsStillDoneOnce() throws {
    var points: Set<String> = []
    for number in 1...60 {
      let mark = temporaryURL("fault").path
      defer { unlink(mark) }
      let pool = try JobPool(
        items: 6, environment: ["TEST_WORKER_FAULT": "\(number)", "TEST_WORKER_FAULT_MARK": mark], isStarted: false)
      let jobs = try pool.submit(
        pool.items.enumerated().map { JobRequest(kind: $0 == 3 ? "fail-for-good" : "add", objects: [$1]) })
      try pool.start()
      // What was begun when the worker died may wait for another attempt.
      try pool.finish(jobs)
      let point = try? String(contentsOfFile: mark, encoding: .utf8)
      #expect(
        try pool.values() == (0..<6).map { $0 == 3 ? 0 : 1 }, "after a death at point \(number), \(point ?? "none")")
      #expect(try pool.states(jobs) == [.succeeded: 5, .dead: 1])
      try pool.end()
      guard let point else { break }
      points.insert(point)
    }
    #expect(
      points.isSuperset(of: ["connected", "begun", "rowRead", "pluginReturned", "committed", "answered"]), "\(points)")
  }

  /// With any merge policy of the plugin.
  @Test(arguments: 0..<5) func whatAnotherProcessFinishesMeanwhileIsNotDoneTwice(mergePolicy: Int) throws {
    // Worker                          Another context
    // reads the job
    //                                 adds ten, marks the job succeeded, saves
    // adds one, saves: conflict, rolls back
    // DONE
    let pool = try JobPool()
    let file = pool.directory.path + "/go"
    let job = try pool.submit("wait", parameters: #"{"until": "\#(file)", "mergePolicy": \#(mergePolicy)}"#)
    try pool.waitForProgress(of: job)

    let context = pool.store.makeContext(name: "another context")
    try context.performAndWait {
      let id = try #require(pool.store.coordinator.objectID(forURI: job))
      let row = try #require(try context.existingObject(with: id) as? Job)
      for object in try row.objectURIs.compactMap(pool.store.coordinator.objectID(forURI:)).map(context.existingObject)
      {
        object.setValue(10, forKey: "value")
      }
      try row.markSucceeded(startedAt: Date())
      try context.save()
    }
    try Data().write(to: URL(fileURLWithPath: file))
    try pool.waitForEnd(of: [job])
    #expect(try pool.values() == [10])
    #expect(try pool.row(job) == .init(state: .succeeded, attempt: 1, crashes: 0, failures: []))
    try pool.end()
  }
}
