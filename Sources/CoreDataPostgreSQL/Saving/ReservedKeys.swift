internal import Synchronization

/// The keys that this coordinator has reserved at the server and not given yet.
///
/// A sequence gives them in blocks of 64, so that a save rarely asks for any. Keys of a save that fails are not given
/// again.
///
/// ```text
/// CREATE SEQUENCE "app"."_keys" INCREMENT 64 START 1
///
/// SELECT nextval('"app"."_keys"') FROM generate_series(1, $1)
/// $1 = '1'     1                           the keys 1 to 64
/// $1 = '3'     65, 129, 193                the keys 65 to 256
/// ```
///
/// Two programs never get the same block, no matter how their transactions end: `nextval` waits for no transaction and
/// is not rolled back. So keys have gaps, and their order is not that of the insertions. A person's INSERT without a
/// key gets the first key of a block by the column's default, and uses up the block.
///
/// A standby that takes the server's place may not know of a block that was reserved in a lost transaction, and gives
/// it again. So no key outlives the loss of a connection. The server itself writes 32 blocks ahead to the WAL, so after
/// a crash there is a gap, and never a key twice.
///
/// Source: the pages "CREATE SEQUENCE" and "Sequence Manipulation Functions".
final class ReservedKeys: Sendable {
  private let sequence: String
  private let database: ServerDatabase
  private let reserved = Mutex(Reserved())

  private struct Reserved {
    var ranges: [Range<Int64>] = []
    /// The number of connections that had been lost.
    var losses = 0
  }

  init(_ address: ServerAddress, _ database: ServerDatabase) {
    sequence = ServerTables.sequence(address).quotedText
    self.database = database
  }

  /// Takes keys, in ranges. Other threads may take some of the block that this thread has reserved; then it asks again
  /// for the missing ones.
  func take(_ count: Int, _ connection: any ServerConnection) throws -> [Range<Int64>] {
    let losses = database.lossCount
    reserved.withLock { if $0.losses != losses { $0 = Reserved(losses: losses) } }
    var keys = takeReserved(count)
    let missing = count - keys.reduce(0) { $0 + $1.count }
    if missing == 0 { return keys }
    let blockCount = (Int64(missing) + ServerTables.keysAtOnce - 1) / ServerTables.keysAtOnce
    let result = try connection.execute(
      "SELECT nextval(\(raw: sequence)) FROM generate_series(1, \(bind: .integer(blockCount)))")
    let blocks = (0..<result.rowCount).map { row in
      let first = result.integer(row, 0)
      return first..<(first + ServerTables.keysAtOnce)
    }
    reserved.withLock { $0.ranges += blocks }
    // Another thread may take some of them.
    keys += try take(missing, connection)
    return keys
  }

  /// Takes from the first ranges; a part of the last one may remain.
  private func takeReserved(_ count: Int) -> [Range<Int64>] {
    reserved.withLock { reserved in
      var keys: [Range<Int64>] = []
      var missing = count
      while missing > 0, keys.count < reserved.ranges.count {
        keys.append(reserved.ranges[keys.count].prefix(missing))
        missing -= keys.last?.count ?? 0
      }
      guard let last = keys.last else { return [] }
      let unusedKeys = last.upperBound..<reserved.ranges[keys.count - 1].upperBound
      reserved.ranges.replaceSubrange(..<keys.count, with: unusedKeys.isEmpty ? [] : [unusedKeys])
      return keys
    }
  }
}
