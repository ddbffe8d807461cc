import CoreData
import Foundation
import Jobs
import TestFiles
import Testing
import WorkerKit
import WorkerPool

/// What jobs can ask for, with real processes.
@Suite(.ownThreads) struct RunningJobTests {
  @Test func aSnoozedJobRunsAgainAndItsFirstTryLeavesNothing() throws {
    let pool = try JobPool()
    let mark = pool.directory.path + "/mark"
    let job = try pool.submit("snooze", parameters: #"{"mark": "\#(mark)"}"#)
    try pool.waitForEnd(of: [job])
    try pool.waitForEnd(of: [job])
    #expect(try pool.row(job) == .init(state: .succeeded, attempt: 1, crashes: 0, failures: []))
    #expect(try pool.values() == [1])
    try pool.end()
  }

  @Test func aJobInTheMiddleOfALongFetchIsStoppedByInterruptingIt() throws {
    let pool = try JobPool(items: 0)
    let context = pool.store.makeContext(name: "names")
    try context.performAndWait {
      for _ in 0..<2000 {
        NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
          .setValue(String(repeating: "a", count: 60), forKey: "name")
      }
      try context.save()
    }
    let cancelled = try pool.submit([JobRequest(kind: "long-fetch")])[0]
    try pool.waitForProgress(of: cancelled)
    let pid = try pool.status().workers.map(\.pid)
    _ = try pool.request(StatusRequest(.cancel, jobs: [cancelled]))
    try pool.waitForEnd(of: [cancelled])
    #expect(try pool.row(cancelled).state == .cancelled)
    let late = try pool.submit([JobRequest(kind: "long-fetch", timeout: 0.2)])[0]
    try pool.waitForEnd(of: [late])
    #expect(try pool.row(late).failures.map(\.type) == ["timeout"])
    #expect(try pool.status().workers.map(\.pid) == pid, "no process had to be killed for it")
    try pool.end()
  }

  @Test func aRunningJobThatDoesNotListenIsCancelledWithItsProcess() throws {
    let pool = try JobPool()
    let job = try pool.submit("deaf")
    try pool.waitForProgress(of: job)
    _ = try pool.request(StatusRequest(.cancel, jobs: [job]))
    try pool.waitForEnd(of: [job])
    #expect(try pool.row(job) == .init(state: .cancelled, attempt: 0, crashes: 0, failures: []))
    #expect(try pool.values() == [0])
    try pool.end()
  }

  @Test func jobsRunAfterThoseThatTheyName() throws {
    let pool = try JobPool(items: 3, workers: 2)
    let lines = [
      #"{"label": "one", "kind": "add", "objects": ["\#(pool.items[0])"]}"#,
      #"{"label": "two", "kind": "add", "objects": ["\#(pool.items[1])"], "after": ["one"], "batch": "all"}"#,
      #"{"kind": "add", "objects": ["\#(pool.items[2])"], "afterBatch": "all"}"#,
    ]
    let observer = try StatusClient(queue: pool.configuration.queue)
    _ = try observer.request(StatusRequest(.observe))
    try pool.drop(lines.joined(separator: "\n"), as: "chain.json")
    var ended: [String] = []
    while ended.count < 3 { ended += try observer.next().ended ?? [] }
    #expect(ended == pool.jobURIs(1...3), "in their order, though two workers were idle")
    #expect(try pool.values() == [1, 1, 1])
    try pool.end()
  }

  @Test func aJobAfterAStrangerIsRejectedWithItsReason() throws {
    let pool = try JobPool()
    let rejected = pool.configuration.queue + "/rejected"
    let watch = try InotifyWatch(directory: rejected)
    try pool.drop(#"{"kind": "add", "after": ["x-coredata://ELSE/PoolJob/p7"]}"#, as: "stranger.json")
    let reason = try watch.firstResult {
      try? String(contentsOfFile: rejected + "/stranger.json.error", encoding: .utf8)
    }
    #expect(reason.contains("is not a job of this pool"))
    try pool.end()
  }

  @Test func manyJobsThatSubmitTheSameKeyMakeOneJob() throws {
    let pool = try JobPool(items: 1, workers: 2)
    let jobs = try pool.submit((0..<40).map { _ in JobRequest(kind: "spawn-unique", objects: pool.items) })
    try pool.waitForEnd(of: jobs)
    try pool.waitForJobs { $0.allSatisfy { $0.state == .succeeded } }
    #expect(try pool.values() == [1])
    #expect(try pool.states(jobs) == [.succeeded: 40])
    try pool.end()
  }

  @Test func resultsAndOutputAreSavedWithTheWork() throws {
    let pool = try JobPool()
    let job = try pool.submit([JobRequest(kind: "named")])[0]
    try pool.waitForEnd(of: [job])
    let context = pool.store.makeContext(name: "check")
    try context.performAndWait {
      let id = try #require(pool.store.coordinator.objectID(forURI: job))
      let row = try #require(try context.existingObject(with: id) as? Job)
      #expect(row.output == "one item")
      let result = try #require(row.resultURIs.first.flatMap(pool.store.coordinator.objectID(forURI:)))
      #expect(try context.existingObject(with: result).value(forKey: "value") as? Int == 7)
    }
    try pool.end()
  }

  @Test func aRunningAndAWaitingJobAreCancelledTogether() throws {
    let pool = try JobPool()
    let running = try pool.submit("wait", parameters: #"{"until": "\#(pool.directory.path)/never"}"#)
    try pool.waitForProgress(of: running)
    _ = try pool.request(StatusRequest(.pause))
    let waiting = try pool.submit("add")
    let reply = try pool.request(StatusRequest(.cancel, jobs: [running, waiting]))
    #expect(reply.ok && reply.count == 2)
    try pool.waitForEnd(of: [running])
    #expect(try pool.states([running, waiting]) == [.cancelled: 2])
    try pool.end()
  }

  @Test func aRetryOfAJobWhoseKeyAnotherHasSaysSo() throws {
    let pool = try JobPool()
    _ = try pool.request(StatusRequest(.pause))
    var keyed = JobRequest(kind: "add")
    keyed.uniqueKey = "once"
    let first = try #require(try pool.submit([keyed]).first)
    #expect(try pool.request(StatusRequest(.cancel, jobs: [first])).count == 1)
    let second = try #require(try pool.submit([keyed]).last)
    #expect(first != second)
    let reply = try pool.request(StatusRequest(.retry, jobs: [first]))
    #expect(!reply.ok && reply.error?.contains("another job has its unique key") == true, "\(reply)")
    #expect(try pool.states([first, second]) == [.cancelled: 1, .available: 1])
    try pool.end()
  }

  /// A time that the store cannot hold would never come.
  @Test func aJobCannotBePutOffForEver() {
    #expect([Double.nan, -1, 0].map { JobSnoozed(for: $0).seconds } == [0, 0, 0])
    #expect(JobSnoozed(for: .infinity).seconds.isFinite)
    #expect(JobSnoozed(for: 0.5).seconds == 0.5)
  }

  @Test func pausesOutliveThePool() throws {
    let pool = try JobPool()
    _ = try pool.request(StatusRequest(.pause, kind: "add"))
    _ = try pool.request(StatusRequest(.pause))
    try pool.end()
    let context = pool.store.makeContext(name: "check")
    let kept = try context.performAndWait { try pool.store.pauses(in: context) }
    #expect(kept.all && kept.kinds == ["add"], "stopping the pool is no pause, and takes none back")
    try pool.start(resuming: false)
    let status = try pool.status()
    #expect(status.isPaused && status.pausedKinds == ["add"])
    try pool.end()
  }

  /// In Kathmandu full hours begin 45 minutes after those of UTC.
  @Test(arguments: [("last", [[1], [2]]), ("all", [[2], [3]]), ("none", [[0], [1]])])
  func aPeriodicEntryThatWasMissedIsCaughtUpOnceAcrossRestarts(catchUp: String, values: [[Int]]) throws {
    let pool = try JobPool(isStarted: false)
    // As if the pool had last run two hours ago.
    let file =
      #"{"cron": "0 * * * *", "timeZone": "Asia/Kathmandu", "catchUp": "\#(catchUp)", "#
      + #""job": {"kind": "add", "objects": ["\#(pool.items[0])"]}}"#
    let entry = try PeriodicEntry(name: "hourly", contents: Array(file.utf8))
    let context = pool.store.makeContext(name: "before")
    try context.performAndWait {
      _ = try pool.store.insertPeriodic([entry], at: Date() - 7200, into: context)
      try context.save()
    }
    try Data(file.utf8).write(to: URL(fileURLWithPath: pool.configuration.queue + "/periodic/hourly.json"))
    for _ in 1...2 {
      try pool.start()
      try pool.waitForJobs { $0.count >= values[0][0] && $0.allSatisfy { $0.state == .succeeded } }
      try pool.end()
    }
    // A full hour may have passed meanwhile.
    #expect(values.contains(try pool.values()))
  }
}

/// Jobs about objects that no worker can find.
@Suite struct JobObjectTests {
  @Test func aJobAboutObjectsThatAreNotThereIsDeadAtItsFirstAttempt() throws {
    let pool = try JobPool(isStarted: false)
    let missing = pool.items[0].replacing("/p1", with: "/p4711")
    let store = try #require(ObjectURI(pool.items[0])).store
    let expected = [
      (
        "x-coredata://ELSEWHERE/Item/p1",
        "belongs to another store: this one has the identifier \(store)"
      ),
      (pool.items[0].replacing("/Item/", with: "/Itme/"), "names the entity Itme, which the model does not have"),
      (missing, "does not exist, or not any more"),
    ]
    var jobs: [String] = []
    for (uri, _) in expected { jobs += try pool.submit([JobRequest(kind: "add", objects: [pool.items[0], uri])]) }
    try pool.start()
    try pool.waitForEnd(of: jobs)
    for (job, (uri, reason)) in zip(jobs, expected) {
      let row = try pool.row(job)
      #expect(row.state == .dead && row.attempt == 1, "\(uri)")
      #expect(row.failures.map(\.type) == ["JobObjectError"])
      #expect(row.failures.map(\.message) == ["\(uri) \(reason)"])
    }
    #expect(try pool.values() == [0])
    try pool.end()
  }
}

@Suite struct JobParametersErrorTests {
  @Test func aJobWithParametersThatDoNotFitIsNotTriedAgain() {
    let error: any Error = JobParametersError.missing("file")
    #expect((error as? any DetailedFailure)?.isPermanent == true)
  }
}

/// An app that submits jobs in its own saves, beside a running pool.
@Suite struct JobQueueTests {
  private func app(_ pool: JobPool) throws -> (JobQueue, NSManagedObjectContext) {
    let url = URL(fileURLWithPath: pool.configuration.store)
    let model = try #require(NSManagedObjectModel(contentsOf: URL(fileURLWithPath: pool.configuration.model)))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try JobQueue.model(with: model))
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: JobQueue.appStore(at: url).configuration, at: url, options: nil)
    let jobs = try JobQueue(in: coordinator, at: url, queue: pool.configuration.queue)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return (jobs, context)
  }

  @Test func aJobExistsExactlyIfTheAppsSaveDoesAndIsNoticed() throws {
    let pool = try JobPool(items: 0)
    let (jobs, context) = try app(pool)
    let uri = try context.performAndWait {
      let item = NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
      try context.obtainPermanentIDs(for: [item])
      let request = JobRequest(kind: "add", objects: [item.objectID.uriString])
      try jobs.submit(request, in: context)
      context.rollback()
      let again = NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
      try context.obtainPermanentIDs(for: [again])
      var keyed = JobRequest(kind: "add", objects: [again.objectID.uriString])
      keyed.uniqueKey = "once"
      let job = try #require(try jobs.submit(keyed, in: context))
      #expect(try jobs.submit(keyed, in: context) == nil)
      try context.save()
      return job.objectID.uriString
    }
    // Nobody told the pool but the app's save.
    try pool.waitForEnd(of: [uri])
    #expect(try pool.values() == [1])
    #expect(try pool.states([uri]) == [.succeeded: 1])
    try pool.end()
  }

  @Test func aJobMayNameAnObjectThatIsAsNewAsItself() throws {
    let pool = try JobPool(items: 0)
    let (jobs, context) = try app(pool)
    let uris = try context.performAndWait {
      func item() -> NSManagedObject { NSEntityDescription.insertNewObject(forEntityName: "Item", into: context) }
      let (named, twice, given) = (item(), item(), item())
      #expect(named.objectID.isTemporaryID)
      // By the text of its temporary ID, also when that is not its ID any more.
      let text = twice.objectID.uriString
      let submitted = [
        try jobs.submit(JobRequest(kind: "add", objects: [named.objectID.uriString]), in: context),
        try jobs.submit(JobRequest(kind: "add", objects: [text]), in: context),
        try jobs.submit(JobRequest(kind: "add", objects: [text]), in: context),
        try jobs.submit(JobRequest(kind: "add", objects: [given]), in: context),
      ]
      try context.save()
      return submitted.compactMap { $0?.objectID.uriString }
    }
    try pool.waitForEnd(of: uris)
    #expect(try pool.states(uris) == [.succeeded: 4])
    #expect(try pool.values() == [1, 2, 1])
    try pool.end()
  }

  @Test func aTemporaryIDOfAnObjectThatIsNotThereIsRefused() throws {
    let pool = try JobPool(items: 0, isStarted: false)
    let (jobs, context) = try app(pool)
    try context.performAndWait {
      let item = NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
      let text = item.objectID.uriString
      try context.save()
      for uri in [text, "x-coredata:///Item/tSOMEBODY-ELSE1", "nonsense"] {
        let error = #expect(throws: JobObjectNameError.self) {
          try jobs.submit(JobRequest(kind: "add", objects: [uri]), in: context)
        }
        #expect(error?.uri == uri && error?.isTemporary == uri.hasPrefix("x-coredata:///"))
      }
      #expect(context.insertedObjects.isEmpty, "a refused job leaves nothing")
      let other = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      other.persistentStoreCoordinator = context.persistentStoreCoordinator
      let stranger = NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
      let strangersURI = stranger.objectID.uriString
      other.performAndWait {
        let error = #expect(throws: JobObjectNameError.self) {
          try jobs.submit(JobRequest(kind: "add", objects: [strangersURI]), in: other)
        }
        #expect(error?.description.contains("no new object in the context of the job has it") == true)
      }
    }
  }
}
