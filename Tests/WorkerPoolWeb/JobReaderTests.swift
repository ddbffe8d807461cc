import CoreData
import Foundation
import Jobs
import PoolClient
import TestFiles
import Testing

@testable import WorkerPoolWeb

/// What pages read, within a time.
@Suite struct JobReaderTests {
  private struct Late: Error {}

  /// No statement that can be ended compares patterns.
  @Test(.timeLimit(.minutes(20))) func failuresAreNotLookedAtForLongerThanAPageMayTake() throws {
    let place = temporaryURL("late")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    let file = place.appendingPathComponent("app.sqlite")
    do {
      let app = NSEntityDescription()
      app.name = "Note"
      let model = NSManagedObjectModel()
      model.entities = [app]
      let store = try JobStore(url: file, model: model)
      let context = store.makeContext(name: "test")
      try context.performAndWait {
        for job in try store.insert((0..<3).map { _ in JobRequest(kind: "a") }, into: context, at: Date()) {
          let failure = AttemptFailure(attempt: 1, date: Date(), type: "E", message: "no room")
          try job.markFailed(failure, policy: RetryPolicy(maxAttempts: 1))
        }
        try context.save()
      }
    }
    let jobs = try JobReader(path: file.path)
    var filter = JobFilter()
    filter.error = "E: no room"
    #expect(try jobs.page(filter, before: nil).count == 3)
    // Asked as often as the time needs to end.
    #expect(throws: PageError.self) { try jobs.within(0.01) { while true { try jobs.reader.checkTime() } } }
    #expect(try jobs.failures().groups.map(\.dead) == [3], "the next page has its own time")
    jobs.reader.checkTime = { throw Late() }
    #expect(throws: Late.self) { try jobs.reader.failures() }
    #expect(throws: Late.self) { try jobs.reader.counts(filter) }
    #expect(throws: Late.self) { try jobs.reader.keys(filter, upTo: 3, limit: 3) }
  }
}
