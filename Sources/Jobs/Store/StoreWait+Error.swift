import CoreData
import Foundation
import WorkerProtocol

extension StoreWait {
  /// Why a store cannot be read or written for now, though nothing is wrong with what was asked of it. Nil for all
  /// other errors: those of a job, conflicts, and mistakes in statements.
  ///
  /// A worker that gets such an error keeps its job and tries again, and tells the pool why; an attempt is not used up
  /// by a lock or a full disk.
  ///
  /// ```text
  /// SQLite     5 BUSY, 6 LOCKED, 15 PROTOCOL                         locked
  ///            13 FULL                                               full
  ///            3, 7, 8, 10, 11, 14, 26                               failing
  /// server     40001, 40P01, 55P03                                   locked
  ///            53100                                                 full
  ///            no code, 08…, 28…, 53…, 57…, 25006, 3D000, 55000      failing
  /// ```
  ///
  /// Source of the codes: https://www.sqlite.org/rescode.html
  package init?(_ error: any Error) {
    let error = error as NSError
    if let state = Self.serverState(error) {
      guard let reason = Self.serverReason(state) else { return nil }
      self = reason
      return
    }
    guard let code = error.userInfo[NSSQLiteErrorDomain] as? NSNumber else { return nil }
    switch code.intValue & 0xff {
    // BUSY, LOCKED and PROTOCOL.
    case 5, 6, 15: self = .locked
    // FULL.
    case 13: self = .full
    // PERM, NOMEM, READONLY, IOERR, CORRUPT, CANTOPEN and NOTADB.
    case 3, 7, 8, 10, 11, 14, 26: self = .failing
    default: return nil
    }
  }

  /// The code of a server's error: empty when the connection was lost, or none could be opened. Nil for other errors:
  /// only the server's store has this key.
  package static func serverState(_ error: any Error) -> String? {
    let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
    return cause?.userInfo["SQLSTATE"] as? String
  }

  /// What keeps a server from reading or writing for now: a lost connection, a restart, a deadlock, a full disk.
  ///
  /// Source of the codes: https://www.postgresql.org/docs/15/errcodes-appendix.html
  private static func serverReason(_ state: String) -> StoreWait? {
    switch state {
    case "40001", "40P01", "55P03": .locked
    case "53100": .full
    // 25006: the server is a standby for now. 55000: the database takes no connections for now. Class 28 and 3D000 are
    // a password that was changed, or a database that is being moved, if the server has let this user in before.
    case "", "25006", "3D000", "55000": .failing
    default: ["08", "28", "53", "57"].contains(state.prefix(2)) ? .failing : nil
    }
  }
}
