import Foundation
import Glibc
import LinuxSystem

/// The memory and time of a process, as the kernel counts them.
enum ProcessUsage {
  /// Resident memory in bytes; `nil` when there is no such process.
  ///
  /// Source: proc(5), second field of `/proc/PID/statm`, in pages.
  static func residentBytes(of pid: Int32) -> Int? {
    guard let text = ProcFile.text(pid, "statm") else { return nil }
    let fields = text.split(separator: " ")
    return fields.count > 1 ? Int(fields[1]).map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) } : nil
  }

  /// The most memory that a child had resident, in bytes, by what the kernel tells at its end; `nil` where this program
  /// had as much.
  ///
  /// Source: getrusage(2), `ru_maxrss`, in KiB. It is kept over execve(2): a small child shows what the program had that
  /// started it. For the same reason this process's own `ru_maxrss` may be that of a shell, and says nothing here.
  static func peakBytes(of usage: rusage) -> Int? {
    guard let own = ownPeak, usage.ru_maxrss > own else { return nil }
    return usage.ru_maxrss << 10
  }

  /// The most memory that this program had resident, in KiB. Source: proc_pid_status(5), `VmHWM`.
  private static var ownPeak: Int? {
    let lines = KernelFile.text("/proc/self/status")?.split(separator: "\n") ?? []
    let words = lines.first { $0.hasPrefix("VmHWM:") }?.split(whereSeparator: \.isWhitespace) ?? []
    return words.count > 1 ? Int(words[1]) : nil
  }

  /// Seconds of processor time since its start, in user and system mode; `nil` when there is no such process.
  ///
  /// Source: proc(5), fields 14 and 15 of `/proc/PID/stat`, in clock ticks.
  static func processorSeconds(of pid: Int32) -> Double? {
    guard let fields = ProcFile.statFields(pid), fields.count > 12, let user = Double(fields[11]),
      let system = Double(fields[12])
    else { return nil }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}
