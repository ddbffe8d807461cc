/// Counts what happens, and tells how often it did in the last minutes. Memory and time do not grow with the counts.
struct RateMeter {
  /// Seconds of one bucket, and how many there are: a quarter of an hour.
  static let bucket = 5.0
  static let buckets = 180

  private var counts = [Int](repeating: 0, count: buckets)
  /// The number of the bucket that is being filled.
  private var current: Int
  private let startedAt: Double

  init(now: Double) {
    startedAt = now
    current = Int(now / Self.bucket)
  }

  mutating func add(_ count: Int, now: Double) {
    advance(to: now)
    counts[current % Self.buckets] += count
  }

  /// Events per second in the last `minutes`, or since the start if that is less long ago.
  mutating func perSecond(minutes: Int, now: Double) -> Double {
    advance(to: now)
    let bucketCount = min(Self.buckets, Int(Double(minutes) * 60 / Self.bucket))
    let sum = (0..<bucketCount).reduce(0) { $0 + counts[(current - $1 + Self.buckets) % Self.buckets] }
    // The bucket that is being filled is not full yet.
    let window = Double(bucketCount - 1) * Self.bucket + (now - Double(current) * Self.bucket)
    return Double(sum) / max(1, min(window, now - startedAt))
  }

  private mutating func advance(to now: Double) {
    let number = Int(now / Self.bucket)
    guard number > current else { return }
    for passed in 1...min(number - current, Self.buckets) { counts[(current + passed) % Self.buckets] = 0 }
    current = number
  }
}
