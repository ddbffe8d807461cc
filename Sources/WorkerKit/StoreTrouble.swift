import CoreDataPostgreSQL
import Foundation
import Jobs
import WorkerProtocol

/// A store that cannot be read or written for now, though nothing is wrong with what was to be saved.
struct StoreTrouble: Error, CustomStringConvertible {
  let reason: StoreWait
  let description: String

  /// Nil for all other errors: those of the job, conflicts, and mistakes in statements.
  ///
  /// Source of the codes: https://www.sqlite.org/rescode.html
  init?(_ error: any Error) {
    if let trouble = error as? StoreTrouble {
      (reason, description) = (trouble.reason, trouble.description)
      return
    }
    if let reason = Self.serverTrouble(error as NSError) {
      self.reason = reason
      description = FailureText.text(error)
      return
    }
    guard let code = (error as NSError).userInfo[NSSQLiteErrorDomain] as? NSNumber else { return nil }
    switch code.intValue & 0xff {
    // BUSY, LOCKED and PROTOCOL.
    case 5, 6, 15: reason = .locked
    // FULL.
    case 13: reason = .full
    // PERM, NOMEM, READONLY, IOERR, CORRUPT, CANTOPEN and NOTADB.
    case 3, 7, 8, 10, 11, 14, 26: reason = .failing
    default: return nil
    }
    description = FailureText.text(error)
  }

  /// What keeps a server from reading or writing for now: a lost connection, a restart, a deadlock, a full disk.
  ///
  /// Source of the codes: https://www.postgresql.org/docs/15/errcodes-appendix.html
  private static func serverTrouble(_ error: NSError) -> StoreWait? {
    guard let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError, cause.domain == NSPostgreSQLErrorDomain,
      let state = cause.userInfo["SQLSTATE"] as? String
    else { return nil }
    switch state {
    case "40001", "40P01", "55P03": return .locked
    case "53100": return .full
    // Without a code the connection was lost, or none could be opened. 25006: the server is a standby for now. The pool
    // was let in: class 28 and 3D000 are a password that was changed since, or a database that is being moved.
    case "", "25006", "3D000": return .failing
    default: return ["08", "28", "53", "57"].contains(state.prefix(2)) ? .failing : nil
    }
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
