import CSystem

/// The monotonic clock.
package enum Clock {
  /// The time since boot in seconds.
  package static var now: Double { Double(csystem_monotonic_nanoseconds()) / 1e9 }

  /// Seconds for people, to the millisecond and without a needless ".0": "10 s", "0.05 s".
  package static func text(_ seconds: Double) -> String {
    let rounded = (seconds * 1000).rounded() / 1000
    return Int(exactly: rounded).map { "\($0) s" } ?? "\(rounded) s"
  }
}
