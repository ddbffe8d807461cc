/// Measures how long jobs take, and derives how many to hold and how many to save together.
struct JobPace {
  /// Seconds for which the jobs in hand should keep the worker busy while it waits for more.
  static let horizon = 0.02
  static let mostCredit = 256
  /// A transaction of several jobs should take no longer than this, in seconds; jobs that take longer are alone.
  static let transaction = 0.005
  static let mostGrouped = 64

  /// Whether other processes cannot write while a group is saved. Then what its jobs save counts, too. At a server
  /// no writer waits for a save, and its round trips take as long for one job as for many: there only what the jobs do
  /// themselves tells how many to save together.
  private let savesExclusively: Bool
  /// Seconds for one job, the recent ones counting more.
  private(set) var average: Double?
  /// The same without reading and saving.
  private var work: Double?
  private(set) var credit = 2
  private var singlesToCome = 0

  init(savesExclusively: Bool = true) { self.savesExclusively = savesExclusively }

  /// How many jobs to begin together.
  var groupSize: Int {
    guard singlesToCome == 0, let average = savesExclusively ? average : work, average < Self.transaction / 4 else {
      return 1
    }
    return average > 0 ? min(Self.mostGrouped, Int(min(Self.transaction / average, 1e6))) : Self.mostGrouped
  }

  /// - Parameter work: the part of the seconds in which the jobs themselves ran.
  mutating func note(_ count: Int, seconds: Double, work: Double) {
    func mean(_ before: Double?, _ seconds: Double) -> Double {
      before.map { $0 * 0.7 + seconds / Double(count) * 0.3 } ?? seconds / Double(count)
    }
    average = mean(average, seconds)
    self.work = mean(self.work, work)
    singlesToCome = max(0, singlesToCome - count)
    // A hand holds a whole group, even if a group takes long because the server is far away.
    let newCredit = max(1, min(Self.mostCredit, Int(Self.horizon / (average ?? 1))), savesExclusively ? 1 : groupSize)
    // Small changes are not worth a message.
    if newCredit >= 2 * credit || newCredit * 2 <= credit || (newCredit == 1) != (credit == 1) { credit = newCredit }
  }

  /// Whether a job of a group took too long for a group, so that the jobs after it go back.
  static func isLong(_ seconds: Double) -> Bool { seconds > transaction }

  /// A group was cut short: its jobs took so much longer than earlier ones that the earlier average means nothing.
  mutating func noteLongGroup(of count: Int, seconds: Double, work: Double) {
    average = seconds / Double(max(1, count))
    self.work = work / Double(max(1, count))
  }

  /// The jobs of a group have to be run one by one.
  mutating func groupFailed() { singlesToCome = Self.mostGrouped }
}
