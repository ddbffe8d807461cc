/// The numbers of rows that a save writes with one statement, the largest first. Rows that fill no group are written
/// one by one.
///
/// The numbers were measured: most of a small statement's cost is its start and its end, and larger groups gain little.
struct WriteGroups: Sendable {
  var inserts = [20, 5]
  var updates = [16, 4]
  var deletes = [64, 8]

  /// The most columns that small groups of updated rows write: of wide rows there may be many kinds with a few rows
  /// each, and preparing a statement for them costs more than it saves.
  static let mostColumnsOfSmallUpdates = 3

  static let rowByRow = WriteGroups(inserts: [], updates: [], deletes: [])

  /// Divides rows into groups of the given sizes, and single rows.
  static func divide<Rows: RandomAccessCollection>(
    _ rows: Rows, _ sizes: [Int], _ write: (Rows.SubSequence) throws -> Void
  ) rethrows {
    var unwrittenRows = rows[...]
    for size in sizes + [1] {
      while unwrittenRows.count >= size {
        try write(unwrittenRows.prefix(size))
        unwrittenRows = unwrittenRows.dropFirst(size)
      }
    }
  }
}

/// The keys of a group of rows as a condition, parameters from 1 on. Statements of one shape differ in their parameters
/// only.
///
/// ```text
/// keys 17, 18, 19, 20   Z_PK BETWEEN ?1 AND ?2               one text for all runs
/// keys 1, 3, 4, 9       Z_PK IN (?1, ?2, ?3, ?4)             one text for each number of keys
/// ```
///
/// New rows of one save have keys in a row, so what was made together is mostly found together.
struct KeyShape: Hashable {
  let count: Int
  /// Whether the keys follow each other without a gap, so that the first and the last one tell all.
  let isRun: Bool

  /// - Parameter keys: in ascending order.
  init(_ keys: some BidirectionalCollection<Int64>) {
    count = keys.count
    isRun = keys.count > 1 && keys.last.map { $0 - Int64(keys.count) + 1 } == keys.first
  }

  func condition(on column: String) -> String {
    if isRun { return "\(column) BETWEEN ?1 AND ?2" }
    return "\(column) IN (\((1...count).map { "?\($0)" }.joined(separator: ", ")))"
  }

  /// The number of parameters of the condition.
  var parameterCount: Int32 { isRun ? 2 : Int32(count) }

  func bind(_ keys: some BidirectionalCollection<Int64>, to statement: SQLiteStatement) {
    if isRun {
      if let first = keys.first { statement.bind(first, at: 1) }
      if let last = keys.last { statement.bind(last, at: 2) }
    } else {
      for (offset, key) in keys.enumerated() { statement.bind(key, at: Int32(offset + 1)) }
    }
  }
}
