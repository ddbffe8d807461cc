internal import Synchronization

/// The server's time, continued by a clock of this machine that no program can set.
///
/// Times in a store that several hosts share are those of the server: the clocks of hosts may differ, or jump. A job's
/// times and a pool's deadlines come from here (`NSPersistentStoreCoordinator.serverDate`).
///
/// ```text
/// this machine                                                       server
/// CLOCK_BOOTTIME = 100.000 s
/// SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint ─▶
///                                                                   ◀─ 1795858911250000
/// CLOCK_BOOTTIME = 100.010 s
/// it was 1795858911.25 at 100.005 s, so at 130.005 s it is 1795858941.25
/// ```
///
/// The error is at most half of the round trip, plus what two clocks drift apart in a minute. `clock_timestamp()` is
/// the moment of the call; `now()` would be the beginning of the transaction (page "Date/Time Functions and
/// Operators").
///
/// Each new connection asks once, so a program that is connected has a time without a further question.
final class ServerClock: Sendable {
  private struct Reading {
    /// Seconds since 1970 at the server.
    let time: Double
    /// Seconds of this machine's clock at the same moment.
    let uptime: Double
  }

  private struct State {
    var reading: Reading?
    /// When the server was asked last, by this machine's clock.
    var askedAt = -Double.infinity
  }

  private let state = Mutex(State())

  /// Seconds after which the server is asked again: the two clocks do not run alike.
  private static let mostAge = 60.0

  /// Asks the server through one of its connections.
  ///
  /// - Returns: what the server's clock showed between the call and the return: no estimate.
  @discardableResult
  func read(_ connection: any ServerConnection) throws -> Date? {
    let before = Self.uptime
    let answer = try connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
    guard answer.rowCount == 1 else { return nil }
    let after = Self.uptime
    // The server read its clock about half of a round trip before the answer arrived.
    let reading = Reading(time: Double(answer.integer(0, 0)) / 1_000_000, uptime: (before + after) / 2)
    state.withLock { $0 = State(reading: reading, askedAt: after) }
    return Date(timeIntervalSince1970: reading.time)
  }

  /// The time now; nil if the server was never asked.
  ///
  /// - Parameter ask: called if the last answer is old; it should call `read(_:)`. If it fails, the old
  ///   answer counts for another minute.
  func date(asking ask: () throws -> Void) -> Date? {
    let isOld = state.withLock { state in
      let now = Self.uptime
      guard now - state.askedAt > Self.mostAge else { return false }
      state.askedAt = now
      return true
    }
    // If it fails, the last known difference of the clocks is used.
    if isOld { try? ask() }
    return state.withLock { state in
      state.reading.map { Date(timeIntervalSince1970: $0.time + Self.uptime - $0.uptime) }
    }
  }

  /// Seconds since this machine was started, with those in which it slept (clock_gettime(2)).
  private static var uptime: Double {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
