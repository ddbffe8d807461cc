import Foundation
import Glibc
import Jobs
import PoolClient

/// Submits the jobs, shows how they go, kills a worker when some are done, and waits until the pool has replaced it and
/// all jobs are done.
///
/// Without a pace all jobs are submitted at once. With one, most of them come one after the other, the rest in a burst
/// at the end of the time, and the worker is killed in that burst: so a person can follow it.
struct DemoWatch {
  let pool: DemoPool
  let jobs: [JobRequest]
  let submission: JobSubmission
  /// Seconds over which the jobs come; 0 for all at once.
  let pace: Double
  let view: DemoView

  /// The part of the jobs that comes before the burst.
  private static let trickle = 0.6
  /// Seconds for which the last picture stays.
  private static let lastPictureTime = 3.0
  /// Seconds between two looks at the pool while a running job is sought: the jobs are short.
  private static let seeking = 0.01

  func run() throws {
    let start = Date()
    var submitted = 0
    var killed: PoolStatus.Worker?
    var replacement: PoolStatus.Worker?
    var knownPids: Set<Int32> = []
    var end: Date?
    while true {
      if Interruption.isRequested { throw DemoError.interrupted }
      let due = due(after: Date().timeIntervalSince(start))
      if due > submitted {
        try submission.submit(Array(jobs[submitted..<due]))
        if submitted == 0 || due == jobs.count { view.event(sentence(submitted, due)) }
        submitted = due
      }
      let status = try pool.status()
      let done = status.jobs?[JobState.succeeded.name] ?? 0
      let dead = status.jobs?[JobState.dead.name] ?? 0
      if killed == nil, submitted == jobs.count, let victim = victim(status, done: done),
        let pid = victim.pid
      {
        knownPids = Set(status.workers.compactMap(\.pid))
        kill(pid, SIGKILL)
        killed = victim
        let state = victim.running.isEmpty ? "which waits for work" : "in the middle of its work"
        view.event("kill -9 \(pid): worker \(victim.id), \(state)")
      } else if let victim = killed, replacement == nil,
        let fresh = status.workers.first(where: { $0.pid.map { !knownPids.contains($0) } ?? false && $0.phase == "up" }
        ),
        let pid = fresh.pid
      {
        replacement = fresh
        view.event("worker \(victim.id) is replaced by worker \(fresh.id), pid \(pid)")
      }
      view.show(status, done: done, of: jobs.count)
      if end == nil, done + dead >= jobs.count, replacement != nil {
        view.event(
          "all \(jobs.count) jobs are done\(dead > 0 ? ", \(dead) of them dead" : ""), each exactly once in the store")
        guard dead == 0 else { throw DemoError.jobsFailed(dead) }
        end = Date(timeIntervalSinceNow: pace > 0 ? Self.lastPictureTime : 0)
      }
      if let end, Date() >= end { return }
      let isSeeking = killed == nil && submitted == jobs.count && pace > 0
      Thread.sleep(forTimeInterval: isSeeking ? Self.seeking : Demo.interval)
    }
  }

  /// The number of jobs that the demo has submitted by that time.
  private func due(after seconds: Double) -> Int {
    guard pace > 0, seconds < pace else { return jobs.count }
    return 1 + Int(Double(jobs.count - 1) * Self.trickle * seconds / pace)
  }

  private func sentence(_ before: Int, _ after: Int) -> String {
    if before > 0 { return "\(after - before) jobs at once: one more file in the queue directory" }
    return after == jobs.count
      ? "\(after) jobs submitted: one file in the queue directory" : "the first jobs are submitted"
  }

  /// A worker that runs something; when all is done already, any.
  private func victim(_ status: PoolStatus, done: Int) -> PoolStatus.Worker? {
    let up = status.workers.filter { $0.phase == "up" }
    guard done > 0 else { return nil }
    return up.first { !$0.running.isEmpty } ?? (done >= jobs.count ? up.first : nil)
  }
}
