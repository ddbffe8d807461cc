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

  /// Whether the process runs: a dead one that was not waited for (state Z in proc(5)) does not.
  package static func isAlive(_ pid: Int32) -> Bool {
    guard let state = statFields(pid)?.first else { return false }
    return state != "Z" && state != "X"
  }

  /// Whether a signal (state T in proc(5)) or a debugger (t) has stopped the process.
  package static func isStopped(_ pid: Int32) -> Bool { ["T", "t"].contains(statFields(pid)?.first) }
}
