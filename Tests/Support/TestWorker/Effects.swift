import Foundation
import WorkerKit

/// Adds, and adds a line to the file `lines` of its parameters: what ran twice shows there, whatever became of its
/// save. It waits at the place `stop`, if there is one, after that.
struct Append: TestKind {
  static let kind = "append"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    let lines = open(try job.parameters["lines"]?.stringValue ?? "", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    _ = write(lines, "ran\n", 4)
    close(lines)
    if let stop = try job.parameters["stop"]?.stringValue { Stop.wait(at: stop) }
    try Add().run(job, in: context)
    // More than the log has room for without growing.
    job.output = String(repeating: "x", count: 20_000)
  }
}

/// Like ``Append``, but gives up a commit soon, and waits long before its next attempt.
struct AppendImpatiently: TestKind {
  static let kind = "append-impatiently"
  static let commitTimeout = 0.5
  static let backoff: Double? = 86_400
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws { try Append().run(job, in: context) }
}
