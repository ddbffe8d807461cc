import Foundation
import Glibc

/// Identifies a process for good: a process ID is used again, but not together with its start time.
package struct ProcessIdentity: Hashable, Sendable {
  package let pid: Int32
  /// Clock ticks since boot at which it started.
  package let start: Int64

  package init(pid: Int32, start: Int64) {
    self.pid = pid
    self.start = start
  }

  /// Nil when there is no such process. Source: proc(5), field 22 of `/proc/PID/stat`.
  package init?(of pid: Int32) {
    guard let fields = ProcFile.statFields(pid), fields.count > 19, let start = Int64(fields[19]) else { return nil }
    self.init(pid: pid, start: start)
  }

  /// Whether it runs; a dead process that was not waited for does not.
  package var isAlive: Bool { ProcessIdentity(of: pid) == self && ProcFile.isAlive(pid) }
}

/// One run of the machine, from boot to boot.
package enum Boot {
  /// The kernel's random ID of this boot; empty if the kernel gives none.
  ///
  /// Source: proc_sys_kernel(5), `random/boot_id`.
  package static func id() -> String {
    (KernelFile.text("/proc/sys/kernel/random/boot_id") ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
