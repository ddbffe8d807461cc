import Foundation
import Glibc
import Jobs

/// Shows how the jobs go, kills a worker when some are done, and waits until the pool has replaced it and all jobs are
/// done.
struct DemoWatch {
  let pool: DemoPool
  let jobs: Int
  let isTerminal: Bool
  let output: (String) -> Void

  func run() throws {
    let start = Date()
    var killed: PoolStatus.Worker?
    var replacement: PoolStatus.Worker?
    var knownPids: Set<Int32> = []
    var lastLine = ""
    while true {
      if Interruption.isRequested { throw DemoError.interrupted }
      let status = try pool.status()
      let done = status.jobs?[JobState.succeeded.name] ?? 0
      let dead = status.jobs?[JobState.dead.name] ?? 0
      if killed == nil, let victim = victim(status, done: done) {
        knownPids = Set(status.workers.map(\.pid))
        kill(victim.pid, SIGKILL)
        killed = victim
        event("kill -9 \(victim.pid): worker \(victim.id), in the middle of its work")
      } else if let victim = killed, replacement == nil,
        let fresh = status.workers.first(where: { !knownPids.contains($0.pid) && $0.phase == "up" })
      {
        replacement = fresh
        event("worker \(victim.id) is replaced by worker \(fresh.id), pid \(fresh.pid)")
      }
      let line = progressLine(status, done: done, seconds: Date().timeIntervalSince(start))
      if isTerminal || done != jobs, line != lastLine { progress(line) }
      lastLine = line
      if done + dead >= jobs, replacement != nil || killed == nil {
        event("all \(jobs) jobs are done\(dead > 0 ? ", \(dead) of them dead" : ""), each exactly once in the store")
        guard dead == 0 else { throw DemoError.jobsFailed(dead) }
        return
      }
      Thread.sleep(forTimeInterval: Demo.interval)
    }
  }

  /// A worker that runs something; when all is done already, any.
  private func victim(_ status: PoolStatus, done: Int) -> PoolStatus.Worker? {
    let up = status.workers.filter { $0.phase == "up" }
    guard done > 0 else { return nil }
    return up.first { !$0.running.isEmpty } ?? (done >= jobs ? up.first : nil)
  }

  private func progressLine(_ status: PoolStatus, done: Int, seconds: Double) -> String {
    let width = 30
    let filled = min(width, done * width / max(1, jobs))
    let bar = String(repeating: "█", count: filled) + String(repeating: "·", count: width - filled)
    let busy = status.workers.count { !$0.running.isEmpty }
    return "[\(bar)] \(done)/\(jobs) jobs, \(busy) of \(status.workers.count) workers busy"
  }

  private func progress(_ line: String) {
    output(isTerminal ? "\r\u{1B}[K\(line)" : line + "\n")
  }

  private func event(_ line: String) {
    output(isTerminal ? "\r\u{1B}[K\(line)\n" : line + "\n")
  }
}
