import CSystem

/// The monotonic clock.
package enum Clock {
  /// The time since boot in seconds.
  package static var now: Double { Double(csystem_monotonic_nanoseconds()) / 1e9 }

  /// Seconds for people, without a needless ".0": "10 s", "0.05 s".
  package static func text(_ seconds: Double) -> String { Int(exactly: seconds).map { "\($0) s" } ?? "\(seconds) s" }
}
