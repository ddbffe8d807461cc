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

  func take(_ count: Int, _ connection: any ServerConnection) throws -> [Int64] {
    let losses = database.lossCount
    reserved.withLock { if $0.losses != losses { $0 = Reserved(losses: losses) } }
    var keys = takeReserved(count)
    let missing = count - keys.count
    if missing == 0 { return keys }
    var parameters = ServerParameters()
    parameters.add((Int64(missing) + ServerTables.keysAtOnce - 1) / ServerTables.keysAtOnce)
    let result = try connection.execute("SELECT nextval(\(sequence)) FROM generate_series(1, $1)", parameters)
    let blocks = (0..<result.rowCount).map { row in
      let first = result.integer(row, 0)
      return first..<(first + ServerTables.keysAtOnce)
    }
    reserved.withLock { $0.ranges += blocks }
    keys += takeReserved(missing)
    // Another thread took some of them.
    return keys.count == count ? keys : try keys + take(count - keys.count, connection)
  }

  private func takeReserved(_ count: Int) -> [Int64] {
    reserved.withLock { reserved in
      var keys: [Int64] = []
      keys.reserveCapacity(count)
      var used = 0
      while keys.count < count, used < reserved.ranges.count {
        let taken = reserved.ranges[used].prefix(count - keys.count)
        keys += taken
        if taken.count == reserved.ranges[used].count {
          used += 1
        } else {
          reserved.ranges[used] = taken.endIndex..<reserved.ranges[used].upperBound
        }
      }
      reserved.ranges.removeFirst(used)
      return keys
    }
  }
}
