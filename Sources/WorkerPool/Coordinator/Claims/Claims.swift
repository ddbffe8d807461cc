/// A pool's claims in a store that pools share: how many jobs it claims ahead, and what keeps it from claiming more.
struct Claims: Sendable {
  /// Kinds of which a limit or a rate over all pools keeps jobs from being claimed: the end of one may make room.
  private(set) var heldBack: Set<String> = []
  /// Answers to queries of earlier rounds list jobs that were given back since.
  private(set) var round = 0
  private var pace = ClaimPace()

  // MARK: How many

  /// How many claimed jobs should wait here.
  ///
  /// - Parameter slow: worker processes whose running job takes long.
  func size(slow: Int, now: Double) -> Int {
    min(pace.size(slow: slow, now: now), pace.sizeWithHands(slow: slow) ?? .max)
  }

  /// Whether jobs in the workers' hands count against what may be claimed. While all goes well they do not: the hands
  /// are as large as the workers want.
  var countsHands: Bool { pace.sizeWithHands() != nil }

  /// Sets for how many worker processes the pool claims jobs. Returns whether that is a change.
  mutating func setWorkers(_ count: Int) -> Bool {
    defer { pace.workers = count }
    return pace.workers != count
  }

  /// Notes that jobs have ended.
  mutating func noteEnded(_ jobs: Int, now: Double) { pace.note(jobs, now: now) }

  /// Notes that claims are given back.
  mutating func gaveBack() {
    round += 1
    pace.gaveBack()
  }

  // MARK: What other pools hold

  /// A limit or a rate over all pools keeps jobs of the kind from being claimed.
  mutating func holdBack(_ kind: String) { heldBack.insert(kind) }

  /// A job of the kind has ended, which may make room. Returns whether the kind was held back.
  mutating func endHoldBack(_ kind: String) -> Bool { heldBack.remove(kind) != nil }
}
