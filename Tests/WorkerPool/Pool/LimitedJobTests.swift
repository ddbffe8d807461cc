import LinuxSystem
import TestFiles
import Testing

@testable import WorkerPool

/// What counts as the processor time of a job with a limit.
@Suite(.ownThreads) struct LimitedJobTests {
  /// A job that began at 100, when its worker had used 7 seconds.
  private func job() -> LimitedJob {
    LimitedJob(
      worker: WorkerID(number: 1), pid: 1, limit: 5, begin: ProcessMoment(date: 100, seconds: 7))
  }

  @Test func whatTheWorkerUsesBeforeTheFirstLookCounts() {
    var job = job()
    #expect(job.used(ProcessTree(date: 100.2, own: 7.25, waitedFor: 30, descendants: [])) == 0.25)
    #expect(job.used(ProcessTree(date: 101, own: 7.5, waitedFor: 30.5, descendants: [])) == 1)
  }

  @Test func aLookFromBeforeTheJobSaysNothing() {
    var job = job()
    #expect(job.used(ProcessTree(date: 99.9, own: 6.5, waitedFor: 30, descendants: [])) == nil)
    #expect(job.base == nil)
  }

  @Test func programsOfTheJobCountFromTheirStartAndOlderOnesFromTheFirstLook() {
    var job = job()
    let helper = ProcessTree.Descendant(startedAt: 20, seconds: 500)
    let own = ProcessTree.Descendant(startedAt: 99.995, seconds: 0.125)
    #expect(job.used(ProcessTree(date: 100.2, own: 7, waitedFor: 3, descendants: [helper, own])) == 0.125)
    // When the helper has ended, what it had used is no job's still.
    #expect(job.used(ProcessTree(date: 101, own: 7, waitedFor: 503.25, descendants: [])) == 0.25)
  }
}
