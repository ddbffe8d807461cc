internal import Synchronization

/// The keys that this coordinator has reserved at the server and not given yet.
///
/// A sequence gives them in blocks, so that a save rarely asks for any. Keys of a save that fails are not given again.
final class ReservedKeys: Sendable {
  private let sequence: String
  private let reserved = Mutex<[Range<Int64>]>([])

  init(_ address: ServerAddress) { sequence = ServerTables.sequence(address).quotedText }

  func take(_ count: Int, _ connection: any ServerConnection) throws -> [Int64] {
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
    reserved.withLock { $0 += blocks }
    keys += takeReserved(missing)
    // Another thread took some of them.
    return keys.count == count ? keys : try keys + take(count - keys.count, connection)
  }

  private func takeReserved(_ count: Int) -> [Int64] {
    reserved.withLock { ranges in
      var keys: [Int64] = []
      keys.reserveCapacity(count)
      var used = 0
      while keys.count < count, used < ranges.count {
        let taken = ranges[used].prefix(count - keys.count)
        keys += taken
        if taken.count == ranges[used].count {
          used += 1
        } else {
          ranges[used] = taken.endIndex..<ranges[used].upperBound
        }
      }
      ranges.removeFirst(used)
      return keys
    }
  }
}
