import CSystem
import PoolClient

/// Measures the turns of a loop: the longest of the last minutes, and which handler took most of it.
///
/// Handlers are named by the file in which they are registered.
final class TurnMeter {
  /// Seconds after which a long turn is forgotten, at least; at most twice as many.
  static let memory = 300.0

  private struct Turn {
    var nanoseconds: Int64 = 0
    var place: StaticString = ""
    var endedAt: Int64 = 0
  }

  private var begunAt: Int64 = 0
  /// When the last handler of this turn had ended.
  private var lastEnd: Int64 = 0
  /// The longest handler of this turn.
  private var slowest = Turn()
  /// The longest turns of the current period and of the one before.
  private var longest = (current: Turn(), previous: Turn())
  private var periodBeganAt = csystem_monotonic_nanoseconds()

  /// Events have come.
  func begin() {
    begunAt = csystem_monotonic_nanoseconds()
    lastEnd = begunAt
    slowest = Turn()
  }

  /// A handler that is registered in this file has run.
  func ran(_ place: StaticString) {
    let now = csystem_monotonic_nanoseconds()
    if now - lastEnd > slowest.nanoseconds { slowest = Turn(nanoseconds: now - lastEnd, place: place, endedAt: now) }
    lastEnd = now
  }

  /// The turn is over.
  func end() {
    if Double(lastEnd - periodBeganAt) >= Self.memory * 1e9 {
      let isRecent = Double(lastEnd - periodBeganAt) < 2 * Self.memory * 1e9
      longest = (Turn(), isRecent ? longest.current : Turn())
      periodBeganAt = lastEnd
    }
    guard lastEnd - begunAt > longest.current.nanoseconds else { return }
    longest.current = Turn(nanoseconds: lastEnd - begunAt, place: slowest.place, endedAt: lastEnd)
  }

  /// The longest turn of the last minutes.
  var longestTurn: PoolStatus.Turn {
    let turn = longest.current.nanoseconds > longest.previous.nanoseconds ? longest.current : longest.previous
    let file = "\(turn.place)".split(separator: "/").last.map(String.init) ?? ""
    return PoolStatus.Turn(
      seconds: Double(turn.nanoseconds) / 1e9, handler: String(file.prefix { $0 != "." }),
      age: turn.endedAt == 0 ? 0 : Double(csystem_monotonic_nanoseconds() - turn.endedAt) / 1e9)
  }
}
