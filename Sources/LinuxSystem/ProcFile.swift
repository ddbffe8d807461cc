import Foundation
import Glibc

/// Files of a process under `/proc`.
package enum ProcFile {
  package static func text(_ pid: Int32, _ name: String) -> String? {
    KernelFile.text("/proc/\(pid)/\(name)")
  }

  /// The name of the process's program; empty when it is gone.
  package static func command(_ pid: Int32) -> String {
    (text(pid, "comm") ?? "").trimmingCharacters(in: .newlines)
  }

  /// The fields of `/proc/PID/stat` from the third on. The name in field 2 may hold spaces and parentheses.
  package static func statFields(_ pid: Int32) -> [Substring]? {
    guard let text = text(pid, "stat"), let nameEnd = text.lastIndex(of: ")") else { return nil }
    return text[text.index(after: nameEnd)...].split(separator: " ")
  }

  /// The number in the line that begins with a name, as in `VmHWM:    1234 kB`.
  package static func number(_ name: String, in text: String) -> Int? {
    for line in text.split(separator: "\n") where line.hasPrefix(name) {
      let words = line.split(whereSeparator: \.isWhitespace)
      return words.count > 1 ? Int(words[1]) : nil
    }
    return nil
  }

  /// The IDs of the process's threads.
  package static func threads(_ pid: Int32) -> [Int32] {
    // A process that has ended has no threads.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
    return names.compactMap { Int32($0) }
  }

  /// Whether the process runs: a dead one that was not waited for (state Z in proc(5)) does not.
  package static func isAlive(_ pid: Int32) -> Bool {
    guard let state = statFields(pid)?.first else { return false }
    return state != "Z" && state != "X"
  }

  /// Whether the process is gone, or on its way: the kernel ends it, or a SIGKILL waits for it. Its files may be open
  /// still, since the kernel frees its memory before.
  ///
  /// Source: proc_pid_stat(5), `flags` with `PF_EXITING` of `include/linux/sched.h`; proc_pid_status(5).
  package static func isGoneOrDying(_ pid: Int32) -> Bool {
    guard isAlive(pid), let fields = statFields(pid), fields.count > 6 else { return true }
    if let flags = UInt64(fields[6]), flags & 0x4 != 0 { return true }
    let status = text(pid, "status") ?? ""
    return ["SigPnd:", "ShdPnd:"].contains { name in
      let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
      let pending = line?.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) } ?? 0
      return pending & 1 << UInt64(SIGKILL - 1) != 0
    }
  }

  /// Whether a signal (state T in proc(5)) or a debugger (t) has stopped the process.
  package static func isStopped(_ pid: Int32) -> Bool { ["T", "t"].contains(statFields(pid)?.first) }
}
