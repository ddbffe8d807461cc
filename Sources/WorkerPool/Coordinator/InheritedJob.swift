import Jobs
import LinuxSystem

/// A job that an earlier pool handed out, and the process that holds it, or held it.
struct InheritedJob: Equatable, Sendable {
  let key: JobKey
  let process: ProcessIdentity
  /// The limits that it counts against; nil where its row is gone.
  var kind: String?
  var queue: String?
  var limitKey: String?
}
