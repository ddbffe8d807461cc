import Foundation
import Glibc

/// Identifies a process for good: a process ID is used again, but not together with its start time.
package struct ProcessIdentity: Hashable, Sendable {
  package let pid: Int32
  /// Clock ticks since boot at which it started, by the clock of the machine: it is the same in all time namespaces.
  package let start: Int64

  package init(pid: Int32, start: Int64) {
    self.pid = pid
    self.start = start
  }

  /// Nil when there is no such process. Source: proc(5), field 22 of `/proc/PID/stat`.
  package init?(of pid: Int32) {
    guard let fields = ProcFile.statFields(pid), fields.count > 19, let start = Int64(fields[19]) else { return nil }
    self.init(pid: pid, start: start - Self.shift)
  }

  /// Clock ticks by which the kernel moves start times for the reader. Containers may have a time namespace of their
  /// own, in which the machine seems to have been up for a longer or shorter time. Source: time_namespaces(7).
  private static let shift = ticks(offsets: KernelFile.text("/proc/self/timens_offsets") ?? "")

  /// - Parameter offsets: lines of a clock's name, seconds and nanoseconds.
  package static func ticks(offsets: String) -> Int64 {
    for line in offsets.split(separator: "\n") {
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      guard fields.count == 3, fields[0] == "boottime", let seconds = Int64(fields[1]),
        let nanoseconds = Int64(fields[2])
      else { continue }
      let ticks = Int64(sysconf(Int32(_SC_CLK_TCK)))
      return seconds * ticks + nanoseconds * ticks / 1_000_000_000
    }
    return 0
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
