import Dispatch

/// The descriptors with which Dispatch waits for time.
package enum DispatchTimers {
  /// Lets Dispatch open them now. It opens them for the first timer of the process, and ends the process with SIGILL
  /// when no descriptor is left then. Takes a millisecond.
  package static func open() {
    let hasFired = DispatchSemaphore(value: 0)
    // A timer whose time has come already needs no descriptor.
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { hasFired.signal() }
    hasFired.wait()
  }
}
