import Glibc
import Synchronization

/// Notes that the process was asked to stop, so that whoever goes on for a while can end in good order.
enum Interruption {
  /// Whether SIGINT, SIGTERM or SIGHUP has come since `catchSignals`.
  static var isRequested: Bool { wasInterrupted.load(ordering: .relaxed) }

  /// From now on these signals do no more than to be noted.
  static func catchSignals() {
    // Makes the global now: a signal handler must not be the first to use it.
    wasInterrupted.store(false, ordering: .relaxed)
    for number in [SIGINT, SIGTERM, SIGHUP] {
      signal(number) { _ in wasInterrupted.store(true, ordering: .relaxed) }
    }
  }
}

private let wasInterrupted = Atomic<Bool>(false)
