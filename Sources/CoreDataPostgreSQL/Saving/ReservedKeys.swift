internal import Synchronization

/// The keys that this coordinator has reserved at the server and not given yet.
///
/// A sequence gives them in blocks, so that a save rarely asks for any. Keys of a save that fails are not given again.
///
/// A standby that takes the server's place may not know of a block that was reserved in a lost transaction, and gives
/// it again. So no key outlives the loss of a connection.
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

  /// As many keys, in ranges.
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
