import WorkerProtocol

/// When jobs of a kind with a rate began, over all pools, and how many places each pool holds for jobs that have not
/// begun. Such a job may begin at any time, so it holds its place until then.
///
/// ```text
/// 1795858905.25 4                      four jobs, the last of them at this time
/// 1795858940.0 2
/// held 2972574616412760139 3           this pool has three places
/// ```
///
/// The times are those of the server's clock, or of this machine's. They are divided into steps of a 200th of the
/// period; beginnings within one step count as of the last of them, so that the rate is kept, and the text has 201
/// lines of beginnings at most.
struct SharedRate {
  private var begun: [(time: Double, count: Int)] = []
  /// Whether the text has times that are further ahead than a period: the clock was wrong, and they count as of now.
  private(set) var wasAhead = false
  /// Places of jobs that have not begun, by the identities of the pools.
  private(set) var held: [Int64: Int] = [:]
  private let rate: JobRate
  private static let resolution = 200.0
  private static let heldMark = "held"

  /// Reads the text. Times older than a period count no more, and lines that it does not know are passed over.
  ///
  /// - Parameter text: what ``text`` was after the last turn; empty before the first.
  init(_ rate: JobRate, _ text: String, now: Double) {
    self.rate = rate
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ")
      if parts.count == 3, parts[0] == Self.heldMark, let pool = Int64(parts[1]), let count = Int(parts[2]) {
        held[pool] = count
      } else if parts.count == 2, let time = Double(parts[0]), let count = Int(parts[1]) {
        if time + rate.period > now { begun.append((min(time, now), count)) }
        if time > now + rate.period { wasAhead = true }
      }
    }
  }

  /// How many places may be taken now.
  var room: Int { max(0, rate.jobs - begun.reduce(0) { $0 + $1.count } - heldCount) }

  private var heldCount: Int { held.values.reduce(0, +) }

  /// Seconds until one more may be taken; nil if jobs that have not begun have all places.
  func wait(now: Double) -> Double? {
    if room > 0 { return 0 }
    return heldCount < rate.jobs ? begun.first.map { $0.time + rate.period - now } : nil
  }

  /// Counts jobs that began at that time, or with the last ones before it was known.
  mutating func begin(_ count: Int, at time: Double) {
    let time = max(time, begun.last?.time ?? time)
    if let last = begun.last, step(of: time) == step(of: last.time) {
      begun[begun.count - 1] = (time, last.count + count)
    } else {
      begun.append((time, count))
    }
  }

  /// The number of the step that a time belongs to. Steps lie at fixed times: if each beginning extended the step of
  /// the one before it, a steady flow would be one long step, of which no job's place is free before all are.
  private func step(of time: Double) -> Double { (time / rate.period * Self.resolution).rounded(.down) }

  /// No longer counts a job that began at that time and left no effect. After a period there is nothing to take back.
  mutating func takeBack(from time: Double) {
    // Times are those of the last beginning in their step.
    guard let index = begun.firstIndex(where: { $0.time + rate.period / Self.resolution >= time }) else { return }
    begun[index].count -= 1
    if begun[index].count == 0 { begun.remove(at: index) }
  }

  /// Sets how many places a pool holds for jobs that have not begun.
  mutating func hold(_ count: Int, for pool: Int64) { held[pool] = count > 0 ? count : nil }

  /// A pool is gone, so it is not known which of its jobs have begun: all of them count as begun now.
  mutating func beginAll(of pool: Int64, now: Double) {
    if let count = held.removeValue(forKey: pool) { begin(count, at: now) }
  }

  var text: String {
    let places = held.sorted { $0.key < $1.key }.map { "\(Self.heldMark) \($0.key) \($0.value)" }
    return (begun.map { "\($0.time) \($0.count)" } + places).joined(separator: "\n")
  }
}
