import LinuxSystem
import PoolClient

/// The failed jobs of a store in groups, as they were a moment ago: many of them take long to read.
struct CurrentFailures {
  /// An error, too: where reading them takes too long, not each page tries again.
  private var groups = Result<FailureGroups, any Error>.success(FailureGroups())
  private var path: String?
  private var isFreshUntil = 0.0

  /// The groups; read again when ten times as long has passed as reading them took.
  mutating func groups(in jobReader: JobReader) throws -> FailureGroups {
    if path == jobReader.path, Clock.now < isFreshUntil { return try groups.get() }
    let start = Clock.now
    groups = Result { try jobReader.failures() }
    path = jobReader.path
    isFreshUntil = Clock.now + 10 * (Clock.now - start)
    return try groups.get()
  }
}
