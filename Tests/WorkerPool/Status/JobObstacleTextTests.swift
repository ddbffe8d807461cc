import PoolClient
import Testing

/// What people read of an obstacle.
@Suite struct JobObstacleTextTests {
  private func text(_ obstacle: JobObstacle) -> String { obstacle.sentence.text(for: .plain) }

  @Test func aLimitSaysWhoHoldsThePlace() {
    var obstacle = JobObstacle(.kindLimit, name: "import", limit: 1)
    obstacle.holders = [.init(job: "x-coredata://POOL/PoolJob/p4", worker: 2, pid: 77, busy: 125)]
    #expect(
      text(obstacle)
        == "it waits, because the limit of the kind import is one at a time; now p4 in worker 2 for 2 min 5 s runs")
    obstacle.otherHolders = 3
    #expect(text(obstacle).hasSuffix("; now p4 in worker 2 for 2 min 5 s and 3 more run"))
  }

  @Test func aRateSaysWhenTheNextMayBegin() {
    var obstacle = JobObstacle(.rate, name: "mail")
    obstacle.rate = "10 in 60 s"
    obstacle.seconds = 12.5
    #expect(
      text(obstacle) == "it waits, because the rate of the kind mail is 10 in 60 s; the next may begin in 12.5 s")
    obstacle.seconds = nil
    obstacle.holders = [.init(job: "x-coredata://POOL/PoolJob/p4", worker: 2, pid: 77, busy: nil)]
    #expect(
      text(obstacle)
        == "it waits, because the rate of the kind mail is 10 in 60 s; p4 in worker 2 is about to begin")
  }

  @Test func busyWorkersSayHowManyJobsAreBeforeItAndItsWeight() {
    var obstacle = JobObstacle(.workersBusy, name: "index")
    obstacle.ahead = 2
    obstacle.weight = "1 of 4"
    #expect(
      text(obstacle)
        == "it runs when a worker of the kind index is free, after 2 jobs before it; its queue has the weight 1 of 4")
  }
}
