import Foundation
import Glibc
import LinuxSystem
import WorkerProtocol

/// Processes that an earlier pool of the same identity left behind when it was killed.
struct StrayProcesses: Sendable {
  /// Processes that dead workers had started. They were killed.
  var killed: Set<ProcessIdentity> = []
  /// Workers that live, and finish their jobs.
  var finishing: Set<ProcessIdentity> = []

  mutating func formUnion(_ other: StrayProcesses) {
    killed.formUnion(other.killed)
    finishing.formUnion(other.finishing)
  }

  /// Kills processes that dead workers of pools of this identity have started.
  ///
  /// - Parameter store: the path of the store whose workers are returned.
  static func end(pool: String, store: String) -> StrayProcesses {
    var strays = StrayProcesses()
    // Without /proc no processes are known.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    for pid in names.compactMap({ Int32($0) }) where pid != getpid() && getpgid(pid) != getpgrp() {
      guard let process = ProcessIdentity(of: pid), let worker = worker(of: pid, pool: pool) else { continue }
      if ProcFile.isAlive(worker), self.worker(of: worker, pool: pool) == worker {
        let variable = Data("\(WorkerVariable.store.rawValue)=\(store)".utf8)
        if worker == pid, variables(of: pid)?.contains(variable) ?? false { strays.finishing.insert(process) }
      } else if ProcFile.isAlive(pid), kill(pid, SIGKILL) == 0 {
        strays.killed.insert(process)
      }
    }
    return strays
  }

  /// The process ID of the worker, of the pool of this identity, that the process is or that started it, as its mark or
  /// its environment says; `nil` for all other processes.
  static func worker(of pid: Int32, pool: String) -> Int32? {
    ProcessMark(pool).process(of: pid) ?? variables(of: pid).flatMap { worker(in: $0, pool: pool) }
  }

  private static func worker(in variables: [Data], pool: String) -> Int32? {
    let prefix = Data("\(WorkerVariable.pid.rawValue)=".utf8)
    guard variables.contains(Data("\(WorkerVariable.pool.rawValue)=\(pool)".utf8)),
      let value = variables.first(where: { $0.starts(with: prefix) })?.dropFirst(prefix.count)
    else { return nil }
    return Int32(String(decoding: value, as: UTF8.self))
  }

  /// The environment with which a process was started.
  private static func variables(of pid: Int32) -> [Data]? {
    KernelFile.bytes("/proc/\(pid)/environ").map { Data($0).split(separator: 0) }
  }
}
