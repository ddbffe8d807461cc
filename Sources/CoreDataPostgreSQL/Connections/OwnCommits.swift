internal import Synchronization

/// Tells whether anybody else has written to the database, by the server's snapshots.
///
/// A snapshot names the transactions that were running when it was taken. Two snapshots tell which transactions have
/// finished between them. If another program began one of these, it may have written rows, so the cached rows
/// are dropped. Transactions in other databases of the server count too: then rows are dropped without need, but
/// outdated rows are never kept.
///
/// Source: https://www.postgresql.org/docs/15/functions-info.html, `pg_current_snapshot`.
final class OwnCommits: Sendable {
  private struct State {
    var transactions: Set<UInt64> = []
    var last: Snapshot?
    /// Changes with every foreign transaction.
    var foreignVersion: Int64 = 0
  }

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
  /// More new transactions than this are not looked at one by one.
  private static let mostCompared: UInt64 = 10_000

  /// Notes a transaction of this coordinator, before it commits.
  func add(_ number: String) {
    guard let number = UInt64(number) else { return }
    state.withLock { _ = $0.transactions.insert(number) }
  }

  /// A number that is the same as long as nobody else has written.
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

  /// Forgets all transactions: a standby that has taken the server's place may use their numbers again.
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
