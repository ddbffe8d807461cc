internal import Synchronization

/// The SELECT of rows of an entity by their keys.
///
/// The entity's number is part of the condition, because a fault is of one entity: the row of another one under this
/// key is not the object that is asked for. `serial` picks one of eight places in the connection, where the prepared
/// statement is found without hashing its text.
final class RowQuery: Sendable {
  let sql: String
  let decoder: RowDecoder
  /// The number of keys, which are the parameters.
  let keyCount: Int
  /// Unique in the process.
  let serial: Int
  private static let lastSerial = Atomic(0)

  /// Nil if the plan is for rows of several entities, or of none.
  init?(_ plan: RowPlan, _ mapping: TableMapping, keys keyCount: Int = 1) {
    guard let decoder = plan.onlyDecoder else { return nil }
    self.decoder = decoder
    self.keyCount = keyCount
    let keys = keyCount == 1 ? "= ?" : "IN (\(Array(repeating: "?", count: keyCount).joined(separator: ",")))"
    let columns = plan.columnList(alias: "t")
    sql = "SELECT \(columns) FROM \(mapping.table) t WHERE t.Z_PK \(keys) AND t.Z_ENT = \(mapping.number)"
    serial = RowQuery.lastSerial.add(1, ordering: .relaxed).newValue
  }
}

/// The SELECTs of rows of one entity by keys, for a few numbers of them: a text for each number would be as many
/// statements to prepare.
struct RowQueries: Sendable {
  /// The one for a single row.
  let single: RowQuery
  private let groups: [RowQuery]
  private static let sizes = [8, 64, 256]

  /// Nil if the plan is for rows of several entities, or of none.
  init?(_ plan: RowPlan, _ mapping: TableMapping) {
    guard let single = RowQuery(plan, mapping) else { return nil }
    self.single = single
    groups = RowQueries.sizes.compactMap { RowQuery(plan, mapping, keys: $0) }
  }

  /// The smallest with room for this number of keys, or the largest.
  func query(for count: Int) -> RowQuery {
    count == 1 ? single : groups.first { $0.keyCount >= count } ?? groups.last ?? single
  }
}

extension RowPlan {
  /// Gives the body the statement's rows, one after the other.
  @inline(__always)
  func forEachRow(
    of statement: SQLiteStatement, _ body: (RowDecoder, StoredEntity, SQLiteRow) throws -> Void
  ) throws {
    try forEachRow({ try statement.step() ? SQLiteRow(statement) : nil }, body)
  }
}
