internal import Synchronization

/// The recently read or written rows of a store, shared by all contexts of its coordinator.
///
/// It is bounded: when the younger of two generations is full, the older one is dropped. Rows are valid only while no
/// other connection writes, which `validate` finds out.
///
/// `@unchecked Sendable`: `state` is used under `lock`; the snapshots in it are shared and never written.
///
/// ```text
/// young   up to 65,536 rows        a row that is read or found goes here
/// old     the young of before      dropped when the young one is full again
///
/// find: in the young one; else in the old one, and then it moves to the young one
/// ```
///
/// So a row survives as long as it is asked for once in each 65,536 other rows. That is close to keeping the least
/// recently used ones, without a list to maintain for each hit.
///
/// Three things make rows wrong, and each has its answer:
///
/// ```text
/// a save of this coordinator      commit: the new rows take the old ones' place
/// a fetch that began before it    add(since: epoch): the epoch has changed, nothing is added
/// a commit of another process     validate: the store's version differs, all rows go
/// a batch request                 supersede: all rows go, the old ones are kept for conflicts
/// ```
package final class RowCache: @unchecked Sendable {
  /// All of it is small values and two tables; it is changed in place under the lock, never copied.
  private struct State {
    /// The rows' slabs, with their places in them.
    var young = ObjectIndex<RowSlab>()
    var old = ObjectIndex<RowSlab>()
    /// The rows as they were before the last batch request, which contexts may still use.
    var superseded: [ObjectIndex<RowSlab>] = []
    var foreignVersion: Int64?
    /// The times at which rows were added, from the first question for ages on.
    var youngAges: [Row: TimeInterval]?
    var oldAges: [Row: TimeInterval] = [:]

    /// Makes the younger generation the older one, which is dropped.
    mutating func rotate() {
      swap(&young, &old)
      young.removeAll()
      guard let ages = youngAges else { return }
      oldAges = ages
      youngAges = [:]
    }
  }

  private struct Row: Hashable {
    let key: Int64
    let table: Int32
  }

  /// No access overlaps another one: each holds the lock, and calls nothing that comes back here.
  @exclusivity(unchecked) private var state = State()
  private let lock = Mutex(())
  /// Changes, under the lock, whenever a row may have changed: rows read before must not be added after.
  private let changes = Atomic(0)
  private let generationSize: Int

  private let now: @Sendable () -> TimeInterval

  /// - Parameters:
  ///   - generationSize: the number of rows of the younger generation; 0 keeps no rows.
  ///   - now: seconds from any origin, which never decrease.
  package init(generationSize: Int = 65_536, now: @escaping @Sendable () -> TimeInterval = RowCache.uptime) {
    self.generationSize = generationSize
    self.now = now
  }

  /// - Parameter options: those with which the store is opened.
  package convenience init(_ options: [AnyHashable: Any]?) {
    let rows = (options?[NSPersistentStoreRowCacheOption] as? NSNumber)?.intValue ?? 131_072
    // Two generations.
    self.init(generationSize: max(1, rows / 2))
  }

  static func uptime() -> TimeInterval { ProcessInfo.processInfo.systemUptime }

  /// Read without the lock before a statement begins; compared under the lock when its rows are added.
  package var epoch: Int { changes.load(ordering: .acquiring) }

  package func find(_ key: Int64, _ table: Int32) -> Snapshot? {
    lock.withLock { _ in
      if let snapshot = state.young.row(key, table) { return snapshot }
      guard let snapshot = state.old.row(key, table) else { return nil }
      let age = state.youngAges == nil ? nil : state.oldAges[Row(key: key, table: table)]
      insert(snapshot, key, table)
      if state.youngAges != nil { state.youngAges?[Row(key: key, table: table)] = age }
      return snapshot
    }
  }

  /// The row, if it was added at most `maximumAge` seconds ago; a negative age means any time.
  ///
  /// For `stalenessInterval`. Ages cost a dictionary entry for each row, so they are noted only once a context has
  /// asked for them; the first question finds no row young enough, since its age is not known.
  func find(_ id: NSManagedObjectID, maximumAge: TimeInterval) -> Snapshot? {
    if maximumAge < 0 { return find(id.key, id.storedEntity.table) }
    let row = Row(key: id.key, table: id.storedEntity.table)
    return lock.withLock { _ in
      // The age of earlier rows is unknown.
      guard maximumAge > 0, let ages = state.youngAges else {
        if maximumAge > 0 { state.youngAges = [:] }
        return nil
      }
      guard let time = ages[row] ?? state.oldAges[row], now() - time <= maximumAge else { return nil }
      return state.young.row(row.key, row.table) ?? state.old.row(row.key, row.table)
    }
  }

  /// Adds rows of a statement that began at the epoch; none if rows have changed since.
  package func add(_ rows: [(key: Int64, table: Int32, snapshot: Snapshot)], since epoch: Int) {
    lock.withLock { _ in
      if self.epoch == epoch { insert(rows) }
    }
  }

  /// Adds a row of a statement that began at the epoch, unless rows have changed since.
  package func add(_ snapshot: Snapshot, _ key: Int64, _ table: Int32, since epoch: Int) {
    lock.withLock { _ in if self.epoch == epoch { insert(snapshot, key, table) } }
  }

  /// Adds the rows that a transaction of this coordinator committed.
  ///
  /// - Parameters:
  ///   - removed: rows that may have changed, and whose values are not known.
  ///   - removedTables: tables of which any row may have changed.
  func commit(
    saved: [(key: Int64, table: Int32, snapshot: Snapshot)], removed: [(key: Int64, table: Int32)],
    removedTables: Set<Int32> = []
  ) {
    lock.withLock { _ in
      changes.add(1, ordering: .releasing)
      if !removedTables.isEmpty {
        for rows in [state.young, state.old] + state.superseded { rows.removeAll(of: removedTables) }
      }
      for rows in [state.young, state.old] + state.superseded {
        for row in removed { rows.remove(row.key, row.table) }
      }
      for rows in state.superseded {
        for index in saved.indices { rows.remove(saved[index].key, saved[index].table) }
      }
      insert(saved)
    }
  }

  /// Drops a row that another process wrote.
  ///
  /// For the rows that another process has saved, when a program merges its notice of them into contexts: the rest of
  /// the cache stays.
  func forget(_ id: NSManagedObjectID) {
    lock.withLock { _ in
      changes.add(1, ordering: .releasing)
      for rows in [state.young, state.old] + state.superseded { rows.remove(id.key, id.storedEntity.table) }
    }
  }

  // MARK: Batch requests

  /// Whether a batch request may have replaced rows that contexts use.
  var hasSuperseded: Bool { lock.withLock { _ in !state.superseded.isEmpty } }

  /// Drops everything, since a batch request wrote to the file. Its former rows are left to `superseded`.
  ///
  /// ```text
  /// context A has book 1 with pages 341, unchanged
  /// a batch update sets pages 342
  /// A sets isRead and saves                            base: the row with 341; the store has another version
  /// the conflict needs the row that A had read         superseded(1)
  /// ```
  ///
  /// Up to eight generations are kept, and all go with the next foreign commit.
  func supersede() {
    lock.withLock { _ in
      // The rows before an earlier request are still the ones that a context has read last.
      let before = [state.young, state.old] + state.superseded
      state.young = ObjectIndex()
      state.old = ObjectIndex()
      clear()
      state.superseded = Array(before.filter { $0.count > 0 }.prefix(8))
    }
  }

  /// The row as it was before a batch request, if nothing has read or written it since.
  func superseded(_ key: Int64, _ table: Int32) -> Snapshot? {
    lock.withLock { _ in
      if let current = state.young.row(key, table) ?? state.old.row(key, table) { return current }
      for rows in state.superseded {
        if let snapshot = rows.row(key, table) { return snapshot }
      }
      return nil
    }
  }

  /// Drops everything if another connection may have written since the last call, or since the store was opened.
  package func validate(_ foreignVersion: Int64) {
    lock.withLock { _ in
      if state.foreignVersion != foreignVersion { clear() }
      state.foreignVersion = foreignVersion
    }
  }

  package func removeAll() { lock.withLock { _ in clear() } }

  private func clear() {
    state.young.removeAll()
    state.old.removeAll()
    state.superseded = []
    if state.youngAges != nil { state.youngAges = [:] }
    state.oldAges = [:]
    changes.add(1, ordering: .releasing)
  }

  /// Puts rows into the younger generation.
  @inline(__always)
  private func insert(_ rows: some RandomAccessCollection<(key: Int64, table: Int32, snapshot: Snapshot)>) {
    if generationSize == 0 { return }
    // A variable: reading the property would retain and release the table for each row.
    var young = state.young
    for index in rows.indices {
      if young.count >= generationSize {
        state.rotate()
        young = state.young
      }
      young.set(rows[index].snapshot.slab, rows[index].key, rows[index].table, place: rows[index].snapshot.place)
      if state.youngAges != nil { state.youngAges?[Row(key: rows[index].key, table: rows[index].table)] = now() }
    }
  }

  private func insert(_ snapshot: Snapshot, _ key: Int64, _ table: Int32) {
    insert(CollectionOfOne((key: key, table: table, snapshot: snapshot)))
  }
}

extension ObjectIndex<RowSlab> {
  @inline(__always)
  fileprivate func row(_ key: Int64, _ table: Int32) -> Snapshot? {
    findPlaced(key, table).map { $0.value.snapshot(at: $0.place) }
  }
}
