import Glibc
import Synchronization

/// Notes that the process was asked to stop, so that long work can end in good order.
enum Interruption {
  /// Whether SIGINT, SIGTERM or SIGHUP has come since `catchSignals`.
  static var isRequested: Bool { wasInterrupted.load(ordering: .relaxed) }

  /// From now on these signals are only noted.
  static func catchSignals() {
    // Makes the global now: a signal handler must not be the first to use it.
    wasInterrupted.store(false, ordering: .relaxed)
    for number in [SIGINT, SIGTERM, SIGHUP] {
      signal(number) { _ in wasInterrupted.store(true, ordering: .relaxed) }
    }
  }
}

private let wasInterrupted = Atomic<Bool>(false)
