import Foundation

/// When a process started: with the process ID it names a process for good.
enum ProcessStart {
  /// Clock ticks since boot at which the process started; `nil` when there is no such process.
  ///
  /// Source: proc(5), field 22 of `/proc/PID/stat`. The name in field 2 may hold spaces and parentheses.
  static func ticks(of pid: Int32) -> Int64? {
    guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
      let nameEnd = text.lastIndex(of: ")")
    else { return nil }
    let fields = text[text.index(after: nameEnd)...].split(separator: " ")
    return fields.count > 19 ? Int64(fields[19]) : nil
  }
}
