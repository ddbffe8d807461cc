import Jobs
import WorkerProtocol

/// Limits of queues and of limit keys. A job whose group is full is parked, and comes back when the group has room:
/// until then it costs nothing.
extension Coordinator {
  /// The window that a job belongs to.
  func window(of job: WindowJob) -> WindowKey {
    WindowKey(kind: job.kind, lane: weights.lane(of: job.queue))
  }

  /// The group that keeps a job from being handed out now; nil if none does.
  func blockingGroup(of job: WindowJob) -> JobGroup? {
    let queue = JobGroup.queue(job.queue)
    if room(in: queue, for: job) <= 0 { return queue }
    guard let key = job.limitKey.map(JobGroup.key) else { return nil }
    return room(in: key, for: job) <= 0 ? key : nil
  }

  /// How many more jobs of a group may be handed out; the limit of a key comes from the job.
  private func room(in group: JobGroup, for job: WindowJob) -> Int {
    if isPaused(group) { return 0 }
    guard let limit = groups.limit(of: group, for: job) else { return .max }
    return limit - groups.count(in: group) - survivors.count(in: group)
  }

  /// Inserts new jobs into a window: into those that may run, or parked with a full group.
  mutating func insert(_ jobs: [WindowJob], into key: WindowKey) {
    guard windows[key] != nil else { return }
    var runnable: [WindowJob] = []
    for job in jobs {
      if let group = blockingGroup(of: job) { windows.park(job, in: group, of: key) } else { runnable.append(job) }
    }
    windows.insert(runnable, into: key, size: windowSize)
    changed(key)
  }

  /// Parks the jobs at the head of a window whose groups are full, so that the next one may run.
  mutating func parkBlockedHead(of key: WindowKey) {
    while let job = windows[key]?.next, let group = blockingGroup(of: job) {
      _ = windows.takeNext(from: key)
      windows.park(job, in: group, of: key)
      changed(key)
      // Another group may have room now.
      for other in job.groups where other != group { wake(other) }
    }
  }

  /// Releases as many parked jobs of a group as it has room for.
  mutating func wake(_ group: JobGroup) {
    guard let keys = windows.parkedIn[group] else { return }
    for key in keys {
      guard let parked = windows[key]?.parked[group] else {
        windows[key]?.noteLow(group)
        windows.forget(group, in: key)
        windows.list(key)
        continue
      }
      var released: [WindowJob] = []
      var count = 0
      for job in parked.all where room(in: group, for: job) > count {
        windows.unpark(job, from: group, of: key)
        if let other = blockingGroup(of: job) {
          windows.park(job, in: other, of: key)
        } else {
          released.append(job)
          count += 1
        }
      }
      windows.forget(group, in: key)
      windows.insert(released, into: key, size: windowSize)
      changed(key)
    }
  }

  /// A queue is no longer paused: its jobs in the store are again in order with all others.
  mutating func reopen(queue: String) {
    let group = JobGroup.queue(queue)
    wake(group)
    for key in windows.forgetCuts(group) {
      changed(key)
      windows.refetch(key)
    }
  }
}
