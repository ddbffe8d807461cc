internal import Synchronization

/// Tells whether another coordinator or program has written to the database, by the server's snapshots.
///
/// The row cache of a store is right as long as only this coordinator writes. A file has a change counter for that
/// question; a server has transaction numbers. A snapshot names the transactions that were running when it was taken.
/// Two snapshots tell which transactions have finished between them. If this coordinator did not begin one of these, it
/// may have written rows, so the cached rows are dropped. Transactions in other databases of the server count too: then
/// rows are dropped without need, but outdated rows are never kept.
///
/// ```text
///                                pg_current_snapshot()    finished since the last one
/// opening                        745:747:745              —
/// we save as 747                 748:748:                 745 and 747; 745 is foreign: drop all rows
/// we save as 748                 749:749:                 748, ours: the cache stays
/// another saves as 749           750:750:                 749, foreign: drop all rows
/// ```
///
/// `745:747:745` reads: all below 745 have finished, none from 747 on has, and 745 is running. So 746 has finished.
///
/// `ServerStore.validateRowCache` asks when a context begins to read, at most once in a block of the context, in one
/// round trip together with the question whether the tables are still those of the opening:
///
/// ```text
/// SELECT pg_current_snapshot()::text, to_regclass('"app"."_store"')::oid::int8
/// ```
///
/// The invariant: a transaction's number is added before COMMIT is sent. Otherwise a snapshot that another thread takes
/// between would show our own commit as a foreign one.
///
/// Numbers are given to transactions that write or lock rows, so readers of other programs do not count.
///
/// Source: https://www.postgresql.org/docs/15/functions-info.html, `pg_current_snapshot`.
final class OwnCommits: Sendable {
  private struct State {
    var transactions: Set<UInt64> = []
    var last: Snapshot?
    /// Changes with every foreign transaction.
    var foreignVersion: Int64 = 0
  }

  /// The text `xmin:xmax:xip_list` of the type `pg_snapshot`.
  private struct Snapshot {
    /// All transactions before it have finished.
    let first: UInt64
    /// None from it on had finished.
    let end: UInt64
    let running: Set<UInt64>

    init?(_ text: String) {
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 3, let first = UInt64(parts[0]), let end = UInt64(parts[1]) else { return nil }
      self.first = first
      self.end = end
      running = Set(parts[2].split(separator: ",").compactMap { UInt64($0) })
    }
  }

  private let state = Mutex(State())
  /// If there are more new transactions than this, they are not compared one by one: another program has probably made
  /// one of so many.
  private static let mostCompared: UInt64 = 10_000

  /// Notes a transaction of this coordinator, before it commits.
  func add(_ number: String) {
    guard let number = UInt64(number) else { return }
    state.withLock { _ = $0.transactions.insert(number) }
  }

  /// A number that is the same as long as only this coordinator has written. `RowCache.validate` compares it
  /// with the last one.
  ///
  /// Own numbers below the new snapshot's first one have been accounted for, and are forgotten: the set holds the
  /// transactions of the last moments only.
  func foreignVersion(at snapshot: String) -> Int64 {
    state.withLock { state in
      guard let new = Snapshot(snapshot) else {
        state.foreignVersion += 1
        return state.foreignVersion
      }
      defer {
        state.last = new
        state.transactions = state.transactions.filter { $0 >= new.first }
      }
      guard let last = state.last, new.end >= last.end, new.end - last.end < Self.mostCompared else {
        state.foreignVersion += 1
        return state.foreignVersion
      }
      func isForeign(_ number: UInt64) -> Bool { !new.running.contains(number) && !state.transactions.contains(number) }
      if last.running.contains(where: isForeign) || (last.end..<new.end).contains(where: isForeign) {
        state.foreignVersion += 1
      }
      return state.foreignVersion
    }
  }

  /// Forgets all transactions: a standby that has taken the server's place may use their numbers again. Called
  /// whenever a connection is found lost.
  func forget() { state.withLock { ($0.transactions, $0.last) = ([], nil) } }

  /// A number that differs from all before, after an error.
  func unknownVersion() -> Int64 {
    state.withLock {
      $0.foreignVersion += 1
      $0.last = nil
      return $0.foreignVersion
    }
  }
}
