import Foundation
import Jobs
import WorkerProtocol

/// A store that cannot be read or written for now, though nothing is wrong with what was to be saved.
struct StoreTrouble: Error, CustomStringConvertible {
  let reason: StoreWait
  let description: String

  /// Nil for all other errors: those of the job, conflicts, and mistakes in statements.
  init?(_ error: any Error) {
    if let trouble = error as? StoreTrouble {
      (reason, description) = (trouble.reason, trouble.description)
      return
    }
    guard let reason = StoreWait(error) else { return nil }
    self.reason = reason
    description = FailureText.text(error)
  }

  private init(_ reason: StoreWait, _ description: String) {
    self.reason = reason
    self.description = description
  }

  /// Bytes that must be free on the store's disk before a job begins that may have effects elsewhere.
  static let leastRoom: UInt64 = 1 << 20

  /// Throws when the store's disk is nearly full.
  ///
  /// Source: statvfs(3).
  static func checkRoom(_ store: JobStore) throws {
    // The server sees to its own disk.
    guard store.url.isFileURL else { return }
    let directory = store.url.deletingLastPathComponent().path
    var status = statvfs()
    guard statvfs(directory, &status) == 0 else { return }
    // Some blocks are kept for the superuser.
    let blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail
    guard UInt64(blocks) * UInt64(status.f_frsize) < leastRoom else { return }
    throw StoreTrouble(.full, "less than \(leastRoom >> 20) MiB is free on the disk of \(directory)")
  }
}

/// The work of a job is done but could not be committed: its effects outside the store exist, its rows do not.
struct CommitFailure: Error, CustomStringConvertible {
  /// The type under which the attempt's error is kept with the job.
  static let type = "commit"
  let trouble: StoreTrouble
  let seconds: Double

  var description: String {
    "the work was done, but could not be saved for \(Int(seconds)) s, and is done again with the next attempt: "
      + "\(trouble)"
  }
}

/// The pauses between tries: they double from a tenth of a second to five seconds.
struct GrowingPause {
  private var next = 0.1
  private static let longest = 5.0

  mutating func take() -> Double {
    defer { next = min(Self.longest, next * 2) }
    return next
  }
}
