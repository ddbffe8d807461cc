import LinuxSystem

/// A job whose processor time is limited.
struct LimitedJob: Equatable, Sendable {
  let worker: WorkerID
  let pid: Int32
  /// Seconds that it may use.
  let limit: Double
  /// When the job began, and what its worker's process had used then.
  let begin: ProcessMoment
  /// What its worker and the programs that this one has started had used before the job; nil until they were looked at
  /// since.
  var base: Double?

  init(worker: WorkerID, pid: Int32, limit: Double, begin: ProcessMoment) {
    self.worker = worker
    self.pid = pid
    self.limit = limit
    self.begin = begin
  }

  /// Seconds that the job has used; nil if the worker was looked at before the job began.
  ///
  /// What the worker's process itself had used is known of the moment in which the job began. A program that has
  /// started since counts whole. What one that is older had used, and those that have ended, is known from the first
  /// look on: no job pays for a program of another one.
  mutating func used(_ tree: ProcessTree) -> Double? {
    guard tree.date >= begin.date else { return nil }
    if let base { return tree.seconds - base }
    // The times at which programs start are rounded down.
    let older = tree.descendants.filter { $0.startedAt < begin.date - Self.startResolution }
    let base = begin.seconds + tree.waitedFor + older.reduce(0) { $0 + $1.seconds }
    self.base = base
    return tree.seconds - base
  }

  /// Seconds. Source: `USER_HZ`, 100 everywhere that this runs.
  private static let startResolution = 0.01
}
