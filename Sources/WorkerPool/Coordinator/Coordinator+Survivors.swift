import Jobs

/// Processes of earlier pools that still live, and the jobs that these pools left.
extension Coordinator {
  /// Notes the jobs in the hands of survivors: no worker gets them, and they count against the limits.
  mutating func setSurvivorJobs(_ inherited: [InheritedJob]) {
    let jobs = Set(inherited.map(\.key))
    let freed = !survivorJobs.subtracting(jobs).isEmpty
    let groups = Set(survivorJobsByGroup.keys)
    survivorJobs = jobs
    survivorJobsByKind = inherited.reduce(into: [:]) { counts, job in job.kind.map { counts[$0, default: 0] += 1 } }
    survivorJobsByGroup = inherited.reduce(into: [:]) { counts, job in
      if let queue = job.queue { counts[.queue(queue), default: 0] += 1 }
      if let key = job.limitKey { counts[.key(key), default: 0] += 1 }
    }
    for kind in kinds.keys {
      kinds[kind]?.survivorJobs = survivorJobsByKind[kind] ?? 0
      refresh(kind)
    }
    forgetReady(jobs)
    for group in groups { wake(group) }
    guard freed else { return }
    refetchAll()
    dispatch()
  }

  /// These jobs had begun together when their worker and its pool died: each has to run alone when it is found in the
  /// store.
  mutating func inherit(suspects: Set<JobKey>) { inheritedSuspects = suspects }

  /// Whether survivors may run any job: nothing is handed out then.
  mutating func setWaitsForSurvivors(_ waits: Bool) {
    guard waits != waitsForSurvivors else { return }
    waitsForSurvivors = waits
    if waits { return }
    // Their jobs may have ended meanwhile, so the windows may differ from the store.
    for (key, window) in windows {
      window.removeAll()
      changed(key)
    }
    refetchAll()
    dispatch()
  }
}
