/// Measures how long jobs take, and derives how many to hold and how many to save together.
struct JobPace {
  /// Seconds for which the jobs in hand should keep the worker busy while it waits for more.
  static let horizon = 0.02
  static let mostCredit = 256
  /// A transaction of several jobs should take no longer than this, in seconds; jobs that take longer are alone.
  static let transaction = 0.005
  static let mostGrouped = 64

  /// Seconds for one job, the recent ones counting more.
  private(set) var average: Double?
  private(set) var credit = 2
  private var singlesToCome = 0

  /// How many jobs to begin together.
  var groupSize: Int {
    guard singlesToCome == 0, let average, average < Self.transaction / 4 else { return 1 }
    return min(Self.mostGrouped, Int(Self.transaction / average))
  }

  mutating func note(_ count: Int, seconds: Double) {
    let each = seconds / Double(count)
    average = average.map { $0 * 0.7 + each * 0.3 } ?? each
    singlesToCome = max(0, singlesToCome - count)
    let wanted = max(1, min(Self.mostCredit, Int(Self.horizon / (average ?? 1))))
    // Small changes are not worth a message.
    if wanted >= 2 * credit || wanted * 2 <= credit || (wanted == 1) != (credit == 1) { credit = wanted }
  }

  /// Whether a group has used up its time, so that its other jobs go back.
  static func isLong(_ seconds: Double) -> Bool { seconds > horizon }

  /// A group was cut short: its jobs took so much longer than earlier ones that the earlier average means nothing.
  mutating func noteLongGroup(of count: Int, seconds: Double) {
    average = seconds / Double(max(1, count))
  }

  /// The jobs of a group have to be run one by one.
  mutating func groupFailed() { singlesToCome = Self.mostGrouped }
}
