import Jobs
import WorkerProtocol

/// Limits of queues and of limit keys. A job whose group is full is parked, and comes back when the group has room:
/// until then it costs nothing.
extension Coordinator {
  /// The window that a job belongs to.
  func window(of job: WindowJob) -> WindowKey {
    WindowKey(kind: job.kind, lane: weights.lane(of: job.queue))
  }

  /// The groups of a job that limit how many run at a time.
  func limitedGroups(of job: WindowJob) -> [JobGroup] {
    var groups: [JobGroup] = []
    if !queueLimits.isEmpty, queueLimits.limit(of: job.queue) != nil { groups.append(.queue(job.queue)) }
    if let key = job.limitKey { groups.append(.key(key)) }
    return groups
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
    switch group {
    case .queue(let queue):
      if pauses.queues.contains(queue) { return 0 }
      guard !queueLimits.isEmpty, let limit = queueLimits.limit(of: queue) else { return .max }
      return limit - inHandByGroup[group, default: 0] - survivors.count(in: group)
    case .key: return job.limit - inHandByGroup[group, default: 0] - survivors.count(in: group)
    }
  }

  /// Inserts new jobs into a window: into those that may run, or parked with a full group.
  mutating func insert(_ jobs: [WindowJob], into key: WindowKey) {
    guard windows[key] != nil else { return }
    var runnable: [WindowJob] = []
    for job in jobs {
      if let group = blockingGroup(of: job) { park(job, in: group, of: key) } else { runnable.append(job) }
    }
    windows[key]?.insert(runnable, size: windowSize)
    changed(key)
  }

  private mutating func park(_ job: WindowJob, in group: JobGroup, of key: WindowKey) {
    windows[key]?.park(job, in: group)
    parkedIn[group, default: []].insert(key)
  }

  /// Parks the jobs at the head of a window whose groups are full, so that the next one may run.
  mutating func parkBlockedHead(of key: WindowKey) {
    while let job = windows[key]?.next, let group = blockingGroup(of: job) {
      _ = windows[key]?.takeNext()
      park(job, in: group, of: key)
      changed(key)
      // Another group may have room now.
      for other in job.groups where other != group { wake(other) }
    }
  }

  /// Releases as many parked jobs of a group as it has room for.
  mutating func wake(_ group: JobGroup) {
    guard let keys = parkedIn[group] else { return }
    for key in keys {
      guard let parked = windows[key]?.parked[group] else {
        windows[key]?.noteLow(group)
        forget(group, in: key)
        list(key)
        continue
      }
      var released: [WindowJob] = []
      var count = 0
      for job in parked.all where room(in: group, for: job) > count {
        windows[key]?.unpark(job, from: group)
        if let other = blockingGroup(of: job) {
          park(job, in: other, of: key)
        } else {
          released.append(job)
          count += 1
        }
      }
      forget(group, in: key)
      windows[key]?.insert(released, size: windowSize)
      changed(key)
    }
  }

  /// Takes a window off the list of a group, unless the window has parked jobs of it, or the store has more of them.
  private mutating func forget(_ group: JobGroup, in key: WindowKey) {
    if let window = windows[key], window.parked[group] != nil || window.cut.contains(group) { return }
    parkedIn[group]?.remove(key)
    if parkedIn[group]?.isEmpty == true { parkedIn[group] = nil }
  }

  /// A queue is no longer paused: its jobs in the store are again in order with all others.
  mutating func reopen(queue: String) {
    let group = JobGroup.queue(queue)
    wake(group)
    for (key, window) in windows where window.cut.contains(group) {
      window.complete(group)
      window.frontier = .start
      changed(key)
      refetch(key)
    }
  }
}
