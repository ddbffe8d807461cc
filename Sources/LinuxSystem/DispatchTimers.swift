import Dispatch

/// What happens after a time, on a queue of Dispatch.
///
/// The queue is serial and not one of `DispatchQueue.global()`: as soon as a global queue has run anything, Dispatch
/// counts its threads once a second, so an idle process wakes 60 times a minute for the rest of its life.
package enum DispatchTimers {
  private static let queue = DispatchQueue(label: "timers")

  /// Runs a short body after a number of seconds. All bodies run one after the other, so none may wait for anything.
  package static func after(_ seconds: Double, _ body: @escaping @Sendable () -> Void) {
    queue.asyncAfter(deadline: .now() + seconds, execute: body)
  }

  /// Lets Dispatch open its descriptors for timers now. It opens them for the first timer of the process, and ends the
  /// process with SIGILL when no descriptor is left then. Takes a millisecond.
  package static func open() {
    let hasFired = DispatchSemaphore(value: 0)
    // A timer whose time has come already needs no descriptor.
    after(0.001) { hasFired.signal() }
    hasFired.wait()
  }
}
