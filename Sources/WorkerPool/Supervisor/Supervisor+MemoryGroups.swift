import LinuxSystem

/// Limits the memory of workers by control groups.
extension Supervisor {
  /// From now on the memory of workers is limited by control groups, where that is possible; the log says why it is
  /// not.
  func findMemoryGroups(pool identity: String) {
    guard let limit = configuration.limits.memory else { return }
    do {
      memoryGroups = try MemoryGroups(own: ControlGroups.ofThisProcess.ownFolder, pool: identity, limit: limit)
    } catch {
      tellLackOfMemoryGroup("\(error)")
    }
  }

  /// A group for a worker that is started next, and the file through which it gets there; nil where it starts with
  /// `RLIMIT_DATA`.
  func makeMemoryGroup() -> (MemoryGroup?, Descriptor?) {
    do {
      guard let (group, processes) = try memoryGroups?.make() else { return (nil, nil) }
      return (group, processes)
    } catch {
      tellLackOfMemoryGroup("\(error)")
      return (nil, nil)
    }
  }

  func leaveMemoryGroup(of worker: WorkerProcess) {
    if let group = worker.memoryGroup { memoryGroups?.leave(group.folder) }
  }

  private func tellLackOfMemoryGroup(_ reason: String) {
    guard !hasToldLackOfMemoryGroup else { return }
    hasToldLackOfMemoryGroup = true
    log(.note, "the memory of workers is limited by RLIMIT_DATA and not by control groups: \(reason)")
  }
}
