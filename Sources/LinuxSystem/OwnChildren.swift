import Foundation
import Glibc

/// The children of this process: those that it has started, and orphans that have come to it (PR_SET_CHILD_SUBREAPER of
/// prctl(2)).
package enum OwnChildren {
  /// Their process IDs, zombies included, without those that the excluded threads have started.
  ///
  /// Source: proc(5), `/proc/PID/task/TID/children`.
  package static func all(except excluded: Set<pid_t> = []) -> [pid_t] {
    // Without /proc no children are known.
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return threads.filter { pid_t($0).map { !excluded.contains($0) } ?? false }.flatMap { thread in
      (KernelFile.text("/proc/self/task/\(thread)/children") ?? "")
        .split(whereSeparator: \.isWhitespace).compactMap { pid_t($0) }
    }
  }

  /// Kills a child and its process group, and waits for it. Until then its process ID is not used again.
  ///
  /// - Returns: what waitpid(2) reports.
  @discardableResult
  package static func end(_ pid: pid_t) -> Int32 {
    kill(-pid, SIGKILL)
    kill(pid, SIGKILL)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    return status
  }

  /// Ends them all, with the processes that they have started in any group or session; blocks until they are gone.
  package static func endAll() {
    while true {
      var status: Int32 = 0
      let pid = waitpid(-1, &status, WNOHANG)
      if pid > 0 || (pid < 0 && errno == EINTR) { continue }
      if pid < 0 { return }
      for child in all() { kill(child, SIGKILL) }
      var info = siginfo_t()
      // Waits until one of them has died, without taking it. Its children come here then.
      waitid(P_ALL, 0, &info, WEXITED | WNOWAIT)
    }
  }
}
