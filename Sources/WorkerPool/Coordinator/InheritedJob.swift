import Jobs

/// A job of an earlier pool, and the process that has it, or had it.
struct JobSourceClaim: Equatable, Sendable {
  let job: JobKey
  let pid: Int32
  /// What the job counts against.
  var kind: String?
  var queue: String?
  var limitKey: String?
}
