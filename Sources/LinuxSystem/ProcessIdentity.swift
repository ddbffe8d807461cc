/// When a process started: with the process ID it names a process for good.
enum ProcessStart {
  /// Clock ticks since boot at which the process started; `nil` when there is no such process.
  ///
  /// Source: proc(5), field 22 of `/proc/PID/stat`.
  static func ticks(of pid: Int32) -> Int64? {
    guard let fields = ProcFile.statFields(pid), fields.count > 19 else { return nil }
    return Int64(fields[19])
  }
}
