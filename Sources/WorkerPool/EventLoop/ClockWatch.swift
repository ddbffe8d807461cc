import CSystem
import Glibc
import LinuxSystem
import WorkerProtocol

/// Tells when the system's clock was set: by a person, by NTP after a boot, or by the machine when it wakes up.
///
/// The loop's timers go by the monotonic clock, which does not show that.
final class ClockWatch {
  private let timer: Descriptor
  /// Readable when the clock was set.
  var descriptor: Int32 { timer.number }

  init() throws(SystemCallError) {
    timer = try Descriptor(csystem_clock_watch(), "timerfd_create")
    guard csystem_clock_watch_arm(descriptor) == 0 else { throw SystemCallError("timerfd_settime") }
  }

  /// Whether the clock was set since the last call.
  func collect() -> Bool {
    var expirations: UInt64 = 0
    let wasSet = read(descriptor, &expirations, MemoryLayout<UInt64>.size) < 0 && errno == ECANCELED
    _ = csystem_clock_watch_arm(descriptor)
    return wasSet
  }
}
