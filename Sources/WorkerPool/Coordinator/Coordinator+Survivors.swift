import Jobs

/// Processes of earlier pools that still live, and the jobs that these pools left.
extension Coordinator {
  /// Notes the jobs in the hands of survivors: no worker gets them, and they count against the limits.
  mutating func setSurvivorJobs(_ inherited: [InheritedJob]) {
    let before = survivors
    survivors.set(inherited)
    for kind in kinds.states.keys {
      kinds.setSurvivorJobs(survivors.count(ofKind: kind), of: kind)
      refresh(kind)
    }
    forgetReady(survivors.keys)
    for group in before.groups { wake(group) }
    guard !before.keys.isSubset(of: survivors.keys) else { return }
    refetchAll()
    dispatch()
  }

  /// Goes on with workers of the program before this one in the process, and what they hold. Called before the kinds
  /// are known.
  mutating func adopt(_ former: Hands, _ indices: [WorkerID: [JobKey: Int]]) {
    hands.adopt(former, indices)
    for held in hands.jobs.values { groups.take(groups.limited(of: held.job)) }
    effects.append(.demandChanged)
  }

  /// These jobs had begun together when their worker and its pool died: each has to run alone when it is found in the
  /// store.
  mutating func inherit(suspects: Set<JobKey>) { survivors.add(suspects: suspects) }

  /// Whether survivors may run any job: nothing is handed out then.
  mutating func setWaitsForSurvivors(_ waits: Bool) {
    guard survivors.setMayBeAny(waits), !waits else { return }
    // Their jobs may have ended meanwhile, so the windows may differ from the store.
    for (key, window) in windows.all {
      window.removeAll()
      changed(key)
    }
    refetchAll()
    dispatch()
  }
}
