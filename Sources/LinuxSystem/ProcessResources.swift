import Glibc

/// What a process has used since its start, with those of its children that have ended and were waited for.
package struct ProcessResources: Codable, Equatable, Sendable {
  /// Seconds in user and system mode, of all threads.
  package var processorSeconds: Double
  /// Bytes that were read from disks and written to files; nil where the kernel does not tell.
  package var bytesRead: Int?
  package var bytesWritten: Int?

  /// Nil when there is no such process.
  ///
  /// Source: proc_pid_stat(5), `cutime` and `cstime`; proc_pid_io(5), `read_bytes` and `write_bytes`.
  package init?(of pid: Int32) {
    guard let own = ProcessUsage.processorSeconds(of: pid), let fields = ProcFile.statFields(pid), fields.count > 14
    else { return nil }
    let ticks = (Int(fields[13]) ?? 0) + (Int(fields[14]) ?? 0)
    processorSeconds = own + Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    let transfers = ProcFile.text(pid, "io") ?? ""
    bytesRead = ProcFile.number("read_bytes:", in: transfers)
    bytesWritten = ProcFile.number("write_bytes:", in: transfers)
  }

  /// By what the kernel tells of a child at its end.
  ///
  /// Source: getrusage(2), `ru_inblock` and `ru_oublock`, in units of 512 bytes.
  package init(of usage: rusage) {
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    processorSeconds = seconds(usage.ru_utime) + seconds(usage.ru_stime)
    bytesRead = usage.ru_inblock << 9
    bytesWritten = usage.ru_oublock << 9
  }
}
