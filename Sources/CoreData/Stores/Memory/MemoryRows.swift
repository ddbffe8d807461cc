/// The rows of one store in memory: their current state, and the right to change it.
///
/// Readers take the last committed state and read it without a lock. One thread at a time writes, in a transaction that
/// works on a copy and makes it the committed state at its end.
///
/// `@unchecked Sendable`: `committed` is used under `lock`; everything else that changes is used by the thread that has
/// the `turn`.
///
/// ```text
/// Reader                                     Writer
/// -----------------------------------------  -----------------------------------------------
/// reader = committed (under `lock`)
///                                            transaction: takes the turn
/// finds rows of the state 7                  contents.set(…): the state 8 is being made
///                                            prepare: an XML file is written beside the old one
/// still the state 7                          persist: the new file takes the old one's place
///                                            commit: committed = the state 8
/// next fetch: the state 8                    gives the turn back
/// ```
///
/// A state is a value (`MemoryContents`), and taking one costs a reference. A writer copies the pages that it changes,
/// so what a reader holds stays as it is for as long as the reader wants.
///
/// What is not part of the state is undone by hand: unique values (`uniqueBefore`), the counters of keys, the history.
package final class MemoryRows: @unchecked Sendable {
  package let schema: MemorySchema
  /// Keeps no rows, which are in memory already. It counts the changes.
  let rowCache = RowCache(generationSize: 0)
  let keepsHistory: Bool
  private let lock = NSLock()
  /// What readers get. Replaced as a whole at a commit, under `lock`, which is held for the time of an assignment.
  private var committed: MemoryReader
  private let turn = NSRecursiveLock()

  // The writer's part.

  /// The state that the transaction makes.
  package var contents: MemoryContents
  /// The keys of the rows with unique values, by constraint number.
  private(set) var unique: [[[PredicateValue]: Int64]]
  /// The last key of each hierarchy.
  var lastKeys: [Int64]
  /// Called after each commit, if that is observed.
  var commitObserver: (@Sendable (Int64?) -> Void)?
  /// Nil without a history.
  var history: MemoryHistory?
  /// A transaction inside of another one of the same thread joins it, as with SQLite.
  private var isInTransaction = false
  private var hasChanges = false
  /// What the transaction changed in `unique`, with the owner before. The tables may be large, and are not copied for
  /// each save.
  private var uniqueBefore: [(constraint: Int, values: [PredicateValue], key: Int64?)] = []

  /// Does the part of `persist` that may fail, before other stores commit. `discard` takes it back.
  var prepare: ((MemoryRows) throws -> Void)?
  /// Makes a transaction's changes durable, at its end. An error rolls it back.
  var persist: ((MemoryRows) throws -> Void)?
  /// Called when a transaction was rolled back.
  var discard: (() -> Void)?

  package init(_ schema: MemorySchema, keepsHistory: Bool = false) {
    self.schema = schema
    self.keepsHistory = keepsHistory
    contents = MemoryContents(schema)
    committed = MemoryReader(schema, contents)
    unique = Array(repeating: [:], count: schema.constraints.count)
    lastKeys = Array(repeating: 0, count: schema.rootCount)
    history = keepsHistory ? MemoryHistory() : nil
  }

  /// The last committed state.
  package var reader: MemoryReader { lock.withLock { committed } }

  // MARK: Changing rows, in a transaction

  func noteChange() { hasChanges = true }

  /// Replaces a row, and updates the lists at the other ends of its to-one relationships.
  ///
  /// ```text
  /// set(Book 2 with author 1), Book 2 had author 3:
  ///
  /// rows[Book][2] = the new row
  /// members[Author.books][3]: 2 is removed
  /// members[Author.books][1]: 2 is added, at its place in the order of keys
  /// ```
  ///
  /// In SQL the members of an author are looked for by an index; here the list is the index, and every change of a
  /// to-one keeps it.
  package func set(_ row: Snapshot?, _ key: Int64, _ entity: MemorySchema.Entity) {
    let old = contents.row(key, entity.storedEntity.number)
    contents.set(row, key, entity.storedEntity.number)
    for toOne in entity.toOnes {
      guard let list = toOne.inverse else { continue }
      let (before, after) = (old?.related(toOne.slot)?.key, row?.related(toOne.slot)?.key)
      if before == after { continue }
      if let before { contents.remove(key, from: list, of: before, isOrdered: schema.isOrdered[list]) }
      if let after { contents.add(key, to: list, of: after, isOrdered: schema.isOrdered[list]) }
    }
  }

  /// Gives keys of a hierarchy.
  func takeKeys(_ count: Int, _ root: Int) -> Range<Int64> {
    let first = lastKeys[root] + 1
    lastKeys[root] += Int64(count)
    return first..<first + Int64(count)
  }

  /// The row with the unique values; nil for none.
  func owner(of values: [PredicateValue], _ constraint: Int) -> Int64? { unique[constraint][values] }

  func setOwner(of values: [PredicateValue], _ constraint: Int, _ key: Int64?) {
    uniqueBefore.append((constraint, values, unique[constraint][values]))
    unique[constraint][values] = key
  }

  // MARK: Filling

  /// Fills the empty memory, before other threads see it.
  ///
  /// No turn and no transaction: the store is not open yet, and an error throws the whole memory away.
  package func load(_ body: (MemoryRows) throws -> Void) rethrows {
    try body(self)
    uniqueBefore = []
    commit()
  }

  /// Takes over the committed rows of another memory with the same entities, in a transaction.
  func takeOver(_ other: MemoryRows) {
    contents = other.reader.contents
    lastKeys = other.lastKeys
    unique = other.unique
    noteChange()
  }

  // MARK: Undoing

  private func rollBack(_ before: (lastKeys: [Int64], transaction: Int64)) {
    contents = reader.contents
    for change in uniqueBefore.reversed() { unique[change.constraint][change.values] = change.key }
    lastKeys = before.lastKeys
    history?.removeTransactions(after: before.transaction)
  }

  private func commit() { lock.withLock { committed = MemoryReader(schema, contents) } }
}

extension MemoryRows: WriteScope {
  package var name: String { "" }

  package func exclusively(_ body: () throws -> Void) throws { try turn.withLock(body) }

  package func prepareToCommit() throws {
    if hasChanges { try prepare?(self) }
  }

  /// The state before costs nothing to keep: it is the committed one. `persist` is the last thing that can fail; after
  /// it the new state is made visible with one assignment.
  package func transaction(_ doing: String, _ body: () throws -> Void) throws {
    try exclusively {
      if isInTransaction { return try body() }
      isInTransaction = true
      let before = (lastKeys, history?.lastNumber ?? 0)
      defer {
        isInTransaction = false
        hasChanges = false
        uniqueBefore = []
      }
      do {
        try body()
        guard hasChanges else { return }
        try persist?(self)
        commit()
      } catch {
        rollBack(before)
        discard?()
        throw error
      }
    }
  }
}
