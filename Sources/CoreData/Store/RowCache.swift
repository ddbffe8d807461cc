/// The rows that a store has read or written lately, shared by all contexts of its coordinator.
///
/// Bounded: two generations, of which the older is dropped when the newer is full. Rows are good only while no other
/// connection has written, which `validate` finds out.
///
/// `@unchecked Sendable`: `state` is used under `lock`; the snapshots in it are shared and never written.
final class RowCache: @unchecked Sendable {
  private struct State {
    var young = ObjectTable<Snapshot>()
    var old = ObjectTable<Snapshot>()
    /// Changes whenever a row may have changed: what was read before may not be put in after.
    var epoch = 0
    var foreignVersion: Int64?

    /// The younger generation becomes the older one, which is dropped.
    mutating func rotate() {
      swap(&young, &old)
      young.removeAll()
    }
  }

  private var state = State()
  private let lock = NSLock()
  private let generationSize: Int

  init(generationSize: Int = 65_536) { self.generationSize = generationSize }

  var epoch: Int { lock.withLock { state.epoch } }

  func find(_ key: Int64, _ table: Int32) -> Snapshot? {
    lock.withLock {
      if let found = state.young.find(key, table) { return found }
      guard let found = state.old.find(key, table) else { return nil }
      insert(found, key, table)
      return found
    }
  }

  /// Adds rows that a statement read which began at the epoch; none if rows have changed since.
  func add(_ rows: [(key: Int64, table: Int32, snapshot: Snapshot)], since epoch: Int) {
    lock.withLock {
      guard state.epoch == epoch else { return }
      for row in rows { insert(row.snapshot, row.key, row.table) }
    }
  }

  /// Takes over what a transaction of this coordinator has committed.
  func commit(
    saved: [(key: Int64, table: Int32, snapshot: Snapshot)], removed: [(key: Int64, table: Int32)]
  ) {
    lock.withLock {
      state.epoch += 1
      for row in removed {
        state.young.remove(row.key, row.table)
        state.old.remove(row.key, row.table)
      }
      for row in saved { insert(row.snapshot, row.key, row.table) }
    }
  }

  /// Forgets a row that another process is known to have written.
  func forget(_ id: NSManagedObjectID, unless isLocal: Bool) {
    guard !isLocal else { return }
    lock.withLock {
      state.epoch += 1
      state.young.remove(id.key, id.home.table)
      state.old.remove(id.key, id.home.table)
    }
  }

  /// Forgets everything if another connection may have written since the last call, or since the store was opened.
  func validate(_ foreignVersion: Int64) {
    lock.withLock {
      if state.foreignVersion != foreignVersion { clear() }
      state.foreignVersion = foreignVersion
    }
  }

  func removeAll() { lock.withLock { clear() } }

  private func clear() {
    state.young.removeAll()
    state.old.removeAll()
    state.epoch += 1
  }

  private func insert(_ snapshot: Snapshot, _ key: Int64, _ table: Int32) {
    if state.young.count >= generationSize {
      state.rotate()
    }
    state.young.set(snapshot, key, table)
  }
}
