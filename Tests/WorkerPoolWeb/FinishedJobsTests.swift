import CoreData
import Foundation
import Jobs
import Testing

@testable import WorkerPoolWeb

@Suite struct FinishedJobsTests {
  /// The pool keeps minutes. In the five minutes that a page shows, each job is in one interval of five seconds.
  @Test(arguments: [5.0, 10, 60, 360])
  func eachJobIsCountedOnceWhateverTheIntervalsLength(step: Double) throws {
    // Given three jobs that ended in a minute that is over, in different intervals of five seconds.
    let minute = JobStore.HistoryStep.minute.start(of: Date()) - 120
    let file = try JobsFile { store, context in
      let jobs = try store.insert((0..<3).map { _ in JobRequest(kind: "a") }, into: context, at: minute)
      for (number, job) in jobs.enumerated() {
        try job.markSucceeded(startedAt: minute + 1, at: minute + 2 + 20 * Double(number))
      }
      try context.save()
      #expect(try store.noteHistory(HistoryGauges(), at: minute + 60.5, in: context))
    }
    // When a page counts them, then each is counted once.
    var finished = FinishedJobs()
    let grid = TimeGrid(step: step, count: 60, until: minute + 120)
    let intervals = try finished.intervals(grid, in: file.reader)
    #expect(intervals.reduce(0) { $0 + $1.counts[0] } == 3)
    #expect(intervals.filter { $0.counts[0] > 0 }.count == (step < 60 ? 3 : 1))
  }
}
