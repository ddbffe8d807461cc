import Foundation
import Glibc

/// Processes that an earlier pool on the same queue directory has left behind, when it was killed together with its workers.
enum StrayProcesses {
  /// Kills what dead workers have started; returns the process IDs, and those of workers that still finish their job.
  ///
  /// A process belongs to this queue directory when its environment names the pool's socket. It is a worker, and left alone, when its
  /// process group's leader lives: workers lead their groups.
  static func end(socket: String) -> (killed: [Int32], finishing: [Int32]) {
    let mark = Data("WORKERPOOL_SOCKET=\(socket)\0".utf8)
    var killed: [Int32] = []
    var finishing: [Int32] = []
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    for pid in names.compactMap({ Int32($0) }) where pid != getpid() {
      guard let environment = try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(pid)/environ")),
        (environment + [0]).range(of: mark) != nil
      else { continue }
      let leader = getpgid(pid)
      if leader == pid {
        if isAlive(pid) { finishing.append(pid) }
      } else if leader > 0, leader == getpgrp() || isAlive(leader) {
        continue
      } else if kill(pid, SIGKILL) == 0 {
        killed.append(pid)
      }
    }
    return (killed, finishing)
  }

  /// Whether the process runs: a dead one that nobody has waited for (state Z in proc(5)) does not.
  private static func isAlive(_ pid: Int32) -> Bool {
    guard let state = ProcFile.statFields(pid)?.first else { return false }
    return state != "Z" && state != "X"
  }
}
