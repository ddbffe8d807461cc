import CoreData
import Foundation
import Jobs
import Testing
import WorkerProtocol

/// Pools claim the jobs that they hand out, and keep the limits of all pools together.
///
/// The one pool of a file hands out jobs without claims; its store keeps them by the same rules all the same.
@Suite struct ClaimTests {
  @Test(arguments: JobStoreKind.allCases) func aClaimTakesTheBestJobsFirst(kind: JobStoreKind) throws {
    let store = try TemporaryJobStore(kind)
    try store.insert(jobs: 30)
    let jobs = try store.claim(12, for: 1).jobs
    #expect(jobs.count == 12)
    #expect(jobs.prefix(10).allSatisfy { $0.priority == 2 } && jobs.suffix(2).allSatisfy { $0.priority == 1 })
    #expect(zip(jobs, jobs.dropFirst()).allSatisfy { $0.priority != $1.priority || $0.key < $1.key })
    // What was claimed before is returned again.
    #expect(try store.claim(0, for: 1).jobs == jobs)
    #expect(try store.claim(100, for: 2).jobs.count == 18)
  }

  @Test(arguments: JobStoreKind.allCases) func aFullLimitSaysWhenToAskAgain(kind: JobStoreKind) throws {
    let store = try TemporaryJobStore(kind)
    try store.insert(jobs: 5)
    var rules = ClaimRules()
    rules.limit = 2
    let first = try store.claim(5, for: 1, rules: rules)
    #expect(first.jobs.count == 2)
    let second = try store.claim(5, for: 2, rules: rules)
    #expect(second.jobs.isEmpty && second.retryAfter != nil)
    try store.finish([first.jobs[0]])
    #expect(try store.claim(5, for: 2, rules: rules).jobs.count == 1)
  }

