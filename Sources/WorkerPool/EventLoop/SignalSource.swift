import CSystem
import Glibc
import LinuxSystem
import WorkerProtocol

/// Signals as events: they are blocked for the thread (and those it starts later) and read from a signalfd.
final class SignalSource {
  private let file: Descriptor
  var descriptor: Int32 { file.number }
  private var previousMask = sigset_t()

  /// Blocks `signals` on the calling thread until the source is gone.
  ///
  /// A signal for the whole process goes to any thread that does not block it, so this belongs at the start of the
  /// process, before it has other threads.
  init(_ signals: [Int32]) throws(SystemCallError) {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    guard pthread_sigmask(SIG_BLOCK, &set, &previousMask) == 0 else { throw SystemCallError("pthread_sigmask") }
    file = try Descriptor(csystem_signalfd(&set), "signalfd")
  }

  deinit {
    // What came last and was not read must not end the process now.
    _ = collect()
    pthread_sigmask(SIG_SETMASK, &previousMask, nil)
  }

  /// The numbers of the signals that have come, at most 64, so that an endless sender cannot keep the caller.
  func collect() -> [Int32] {
    var signals: [Int32] = []
    while signals.count < Self.kinds, case let signal = csystem_signalfd_read(descriptor), signal > 0 {
      signals.append(signal)
    }
    return signals
  }

  /// Signals that Linux tells apart (signal(7)).
  private static let kinds = 64
}
