import Glibc

/// The memory and time of a process, as the kernel counts them.
package enum ProcessUsage {
  /// Resident memory in bytes; `nil` when there is no such process.
  ///
  /// Source: proc(5), second field of `/proc/PID/statm`, in pages.
  package static func residentBytes(of pid: Int32) -> Int? {
    guard let text = ProcFile.text(pid, "statm") else { return nil }
    let fields = text.split(separator: " ")
    return fields.count > 1 ? Int(fields[1]).map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) } : nil
  }

  /// The most memory that a child had resident, in bytes, by what the kernel tells at its end; `nil` where this program
  /// had as much.
  ///
  /// Source: getrusage(2), `ru_maxrss`, in KiB. It is kept over execve(2): a small child shows what the program had
  /// that started it. For the same reason this process's own `ru_maxrss` may be that of a shell, and says nothing here.
  package static func peakBytes(of usage: rusage) -> Int? {
    guard let ownPeak, usage.ru_maxrss > ownPeak else { return nil }
    return usage.ru_maxrss << 10
  }

  /// The most memory that this program had resident, in KiB. Source: proc_pid_status(5), `VmHWM`.
  private static var ownPeak: Int? {
    ProcFile.number("VmHWM:", in: KernelFile.text("/proc/self/status") ?? "")
  }

  /// The most memory that a process had resident since its start or since ``resetPeakBytes(of:)``, in bytes; nil when
  /// there is no such process.
  ///
  /// Source: proc_pid_status(5), `VmHWM`, in KiB.
  package static func peakBytes(of pid: Int32) -> Int? {
    ProcFile.number("VmHWM:", in: ProcFile.text(pid, "status") ?? "").map { $0 << 10 }
  }

  /// Lets the peak of a process begin anew with what it has now, where the kernel allows that. May block: it takes 4
  /// µs, whatever memory the process has, but waits for the lock of its memory map. Of a process that maps and unmaps
  /// 512 MiB again and again it took 0.2 s at the median.
  ///
  /// Source: proc_pid_clear_refs(5), the number 5.
  package static func resetPeakBytes(of pid: Int32) {
    // Where it cannot be set back, the peak is that since the start.
    try? KernelFile.write("5", to: "/proc/\(pid)/clear_refs")
  }

  /// Seconds of processor time since its start, of all its threads, in user and system mode; `nil` when there is no
  /// such process.
  ///
  /// Source: clock_getcpuclockid(3).
  package static func processorSeconds(of pid: Int32) -> Double? {
    var clock = clockid_t()
    var time = timespec()
    guard clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
