/// What a pool knows of its claims in a store that pools share.
struct Claims: Sendable {
  /// How many jobs the pool claims ahead.
  var pace = ClaimPace()
  /// Kinds of which a limit or a rate over all pools keeps jobs from being claimed: the end of one may make room.
  var heldBack: Set<String> = []
  /// Answers to queries of earlier rounds list jobs that were given back since.
  private(set) var round = 0

  /// Notes that claims are given back.
  mutating func gaveBack() {
    round += 1
    pace.gaveBack()
  }
}
