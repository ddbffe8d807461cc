internal import Synchronization

/// The recently read or written rows of a store, shared by all contexts of its coordinator.
///
/// It is bounded: of two generations, the older one is dropped when the younger one is full. Rows are valid only while
/// no other connection writes, which `validate` finds out.
///
/// `@unchecked Sendable`: `state` is used under `lock`; the snapshots in it are shared and never written.
///
/// ```text
/// used      rows that were asked for by key, or saved     2 * 57,344
/// fetched   rows that a fetch brought, and nobody since   2 * 8,192
///
/// young     a row that is added goes here
/// old       the young of before; dropped when the young one is full again
///
/// find: in `used`, young or old; else in `fetched`. The row is in the young of `used` then.
/// ```
///
/// So a row that is used survives as long as it is asked for once in each 57,344 others, however many rows are fetched
/// meanwhile. That is close to keeping the least recently used ones, without a list to maintain for each hit.
///
/// Most fetched rows are never asked for again: their objects have them. A program that reads other rows with each
/// fetch would fill the cache with them, and each fetch would write to new memory: 50 pages for 1,000 rows, and 15 % of
/// the fetch's time. A row is in one of the two parts, never in both.
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
  /// All of it is small values and tables; it is changed in place under the lock, never copied.
  private struct State {
    var used: Generations
    var fetched: Generations
    /// The rows as they were before the last batch request, which contexts may still use.
    var superseded: [ObjectIndex<RowSlab>] = []
    var foreignVersion: Int64?

    /// The row, wherever it is.
    func row(_ key: Int64, _ table: Int32) -> Snapshot? { used.row(key, table) ?? fetched.row(key, table) }
  }

  private struct Row: Hashable {
    let key: Int64
    let table: Int32
  }

  /// A younger and an older table of rows.
  private struct Generations {
    /// The number of rows of the younger one; 0 keeps no rows.
    let size: Int
    /// The rows' slabs, with their places in them.
    private(set) var young = ObjectIndex<RowSlab>()
    private(set) var old = ObjectIndex<RowSlab>()
    /// The times at which rows were added, from the first question for ages on.
    private var youngAges: [Row: TimeInterval]?
    private var oldAges: [Row: TimeInterval] = [:]
    /// A bit for each table of which rows were inserted; tables may share one.
    private var insertedTables: UInt64 = 0

    init(size: Int) { self.size = size }

    /// False if there is no row of the table: rows need not be looked for then.
    func mayHold(_ table: Int32) -> Bool { insertedTables & (1 << UInt64(table & 63)) != 0 }

    var tables: [ObjectIndex<RowSlab>] { [young, old] }
    var isEmpty: Bool { young.count == 0 && old.count == 0 }
    var notesAges: Bool { youngAges != nil }

    func row(_ key: Int64, _ table: Int32) -> Snapshot? { young.row(key, table) ?? old.row(key, table) }

    func remove(_ key: Int64, _ table: Int32) {
      young.remove(key, table)
      old.remove(key, table)
    }

    func age(_ row: Row) -> TimeInterval? { youngAges?[row] ?? oldAges[row] }

    mutating func noteAges() { youngAges = youngAges ?? [:] }

    mutating func setAge(_ row: Row, _ age: TimeInterval?) {
      if youngAges != nil { youngAges?[row] = age }
    }

    /// Makes the younger generation the older one, which is dropped.
    private mutating func rotate() {
      swap(&young, &old)
      young.removeAll()
      guard let ages = youngAges else { return }
      oldAges = ages
      youngAges = [:]
    }

    /// Puts rows into the younger generation.
    ///
    /// - Parameter isElsewhere: whether a row has another place and does not come here.
    @inline(__always)
    mutating func insert(
      _ rows: some RandomAccessCollection<(key: Int64, table: Int32, snapshot: Snapshot)>,
      at now: () -> TimeInterval, unless isElsewhere: (Int64, Int32, Snapshot) -> Bool = { _, _, _ in false }
    ) {
      if size == 0 { return }
      // A variable: reading the property would retain and release the table for each row.
      var young = young
      for index in rows.indices {
        if isElsewhere(rows[index].key, rows[index].table, rows[index].snapshot) { continue }
        if young.count >= size {
          rotate()
          young = self.young
        }
        insertedTables |= 1 << UInt64(rows[index].table & 63)
        young.set(rows[index].snapshot.slab, rows[index].key, rows[index].table, place: rows[index].snapshot.place)
        if youngAges != nil { setAge(Row(key: rows[index].key, table: rows[index].table), now()) }
      }
    }

    mutating func clear() {
      if young.count > 0 { young.removeAll() }
      if old.count > 0 { old.removeAll() }
      forget()
    }

    /// Lets go of the tables, and begins anew with empty ones.
    mutating func release() -> [ObjectIndex<RowSlab>] {
      defer { (young, old) = (ObjectIndex(), ObjectIndex()) }
      forget()
      return tables
    }

    private mutating func forget() {
      insertedTables = 0
      if youngAges != nil { youngAges = [:] }
      oldAges = [:]
    }
  }

  /// No access overlaps another one: each holds the lock, and calls nothing that comes back here.
  @exclusivity(unchecked) private var state: State
  private let lock = Mutex(())
  /// Changes, under the lock, whenever a row may have changed: rows read before must not be added after.
  private let changes = Atomic(0)

  private let now: @Sendable () -> TimeInterval

  /// - Parameters:
  ///   - generationSize: the number of used rows of the younger generation; 0 keeps no rows.
  ///   - fetchedSize: the same of fetched ones; nil for as many, but no more than usual.
  ///   - now: seconds from any origin, which never decrease.
  package init(
    generationSize: Int = RowCache.usualRows / 2 - RowCache.mostFetched, fetchedSize: Int? = nil,
    now: @escaping @Sendable () -> TimeInterval = RowCache.uptime
  ) {
    state = State(
      used: Generations(size: generationSize),
      fetched: Generations(size: fetchedSize ?? min(RowCache.mostFetched, generationSize)))
    self.now = now
  }

  package static let usualRows = 131_072
  /// The most fetched rows of a generation. The last few fetches are there in any case, of which `SQLiteStore.fetch`
  /// keeps at most 4,096 rows each.
  package static let mostFetched = 8_192

  /// - Parameter options: those with which the store is opened.
  package convenience init(_ options: [AnyHashable: Any]?) {
    let rows = (options?[NSPersistentStoreRowCacheOption] as? NSNumber)?.intValue ?? RowCache.usualRows
    // Of a small number of rows a quarter are fetched ones. Both parts have two generations.
    let fetchedSize = min(RowCache.mostFetched, max(1, rows / 8))
    self.init(generationSize: max(1, rows / 2 - fetchedSize), fetchedSize: fetchedSize)
  }

  static func uptime() -> TimeInterval { ProcessInfo.processInfo.systemUptime }

  /// Read without the lock before a statement begins; compared under the lock when its rows are added.
  package var epoch: Int { changes.load(ordering: .acquiring) }

  package func find(_ key: Int64, _ table: Int32) -> Snapshot? {
    lock.withLock { _ in state.used.young.row(key, table) ?? findElsewhere(key, table) }
  }

  /// A row that is not in the younger generation of used ones. It comes there, with the age that it has.
  private func findElsewhere(_ key: Int64, _ table: Int32) -> Snapshot? {
    let row = Row(key: key, table: table)
    let (snapshot, age): (Snapshot, TimeInterval?)
    if let used = state.used.old.row(key, table) {
      (snapshot, age) = (used, state.used.age(row))
    } else if let fetched = state.fetched.row(key, table) {
      (snapshot, age) = (fetched, state.fetched.age(row))
    } else {
      return nil
    }
    insertUsed(CollectionOfOne((key: key, table: table, snapshot: snapshot)))
    state.used.setAge(row, age)
    return snapshot
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
      guard maximumAge > 0, state.used.notesAges else {
        if maximumAge > 0 {
          state.used.noteAges()
          state.fetched.noteAges()
        }
        return nil
      }
      func isYoung(_ time: TimeInterval?) -> Bool { time.map { now() - $0 <= maximumAge } ?? false }
      if let used = state.used.row(row.key, row.table) { return isYoung(state.used.age(row)) ? used : nil }
      return isYoung(state.fetched.age(row)) ? state.fetched.row(row.key, row.table) : nil
    }
  }

  /// Adds the rows of a fetch that began at the epoch; none if rows have changed since.
  package func add(_ rows: [(key: Int64, table: Int32, snapshot: Snapshot)], since epoch: Int) {
    lock.withLock { _ in
      guard self.epoch == epoch else { return }
      if state.used.isEmpty { return state.fetched.insert(rows, at: now) }
      var again: [(key: Int64, table: Int32, snapshot: Snapshot)] = []
      let used = state.used
      state.fetched.insert(rows, at: now) { key, table, snapshot in
        guard used.mayHold(table), used.young.find(key, table) != nil || used.old.find(key, table) != nil else {
          return false
        }
        again.append((key, table, snapshot))
        return true
      }
      state.used.insert(again, at: now)
    }
  }

  /// Adds a row that was asked for by its key, and read by a statement that began at the epoch, unless rows have
  /// changed since.
  package func add(_ snapshot: Snapshot, _ key: Int64, _ table: Int32, since epoch: Int) {
    lock.withLock { _ in
      if self.epoch == epoch { insertUsed(CollectionOfOne((key: key, table: table, snapshot: snapshot))) }
    }
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
      if !removedTables.isEmpty { for rows in allTables { rows.removeAll(of: removedTables) } }
      for rows in allTables {
        for row in removed { rows.remove(row.key, row.table) }
      }
      for rows in state.superseded {
        for index in saved.indices { rows.remove(saved[index].key, saved[index].table) }
      }
      insertUsed(saved)
    }
  }

  /// Drops a row that another process wrote.
  ///
  /// For the rows that another process has saved, when a program merges its notice of them into contexts: the rest of
  /// the cache stays.
  func forget(_ id: NSManagedObjectID) {
    lock.withLock { _ in
      changes.add(1, ordering: .releasing)
      for rows in allTables { rows.remove(id.key, id.storedEntity.table) }
    }
  }

  private var allTables: [ObjectIndex<RowSlab>] { state.used.tables + state.fetched.tables + state.superseded }

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
  /// Up to 16 tables are kept, and all go with the next foreign commit.
  func supersede() {
    lock.withLock { _ in
      // The rows before an earlier request are still the ones that a context has read last.
      let before = state.used.release() + state.fetched.release() + state.superseded
      clear()
      state.superseded = Array(before.filter { $0.count > 0 }.prefix(16))
    }
  }

  /// The row as it was before a batch request, if nothing has read or written it since.
  func superseded(_ key: Int64, _ table: Int32) -> Snapshot? {
    lock.withLock { _ in
      if let current = state.row(key, table) { return current }
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
    state.used.clear()
    state.fetched.clear()
    state.superseded = []
    changes.add(1, ordering: .releasing)
  }

  /// Puts rows into the younger generation of used ones.
  @inline(__always)
  private func insertUsed(_ rows: some RandomAccessCollection<(key: Int64, table: Int32, snapshot: Snapshot)>) {
    for index in rows.indices where state.fetched.mayHold(rows[index].table) {
      state.fetched.remove(rows[index].key, rows[index].table)
    }
    state.used.insert(rows, at: now)
  }
}

extension ObjectIndex<RowSlab> {
  @inline(__always)
  fileprivate func row(_ key: Int64, _ table: Int32) -> Snapshot? {
    findPlaced(key, table).map { $0.value.snapshot(at: $0.place) }
  }
}
