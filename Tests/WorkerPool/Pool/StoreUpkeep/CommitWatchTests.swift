import Testing

@testable import WorkerPool

/// Jobs that other processes save are looked for; the pool's own intake tells of its jobs itself.
@Suite struct CommitWatchTests {
  private let pool: PoolParts
  private let commits: CommitWatch

  init() throws {
    pool = try PoolParts()
    commits = CommitWatch(pool.core, pool.ready, WALCheckpoints(pool.core))
  }

  /// Whether the store is asked again when this is its newest job.
  private func isNews(_ key: Int64) -> Bool {
    let before = pool.source.asked.all.count
    commits.foundNewest(key)
    pool.ready.promoted([], areMore: false, next: nil)
    return pool.source.asked.all.count > before
  }

  @Test func whatThePoolHasTakenIsNoNews() {
    #expect(isNews(3))
    commits.tookJobs(4...6)
    #expect(!isNews(6))
    commits.tookJobs(7...7)
    #expect(!isNews(7))
    #expect(isNews(8))
  }

  ///     another process     intake
  ///     saves job 4
  ///                         saves jobs 5 and 6
  @Test func aJobOfAnotherProcessBeforeThoseOfThePoolIsNews() {
    #expect(isNews(3))
    commits.tookJobs(5...6)
    #expect(isNews(6))
    #expect(!isNews(6))
  }

  /// The store's answer may come before the intake's report.
  @Test func jobsThatAreToldTwiceAreLookedForOnce() {
    #expect(isNews(3) && isNews(5))
    commits.tookJobs(4...5)
    #expect(!isNews(5))
  }
}