  /// Asking again without a job that waits would be polling: an idle pool has nothing to ask.
  @Test(arguments: JobStoreKind.allCases) func aFullLimitThatHoldsNothingBackSaysNoTime(kind: JobStoreKind) throws {
    let store = try TemporaryJobStore(kind)
    var (kindRules, queueRules) = (ClaimRules(), ClaimRules())
    kindRules.limit = 1
    queueRules.queueLimit = { _ in 1 }
    #expect(try store.claim(5, for: 1, rules: kindRules).retryAfter == nil, "an empty store")
    try store.insert([request()])
    let first = try store.claim(5, for: 1, rules: kindRules)
    #expect(first.jobs.count == 1 && first.retryAfter == nil)
    for rules in [kindRules, queueRules] { #expect(try store.claim(5, for: 2, rules: rules).retryAfter == nil) }
    try store.insert([request()])
    for rules in [kindRules, queueRules] { #expect(try store.claim(5, for: 2, rules: rules).retryAfter != nil) }
  }

  @Test(arguments: JobStoreKind.allCases) func aRateThatHoldsNothingBackSaysNoTime(kind: JobStoreKind) throws {
    let store = try TemporaryJobStore(kind)
    try store.insert(jobs: 1)
    var rules = ClaimRules()
    rules.rate = PoolRate(JobRate(jobs: 1, period: 1000))
    let first = try store.claim(5, for: 1, rules: rules)
    #expect(first.jobs.count == 1 && first.retryAfter == nil)
    try store.insert(jobs: 1)
    #expect(try store.claim(5, for: 1, rules: rules).retryAfter != nil)
  }

  @Test(arguments: JobStoreKind.allCases) func aQueueWithoutRoomKeepsNoOtherBack(kind: JobStoreKind) throws {
    let store = try TemporaryJobStore(kind)
    try store.insert(["mail", "mail", "mail", "default"].map { queue in request { $0.queue = queue } })
    var rules = ClaimRules()
    rules.queueLimit = { $0 == "mail" ? 2 : nil }
    let first = try store.claim(10, for: 1, rules: rules)
    #expect(first.jobs.map(\.queue).sorted() == ["default", "mail", "mail"])
    let second = try store.claim(10, for: 2, rules: rules)
    #expect(second.jobs.isEmpty && second.retryAfter != nil)
    try store.finish(first.jobs)
    #expect(try store.claim(10, for: 2, rules: rules).jobs.map(\.queue) == ["mail"])
  }

  @Test(arguments: JobStoreKind.allCases)
  func jobsOfAKeyAreClaimedOneByOneBesideOthers(kind: JobStoreKind) throws {
    let store = try TemporaryJobStore(kind)
    let keyed = (0..<40).map { _ in
      request {
        $0.limitKey = "disk"
        $0.priority = 5
      }
    }
    try store.insert(keyed + [request(), request { $0.limitKey = "net" }])
    let claimed = try store.claim(10, for: 1).jobs
    #expect(claimed.count == 3 && Set(claimed.map(\.limitKey)) == [nil, "disk", "net"])
    #expect(try store.claim(10, for: 2).jobs.isEmpty)
    try store.finish(claimed)
    #expect(try store.claim(10, for: 2).jobs.map(\.limitKey) == ["disk"])
  }

  @Test(arguments: JobStoreKind.allCases) func whatNobodyHasBegunIsGivenBack(kind: JobStoreKind) throws {
    let store = try TemporaryJobStore(kind)
    try store.insert(jobs: 6)
    let jobs = try store.claim(6, for: 1).jobs
    let released = try store.perform { store, context in
      try store.releaseClaims(of: 1, kinds: ["a"], keeping: jobs.prefix(2).map(\.key), in: context)
    }
    #expect(released == 4)
    #expect(try Set(store.claim(10, for: 2).jobs.map(\.key)) == Set(jobs.suffix(4).map(\.key)))
  }

  /// The first two deaths say little of a job. Then it runs alone among such jobs, and gets the blame for the third.
  @Test(arguments: JobStoreKind.allCases) func aJobThatDiesWithPoolAfterPoolIsSetAside(kind: JobStoreKind) throws {
    let store = try TemporaryJobStore(kind)
    try store.insert(jobs: 3)
    for member in [1, 2] as [Int64] {
      #expect(try store.claim(3, for: member).jobs.count == 3)
      #expect(try store.returnClaims(ofDead: member) == [])
    }
    let alone = try store.claim(3, for: 3).jobs
    #expect(alone.count == 1)
    #expect(try store.claim(3, for: 3).jobs == alone)
    #expect(try store.claim(3, for: 4).jobs.count == 1)
    #expect(try store.returnClaims(ofDead: 3) == alone.map(\.key))
    try store.perform { store, context in
      let job = try #require(try store.jobs(keys: alone.map(\.key), in: context).first)
      #expect(job.state == .dead && job.crashes == 3 && job.attempt == 0)
    }
  }

  /// Another program, or a version before this one, inserts jobs with a zero. So does a person with SQL, or with none.
  @Test(arguments: JobStoreKind.allCases, [nil, 0, -7, 1] as [Int64?])
  func aJobWithoutTwoDeathsIsClaimedWithTheOthers(kind: JobStoreKind, deaths: Int64?) throws {
    let store = try TemporaryJobStore(kind)
    try store.insert(jobs: 3)
    try store.overwrite("hostDeaths", with: deaths.map { $0 as Any } ?? NSNull())
    #expect(try store.claim(3, for: 1).jobs.count == 3)
    try store.returnClaims(ofDead: 1)
    let counts = try store.perform { _, context in try Set(context.fetch(PoolJob.fetchRequest()).map(\.hostDeaths)) }
    #expect(counts == (deaths == 1 ? [2] : [1]))
  }

  /// A person has written numbers that no pool writes.
  @Test(arguments: JobStoreKind.allCases, ["hostDeaths", "attempt", "crashes"])
  func aNumberOutOfRangeStopsNoClaims(kind: JobStoreKind, attribute: String) throws {
    for number in [70_000, Int64.max] {
      let store = try TemporaryJobStore(kind)
      try store.insert(jobs: 3)
      let first = try #require(store.claim(1, for: 1).jobs.first?.key)
      try store.perform { store, context in _ = try store.releaseClaims(of: 1, in: context) }
      try store.overwrite(attribute, with: number, of: [first])
      // Claims with a limit and without one.
      var limited = ClaimRules()
      limited.limit = 10
      for rules in [ClaimRules(), limited] {
        #expect(try store.claim(10, for: 2, rules: rules).jobs.count == 3, "\(number)")
        let released = try store.perform { store, context in try store.releaseClaims(of: 2, in: context) }
        #expect(released == 3, "\(number)")
      }
      // Its pool dies, and its job is dead after a few crashes.
      for member in [3, 4, 5] as [Int64] {
        let keys = try store.claim(3, for: member).jobs.map(\.key)
        #expect(keys.contains(first) || member > 3, "\(number)")
        try store.returnClaims(ofDead: member)
      }
      try store.perform { store, context in
        let job = try #require(try store.jobs(keys: [first], in: context).first)
        let failure = AttemptFailure(attempt: 1, date: Date(), type: "host", message: "died")
        if job.state == .available { try job.markCrashed(failure, policy: RetryPolicy()) }
        try context.save()
        #expect(job.state == .dead || attribute == "attempt", "\(number)")
        #expect(job.crashes >= 1, "\(number)")
      }
    }
  }

  /// Each saw the store without pauses.
  @Test(arguments: JobStoreKind.allCases) func twoPausesAtTheSameTimeBothHold(kind: JobStoreKind) throws {
    let one = try TemporaryJobStore(kind)
    let two = try one.openedAgain()
    var (mails, imports) = (JobPauses(), JobPauses())
    mails.queues = ["mail"]
    imports.kinds = ["import"]
    try one.perform { store, context in
      _ = try store.changePauses(from: JobPauses(), to: mails, in: context)
    }
    let now = try two.perform { store, context in
      try store.changePauses(from: JobPauses(), to: imports, in: context)
    }
    #expect(now.queues == ["mail"] && now.kinds == ["import"])
  }
}
