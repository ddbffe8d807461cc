import CSystem

/// The monotonic clock.
package enum Clock {
  /// The time since boot in seconds.
  package static var now: Double { Double(csystem_monotonic_nanoseconds()) / 1e9 }
}
