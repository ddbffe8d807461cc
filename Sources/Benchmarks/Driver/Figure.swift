import Foundation

/// The content of one row of the table: the same work on both sides, in several rounds.
struct Figure: Codable, Sendable {
  enum Unit: String, Codable, Sendable {
    case seconds
    case nanoseconds
    /// Pieces of work per second: more is better.
    case rate
    case mebibytes
    case number
  }

  let name: String
  let unit: Unit
  /// One value for each round.
  var ours: [Double]
  /// The same for the other side, round by round; empty without another side.
  var plain: [Double] = []
  /// The name of the other side.
  var comparedWith = "plain C"
  /// The resources used in each round; empty if only the values are known.
  var oursUse: [Use] = []
  var plainUse: [Use] = []
  /// The number of rows, objects or jobs of each round.
  var rows: Int?

  /// The time of each round divided by that of the other side.
  var ratios: [Double] {
    zip(ours, plain).map { ours, plain in unit == .rate ? plain / ours : ours / plain }
  }

  /// The ratio of cycles in each round; the ratio of processor time if the machine counts no cycles. ``Thresholds``
  /// limit it.
  ///
  /// The kernel tells user time from its own by samples, so a round that is shorter than the time between two samples
  /// may seem to take none. Such rounds are left out; if there are no others, these are the ratios of time.
  var processorRatios: [Double] {
    let measured: [Double] = zip(oursUse, plainUse).compactMap { ours, plain in
      if let cycles = ours.cycles, let others = plain.cycles, others > 0 { return Double(cycles) / Double(others) }
      guard ours.processorSeconds > 0, plain.processorSeconds > 0 else { return nil }
      return ours.processorSeconds / plain.processorSeconds
    }
    return measured.isEmpty && !oursUse.isEmpty ? ratios : measured
  }

  /// The allocations per row on both sides.
  var allocationsPerRow: (ours: Double, plain: Double)? {
    guard let rows, rows > 0 else { return nil }
    let ours = oursUse.compactMap(\.allocations).map { Double($0) }
    let plain = plainUse.compactMap(\.allocations).map { Double($0) }
    guard !ours.isEmpty, !plain.isEmpty else { return nil }
    return (ours.median / Double(rows), plain.median / Double(rows))
  }
}

extension Figure {
  /// A figure of one value, without another side.
  init(_ name: String, _ unit: Unit, _ value: Double) {
    self.init(name: name, unit: unit, ours: [value])
  }
}

/// The median of several values, and the range of their middle half.
struct Spread: Equatable, Sendable {
  let median: Double
  let lower: Double
  let upper: Double

  /// Nil without values.
  init?(_ values: [Double]) {
    guard !values.isEmpty else { return nil }
    (median, lower, upper) = (values.median, values.percentile(0.25), values.percentile(0.75))
  }

  /// Whether the middle halves do not overlap.
  func isApart(from other: Spread) -> Bool { lower > other.upper || upper < other.lower }
}

/// Runs both sides in turn, so that a noisy neighbour disturbs both alike. The side that goes first changes with each
/// round.
///
/// - Parameter rows: the number of rows that each side works on.
func compare(
  _ name: String, _ options: Options, rows: Int? = nil, ours: () throws -> Use, plain: () throws -> Use
) throws -> Figure {
  try withoutActuallyEscaping(plain) { plain in
    try compare(
      name, options, rows: rows, ours: ours, sides: [Side(suffix: "", comparedWith: "plain C", run: plain)])[0]
  }
}

/// What ours is compared with.
struct Side {
  /// What the figure's name ends with.
  let suffix: String
  let comparedWith: String
  let run: () throws -> Use
}

/// Runs ours and all other sides in turn: a figure for each of them, with the same values of ours.
func compare(
  _ name: String, _ options: Options, rows: Int? = nil, ours: () throws -> Use, sides: [Side]
) throws -> [Figure] {
  var oursUse: [Use] = []
  var others: [[Use]] = sides.map { _ in [] }
  for round in 0..<options.rounds {
    if round.isMultiple(of: 2) { oursUse.append(try ours()) }
    for (index, side) in sides.enumerated() { others[index].append(try side.run()) }
    if !round.isMultiple(of: 2) { oursUse.append(try ours()) }
  }
  return zip(sides, others).map { side, uses in
    Figure(
      name: name + side.suffix, unit: .seconds, ours: oursUse.map(\.seconds), plain: uses.map(\.seconds),
      comparedWith: side.comparedWith, oursUse: oursUse, plainUse: uses, rows: rows ?? options.rows)
  }
}

extension Array where Element == Double {
  var median: Double { percentile(0.5) }

  /// The value below which the given part of the others lies; between two values the nearer one. NaN without values.
  func percentile(_ part: Double) -> Double {
    guard !isEmpty else { return .nan }
    return sorted()[Int((Double(count - 1) * part).rounded())]
  }
}
