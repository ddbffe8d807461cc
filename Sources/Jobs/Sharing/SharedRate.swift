import WorkerProtocol

/// When jobs of a kind with a rate began, over all pools, and how many each pool has claimed that have not begun. What
/// is claimed may begin at any time, so it holds its place until then.
///
/// The times are those of the server's clock. A period is divided into steps; beginnings within one step count as of
/// the last of them, so that the rate is kept.
struct SharedRate {
  private var begun: [(time: Double, count: Int)] = []
  /// Places of jobs that have not begun, by the identities of the pools.
  private(set) var held: [Int64: Int] = [:]
  private let rate: JobRate
  private static let resolution = 200.0
  private static let heldMark = "held"

  /// - Parameter text: what ``text`` was after the last turn; empty before the first.
  init(_ rate: JobRate, _ text: String, now: Double) {
    self.rate = rate
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ")
      if parts.count == 3, parts[0] == Self.heldMark, let pool = Int64(parts[1]), let count = Int(parts[2]) {
        held[pool] = count
      } else if parts.count == 2, let time = Double(parts[0]), let count = Int(parts[1]) {
        // A time far ahead is that of a server whose clock was wrong.
        if time + rate.period > now, time <= now + rate.period { begun.append((min(time, now), count)) }
      }
    }
  }

  /// How many jobs may be claimed now.
  var room: Int { max(0, rate.jobs - begun.reduce(0) { $0 + $1.count } - heldCount) }

  private var heldCount: Int { held.values.reduce(0, +) }

  /// Seconds until one more may be claimed; nil if jobs that have not begun have all places.
  func wait(now: Double) -> Double? {
    if room > 0 { return 0 }
    return heldCount < rate.jobs ? begun.first.map { $0.time + rate.period - now } : nil
  }

  /// Counts jobs that began at that time, or with the last ones before it was known.
  mutating func begin(_ count: Int, at time: Double) {
    let time = max(time, begun.last?.time ?? time)
    if let last = begun.last, time - last.time < rate.period / Self.resolution {
      begun[begun.count - 1] = (time, last.count + count)
    } else {
      begun.append((time, count))
    }
  }

  /// Sets how many jobs of a pool have claimed a place and not begun.
  mutating func hold(_ count: Int, for pool: Int64) { held[pool] = count > 0 ? count : nil }

  /// A pool is gone that nobody can ask which of its jobs have begun: all of them count as begun now.
  mutating func beginAll(of pool: Int64, now: Double) {
    if let count = held.removeValue(forKey: pool) { begin(count, at: now) }
  }

  var text: String {
    let places = held.sorted { $0.key < $1.key }.map { "\(Self.heldMark) \($0.key) \($0.value)" }
    return (begun.map { "\($0.time) \($0.count)" } + places).joined(separator: "\n")
  }
}
