import CSystem
import Glibc
import LinuxSystem
import WorkerProtocol

/// TERM, and the signal that the kernel sends when the supervisor dies, as events on a descriptor.
///
/// Blocked for all threads, so this is made before there are others.
final class WorkerSignals {
  /// Sent by the kernel when the supervisor dies. The usual sign is the end of the connection, but another process of
  /// the supervisor may hold that open.
  static let parentDied = SIGHUP
  /// The supervisor's process. The kernel sends ``parentDied`` when the thread ends that started this process, and so
  /// also when the supervisor's program is replaced in place (`workerpool reexec`): the parent stays the same then.
  private let supervisor = getppid()
  private let file: Descriptor
  var descriptor: Int32 { file.number }

  init() throws {
    // Output after the supervisor's death has no reader, and must not end the job in hand.
    signal(SIGPIPE, SIG_IGN)
    // Asked for by the pool before it kills a process that hangs: where each thread is, on standard error.
    try StackFrame.printStacks(on: SIGQUIT)
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGTERM)
    sigaddset(&set, Self.parentDied)
    guard pthread_sigmask(SIG_BLOCK, &set, nil) == 0 else { throw SystemCallError("pthread_sigmask") }
    file = try Descriptor(csystem_signalfd(&set), "signalfd")
    guard csystem_signal_on_parent_death(Self.parentDied) == 0 else { throw SystemCallError("prctl") }
  }

  /// Whether the process that had started this one is there no more.
  var isParentGone: Bool { getppid() != supervisor }

  /// The next signal that has come.
  func next() -> Int32? {
    let signal = csystem_signalfd_read(descriptor)
    return signal > 0 ? signal : nil
  }
}
