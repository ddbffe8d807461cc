import CoreData
import WorkerProtocol

extension PoolTurn {
  /// The turn of claims that a limit or a rate bounds.
  static let claims = "claims"

  /// Begins a turn: reads the row, or inserts it. Whatever is read after this is as new as the row.
  static func begin(_ name: String, in context: NSManagedObjectContext) throws -> PoolTurn {
    let request = fetchRequest()
    request.predicate = NSPredicate(format: "name == %@", name)
    if let turn = try context.fetch(request).first { return turn }
    let turn = PoolTurn(context: context)
    turn.name = name
    return turn
  }

  /// Makes the save of the context fail if another pool has taken its turn since it was begun.
  func take(keeping text: String? = nil) {
    count += 1
    if let text { self.text = text }
  }
}

/// When jobs of a kind with a rate were claimed, over all pools.
///
/// The times are those of the server's clock. A period is divided into steps; claims within one step count as of the
/// last of them, so that the rate is kept.
struct SharedRate {
  private var claims: [(time: Double, count: Int)] = []
  private let rate: JobRate
  private static let resolution = 200.0

  /// - Parameter text: what ``text`` was after the last claim; empty before the first.
  init(_ rate: JobRate, _ text: String, now: Double) {
    self.rate = rate
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ")
      guard parts.count == 2, let time = Double(parts[0]), let count = Int(parts[1]) else { continue }
      // A time far ahead is that of a server whose clock was wrong.
      if time + rate.period > now, time <= now + rate.period { claims.append((min(time, now), count)) }
    }
  }

  /// How many jobs may be claimed now.
  var room: Int { max(0, rate.jobs - claims.reduce(0) { $0 + $1.count }) }

  /// Seconds until one more may be claimed.
  func wait(now: Double) -> Double { room > 0 ? 0 : (claims.first.map { $0.time + rate.period - now } ?? 0) }

  /// Counts jobs that are claimed now.
  mutating func take(_ count: Int, now: Double) {
    if let last = claims.last, now - last.time < rate.period / Self.resolution {
      claims[claims.count - 1] = (now, last.count + count)
    } else {
      claims.append((now, count))
    }
  }

  var text: String { claims.map { "\($0.time) \($0.count)" }.joined(separator: "\n") }
}
