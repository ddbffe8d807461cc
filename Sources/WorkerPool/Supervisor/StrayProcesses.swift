import Foundation
import Glibc

/// Processes that an earlier pool of the same identity has left behind, when it was killed.
enum StrayProcesses {
  /// What each worker finds its own process ID in. What it starts inherits the variable, and has another process ID.
  static let pidVariable = "WORKERPOOL_PID"
  /// What each worker, and what it starts, finds the identity of its pool in.
  static let poolVariable = "WORKERPOOL_POOL"

  /// Kills what dead workers have started; returns the process IDs, and those of workers that still finish their job.
  static func end(pool: String) -> (killed: [Int32], finishing: [Int32]) {
    var killed: [Int32] = []
    var finishing: [Int32] = []
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    for pid in names.compactMap({ Int32($0) }) where pid != getpid() && getpgid(pid) != getpgrp() {
      guard let worker = worker(of: pid, pool: pool) else { continue }
      if isAlive(worker), self.worker(of: worker, pool: pool) == worker {
        if worker == pid { finishing.append(pid) }
      } else if isAlive(pid), kill(pid, SIGKILL) == 0 {
        killed.append(pid)
      }
    }
    return (killed, finishing)
  }

  /// The worker of the pool of that identity which the process is, or which has started it, as its environment tells; `nil` for all
  /// other processes.
  static func worker(of pid: Int32, pool: String) -> Int32? {
    guard let data = try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(pid)/environ")) else { return nil }
    let variables = data.split(separator: 0)
    let prefix = Data("\(pidVariable)=".utf8)
    guard variables.contains(Data("\(poolVariable)=\(pool)".utf8)),
      let value = variables.first(where: { $0.starts(with: prefix) })?.dropFirst(prefix.count)
    else { return nil }
    return Int32(String(decoding: value, as: UTF8.self))
  }

  /// Whether the process runs: a dead one that nobody has waited for (state Z in proc(5)) does not.
  static func isAlive(_ pid: Int32) -> Bool {
    guard let state = ProcFile.statFields(pid)?.first else { return false }
    return state != "Z" && state != "X"
  }
}
