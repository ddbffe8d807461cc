import Foundation
import TestFiles
import Testing
import WorkerKitTesting

/// What authors of plugins test with runs jobs as a worker does.
@Suite(.ownThreads) struct TestPoolTests {
  /// Adds 1 to each item's value, or does what its parameters say.
  private struct Counting: Worker {
    static let kind = "count"
    static let maxAttempts: Int? = 2

    func run(_ job: Job, in context: NSManagedObjectContext) throws {
      let parameters = try job.parameters
      for item in try job.objects() {
        item.setValue((item.value(forKey: "value") as? Int ?? 0) + 1, forKey: "value")
      }
      if let failure = parameters["fail"]?.stringValue { throw Failure(description: failure) }
      if let seconds = parameters["snooze"]?.doubleValue { throw JobSnoozed(for: seconds) }
      if parameters["stop"] != nil { try job.checkStop() }
      if parameters["submit"] != nil {
        var later = JobRequest(kind: Self.kind, objects: job.objectURIs)
        later.runAt = Date(timeIntervalSinceReferenceDate: 500)
        try job.submit(later)
        try job.submit(JobRequest(kind: "elsewhere"))
      }
      job.output = "counted"
    }
  }

  /// Saves a part, fails once, and goes on from there.
  private struct Parts: Worker {
    static let kind = "parts"

    func run(_ job: Job, in context: NSManagedObjectContext) throws {
      let item = try job.objects()[0]
      if job.checkpoint == nil {
        item.setValue(10, forKey: "value")
        job.report(done: 1, of: 2)
        try job.save(checkpoint: Data("one".utf8))
        item.setValue(99, forKey: "value")
        throw Failure(description: "between")
      }
      item.setValue((item.value(forKey: "value") as? Int ?? 0) + 1, forKey: "value")
      try job.setResults([item])
    }
  }

  private struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let pool: TestPool
  private let item: NSManagedObjectID

  init() throws {
    let entity = NSEntityDescription()
    entity.name = "Item"
    let value = NSAttributeDescription()
    value.name = "value"
    value.attributeType = .integer64AttributeType
    value.defaultValue = 0
    entity.properties = [value]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    pool = try TestPool(
      model: model, workers: [Counting.self, Parts.self], now: Date(timeIntervalSinceReferenceDate: 100))
    item = try pool.write { NSEntityDescription.insertNewObject(forEntityName: "Item", into: $0) }
  }

  private func value() throws -> Int? {
    try pool.read { try $0.existingObject(with: item).value(forKey: "value") as? Int }
  }

  @Test func anEffectIsSavedWithTheJobsSuccess() throws {
    let run = try pool.run("count", objects: [item])
    #expect(run.outcome == .succeeded && run.attempt == 1 && run.output == "counted")
    #expect(try value() == 1)
    let times = try pool.read { context in
      let job = try #require(try context.existingObject(with: run.job) as? Job)
      return [job.createdAt, job.startedAt, job.finishedAt]
    }
    #expect(times == Array(repeating: Date(timeIntervalSinceReferenceDate: 100), count: 3))
    #expect(throws: TestPoolError.isNotAvailable(.succeeded, until: nil)) { try pool.run(run.job) }
  }

  @Test func aFailureIsRolledBackAndTriedAgainAtItsTime() throws {
    let first = try pool.run("count", objects: [item], parameters: #"{"fail": "no luck"}"#)
    let failure = try #require(first.failure)
    #expect(first.outcome == .failed(failure) && failure.message == "no luck" && first.attempt == 1)
    #expect(try value() == 0)
    let due = try #require(first.runsAgainAt)
    #expect(due > pool.now)
    #expect(throws: TestPoolError.isNotAvailable(.retryable, until: due)) { try pool.run(first.job) }
    #expect(try pool.runAll().isEmpty)
    pool.now = due
    let second = try pool.run(first.job)
    let last = try #require(second.failure)
    #expect(second.outcome == .dead(last) && last.attempt == 2 && second.attempt == 2 && second.runsAgainAt == nil)
    #expect(try value() == 0)
  }

  @Test func aCheckpointIsKeptAndTheNextAttemptGoesOnFromIt() throws {
    let first = try pool.run("parts", objects: [item])
    #expect(first.checkpoint == Data("one".utf8) && first.progress == (1, 2))
    #expect(try value() == 10)
    pool.now = try #require(first.runsAgainAt)
    let second = try pool.run(first.job)
    #expect(second.outcome == .succeeded && second.attempt == 2 && second.results == [item])
    #expect(try value() == 11)
  }

  @Test func aSnoozedJobTellsItsTime() throws {
    let run = try pool.run("count", objects: [item], parameters: #"{"snooze": 60}"#)
    let time = pool.now + 60
    #expect(run.outcome == .snoozed(until: time) && run.runsAgainAt == time && run.attempt == 1)
    #expect(try value() == 0)
  }

  @Test(arguments: [(JobStop.cancelled, TestAttempt.Outcome.cancelled), (.poolEnds, .returned)])
  func aJobThatIsAskedToStopLeavesNothing(stop: JobStop, outcome: TestAttempt.Outcome) throws {
    let run = try pool.run("count", objects: [item], parameters: #"{"stop": true}"#, stop: stop)
    #expect(run.outcome == outcome)
    #expect(try value() == 0)
  }

  @Test func aLateJobHasFailed() throws {
    let run = try pool.run("count", objects: [item], parameters: #"{"stop": true}"#, stop: .timedOut)
    #expect(run.failure?.type == "timeout")
    #expect(try value() == 0)
  }

  @Test func submittedJobsAreToldAndRunAtTheirTime() throws {
    let run = try pool.run("count", objects: [item], parameters: #"{"submit": true}"#)
    #expect(run.submitted.map(\.kind) == ["count", "elsewhere"])
    #expect(run.submitted.first?.objects == [item.uriString])
    #expect(run.submitted.first?.runAt == Date(timeIntervalSinceReferenceDate: 500))
    #expect(try pool.runAll().isEmpty, "one is early, and nobody runs the other kind")
    pool.now = Date(timeIntervalSinceReferenceDate: 500)
    #expect(try pool.runAll().map(\.job) == [run.submitted[0].job])
    #expect(try value() == 2)
  }

  @Test func jobsRunByPriorityAndAfterThoseTheyWaitFor() throws {
    let low = try #require(try pool.submit(JobRequest(kind: "count", objects: [item.uriString])))
    let high = try #require(try pool.submit(JobRequest(kind: "count", objects: [item.uriString], priority: 5)))
    var last = JobRequest(kind: "count", objects: [item.uriString], priority: 9)
    last.options.after = [low.uriString]
    let waiting = try #require(try pool.submit(last))
    #expect(try pool.runAll().map(\.job) == [high, low, waiting])
    #expect(try value() == 3)
  }

  @Test func whatCannotRunSaysWhy() throws {
    #expect(throws: TestPoolError.unknownKind("elsewhere")) { try pool.run("elsewhere") }
    var request = JobRequest(kind: "count")
    request.uniqueKey = "one"
    #expect(try pool.submit(request) != nil)
    #expect(throws: TestPoolError.keyIsTaken("one")) { try pool.run(request) }
    request.uniqueKey = nil
    request.runAt = pool.now + 5
    let error = #expect(throws: TestPoolError.self) { try pool.run(request) }
    #expect(error?.description.hasPrefix("the job is scheduled until ") == true)
  }
}
