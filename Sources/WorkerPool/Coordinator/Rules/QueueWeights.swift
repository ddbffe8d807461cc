/// Shares picks among queues by their weights.
///
/// A queue with a weight has a lane of its own; all others share a lane of weight 1. In a lane the best job is next.
/// Among lanes with jobs the picks are spread in proportion to the weights (smooth weighted round robin, as nginx
/// balances load). Without weights there is one lane, and priority alone decides.
struct QueueWeights: Equatable, Sendable {
  private let weights: [String: Int]
  /// The queues that have a weight.
  let queues: [String]
  /// All lanes.
  let lanes: [String]
  private var credit: [String: Int] = [:]

  /// The lane of queues without a weight: no queue has an empty name.
  static let unweighted = ""

  init(_ weights: [String: Int] = [:]) {
    self.weights = weights
    queues = weights.keys.sorted()
    lanes = [Self.unweighted] + queues
  }

  func lane(of queue: String) -> String { weights.isEmpty || weights[queue] == nil ? Self.unweighted : queue }

  var isEmpty: Bool { weights.isEmpty }

  /// The part of the picks that the lane of a queue has while every lane has jobs, as `3 of 10`; nil without weights.
  func share(of queue: String) -> String? {
    isEmpty ? nil : "\(weights[queue] ?? 1) of \(weights.values.reduce(1, +))"
  }

  /// Picks one of the lanes that have jobs.
  mutating func pick(among lanes: Set<String>) -> String? {
    guard lanes.count > 1 else { return lanes.first }
    var total = 0
    var best: (lane: String, credit: Int)?
    for lane in lanes.sorted() {
      let weight = weights[lane] ?? 1
      total += weight
      let sum = credit[lane, default: 0] + weight
      credit[lane] = sum
      if best.map({ sum > $0.credit }) ?? true { best = (lane, sum) }
    }
    if let best { credit[best.lane, default: 0] -= total }
    return best?.lane
  }

  /// Takes back a pick whose job was not begun: its lane is not charged for it.
  ///
  /// - Parameter lanes: those that the lane was picked among.
  mutating func takeBack(_ lane: String, among lanes: Set<String>) {
    guard lanes.count > 1, lanes.contains(lane) else { return }
    for other in lanes {
      let weight = weights[other] ?? 1
      credit[other, default: 0] -= weight
      credit[lane, default: 0] += weight
    }
  }
}
