import Jobs

/// What one worker holds, and how much more it takes.
struct WorkerHand: Codable {
  /// The most jobs that a worker may hold: one that asks for all would keep them from the others, and fill the pool's
  /// memory.
  static let mostCredit = 4096
  /// Seconds that a job may run before its worker counts as slow: it gets no further jobs, and gives back those that
  /// another worker could run.
  static let slowAfter = 0.03
  /// Times that a worker may give jobs back unasked, and gets others at once.
  private static let freeRefusals = 2
  /// Seconds that it rests after the next one, and at most. The time doubles until it ends a job.
  private static let firstRest = 0.05
  private static let longestRest = 5.0

  let kinds: Set<String>
  private(set) var credit = 0
  private(set) var held: Set<JobKey> = []
  private(set) var begun: Set<JobKey> = []
  /// How many of its jobs have ended, while the pool writes how.
  private var unsettled = 0
  private(set) var isDraining = false
  /// It holds a suspect, and gets no other job.
  private(set) var isAlone = false
  /// It was asked to give jobs back, and has not answered. Until then it gets no other jobs: those that come back may
  /// be better.
  private(set) var isRecalling = false
  /// How many times it has given jobs back unasked since it last ended one.
  private var refusals = 0
  /// Until when it gets no jobs, since it gives them back.
  private(set) var restsUntil: Double?
  /// When the first of its running jobs must have ended.
  var deadline: Double?
  /// When it began its running jobs.
  private(set) var begunAt: Double?
  /// Since when it holds jobs and runs none; nil while it runs one, or holds none.
  private(set) var hesitatesSince: Double?
  /// It has begun nothing for ``Hands/beginTimeout``, and was told to give its jobs back and to exit.
  private(set) var isGivenUp = false

  init(kinds: Set<String>) { self.kinds = kinds }

  /// How many jobs it holds that it has not begun.
  var notBegun: Int { held.count - begun.count }
  var freeCredit: Int {
    isDraining || isAlone || isRecalling || restsUntil != nil ? 0 : max(0, credit - held.count - unsettled)
  }
  /// Whether an idle worker may get a suspect.
  var mayGetSuspect: Bool { credit > 0 && !isDraining && restsUntil == nil }
  /// It was told to finish, and holds no job any more.
  var isEmptied: Bool { isDraining && held.isEmpty }

  /// Whether its running job takes longer than the jobs of a whole hand should.
  func isSlow(now: Double) -> Bool { begunAt.map { $0 + Self.slowAfter <= now } ?? false }

  // MARK: Jobs come and go

  mutating func take(_ job: JobKey, alone: Bool) {
    held.insert(job)
    if alone { isAlone = true }
  }

  /// It has said what it begins.
  mutating func begin(_ jobs: [JobKey], now: Double) {
    begun.formUnion(jobs)
    if begun.isEmpty { return }
    begunAt = now
    hesitatesSince = nil
  }

  /// - Parameter hasBegun: whether the job has begun.
  mutating func release(_ job: JobKey, hasBegun: Bool, now: Double) {
    held.remove(job)
    begun.remove(job)
    if held.isEmpty { isAlone = false }
    if begun.isEmpty {
      begunAt = nil
    } else if hasBegun {
      // A worker that runs several at a time goes on to the next.
      begunAt = now
    }
  }

  // MARK: How much it takes

  /// Sets its credit. Returns how many jobs it should give back, because its jobs take longer than before: it holds far
  /// more than it can do soon.
  mutating func setCredit(_ wish: Int) -> Int {
    credit = min(wish, Self.mostCredit)
    guard held.count > 2 * credit, !isRecalling, !isDraining else { return 0 }
    return max(0, held.count - max(credit, begun.count))
  }

  mutating func addUnsettled(_ count: Int) { unsettled += count }

  mutating func drain() { isDraining = true }
  mutating func recall() { isRecalling = true }
  mutating func endRecall() { isRecalling = false }

  /// It has ended jobs.
  mutating func noteWork() { refusals = 0 }

  /// It gives back what it was not asked for. A worker that gives back all that it gets would get the same jobs again
  /// at once, thousands of times in a second.
  mutating func noteRefusal(now: Double) {
    refusals += 1
    let excess = refusals - Self.freeRefusals
    guard excess > 0 else { return }
    restsUntil = now + min(Self.longestRest, Self.firstRest * Double(1 << min(excess - 1, 20)))
  }

  mutating func endRest() { restsUntil = nil }

  // MARK: Hesitation

  /// Notes since when it holds jobs and runs none. Returns whether that begins now.
  mutating func watchBeginning(now: Double) -> Bool {
    if notBegun == 0 || !begun.isEmpty {
      hesitatesSince = nil
      return false
    }
    if hesitatesSince != nil { return false }
    hesitatesSince = now
    return true
  }

  /// Counts its hesitation from another time, if it hesitates.
  mutating func setHesitation(since time: Double) { if hesitatesSince != nil { hesitatesSince = time } }

  /// It has not begun anything for too long.
  mutating func giveUp() { isGivenUp = true }
}
