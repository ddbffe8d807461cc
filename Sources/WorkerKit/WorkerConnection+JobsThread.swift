import Foundation
import LinuxSystem
import WorkerProtocol

/// What the jobs' thread asks of the connection: jobs to begin, what it tells of them, and whether they should stop.
extension WorkerConnection {
  /// Waits for jobs; `false` when there will be none any more.
  func awaitJobs() -> Bool {
    condition.lock()
    defer { condition.unlock() }
    if state.session.notBegun.isEmpty { sendOutgoing() }
    var isListening = false
    while state.session.notBegun.isEmpty, !state.session.isDraining {
      // The main thread waits until the socket takes more.
      let mayListen = connection.unsentBytes == 0
      if mayListen != isListening { letMainThreadListen(!mayListen) }
      isListening = mayListen
      if mayListen { listen() } else { condition.wait() }
    }
    if isListening { letMainThreadListen(true) }
    return !state.session.notBegun.isEmpty
  }

  /// Waits for messages and handles them, or returns when the state has changed. The lock is held before and after.
  private func listen() {
    state.isJobsThreadListening = true
    condition.unlock()
    var watched = [
      pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: wakeJobs, events: Int16(POLLIN), revents: 0),
    ]
    let isReady = poll(&watched, 2, -1) > 0
    condition.lock()
    state.isJobsThreadListening = false
    guard isReady else { return }
    if watched[1].revents != 0 {
      var count: UInt64 = 0
      _ = read(wakeJobs, &count, 8)
    }
    guard watched[0].revents != 0 else { return }
    condition.unlock()
    receive()
    condition.lock()
  }

  /// Begins up to `limit` of the jobs in hand together; `nil` when they have gone back meanwhile.
  func begin(limit: Int) -> [ObjectURI]? {
    condition.lock()
    defer { condition.unlock() }
    let jobs = state.session.begin(limit: limit)
    state.storeWait = nil
    // The jobs that begin now see what is on disk.
    state.saved = SavedElsewhere()
    sendOutgoing()
    if !jobs.isEmpty {
      state.lastBegin = Clock.now
      noteStoreUse(since: state.lastBegin)
    }
    return jobs.isEmpty ? nil : jobs
  }

  /// The next job of a group is about to run; `false` if it has gone back, because one before it took long. From now on
  /// the main thread gives back what comes after it, unless this is called again in time.
  func beginNext(_ job: ObjectURI) -> Bool {
    let (isThere, isFirst) = condition.withLock { () -> (Bool, Bool) in
      guard let index = state.session.running.firstIndex(of: job) else { return (false, false) }
      defer { state.group = (Clock.now + JobPace.transaction, Array(state.session.running[(index + 1)...])) }
      return (true, state.group == nil)
    }
    // Once for a group: from then on the main thread looks again every few milliseconds.
    if isFirst { wakeMainThread() }
    return isThere
  }

  /// Gives back the jobs of the group that have not run.
  func cutGroup() { change { $0.cutGroup() } }

  /// All jobs of the group have run that are going to.
  func endGroup() { condition.withLock { state.group = nil } }

  /// Tells that jobs have ended: sent by the next `begin`, which follows at once.
  func end(_ ends: [(jobs: [ObjectURI], end: JobEnd)]) {
    condition.lock()
    defer { condition.unlock() }
    for (jobs, end) in ends { state.session.end(jobs, end) }
    state.deadline = nil
    state.lateStack = nil
    state.storeUse = nil
    state.storeWait = nil
    state.timeLeft = nil
    noteStops()
  }

  /// The jobs of the group will begin again, one by one.
  func ungroup() {
    waitsForStore(.over)
    change { $0.session.ungroup() }
  }

  func say(_ message: WorkerMessage) { change { $0.session.say(message) } }

  func setCredit(_ count: Int) {
    condition.withLock { state.session.setCredit(count) }
  }

  /// Waits, and returns whether it may go on: `false` as soon as the conversation is where `isOver` wants it.
  func pause(seconds: Double, until isOver: (WorkerSession) -> Bool) -> Bool {
    let end = Clock.now + seconds
    return condition.withLock {
      while !isOver(state.session), condition.wait(until: end) {}
      return !isOver(state.session)
    }
  }

  /// Tells the coordinator, once, why the running jobs wait for the store, or the next one that would begin.
  func waitsForStore(_ reason: StoreWait) {
    change { state in
      guard (state.storeWait ?? .over) != reason else { return }
      state.storeWait = reason == .over ? nil : reason
      state.countTime(isWaiting: reason != .over, now: Clock.now)
      let jobs = state.session.running.isEmpty ? Array(state.session.notBegun.prefix(1)) : state.session.running
      if !jobs.isEmpty { state.session.say(.waiting(reason, jobs)) }
    }
    // The main thread does not know of the deadline that holds again.
    if reason == .over { wakeMainThread() }
  }

  /// WorkerKit begins or ends to use the store. That may take long, so outgoing messages are sent first.
  func usesStore(_ isInUse: Bool) {
    condition.withLock {
      noteStoreUse(since: isInUse ? Clock.now : nil)
      if isInUse { sendOutgoing() }
    }
  }

  /// Notes since when WorkerKit has been using the store, nil for not at all, and sees to it that the main thread looks
  /// after that: it may know nothing of the jobs that this thread has received. The lock is held.
  private func noteStoreUse(since start: Double?) {
    state.storeUse = start
    if let start { wakeMainThread(by: start + Self.storeNotice) }
  }

  /// Runs a plugin's code; while it should stop, its SQL statements are interrupted.
  func inPlugin(_ body: () throws -> Void) rethrows {
    let start = Clock.now
    condition.withLock {
      state.pluginUse = start
      state.storeUse = nil
    }
    defer {
      let end = Clock.now
      condition.withLock {
        state.pluginUse = nil
        noteStoreUse(since: end)
      }
    }
    try body()
  }

  func setDeadline(_ seconds: Double, for job: ObjectURI) {
    condition.withLock {
      let deadline = Clock.now + seconds
      state.deadline = (deadline, job)
      wakeMainThread(by: deadline)
    }
  }

  /// The plugin is done with the job, in time.
  func clearDeadline() {
    condition.withLock {
      state.deadline = nil
      state.timeLeft = nil
    }
  }

  /// Why the job should stop, if it should. Cheap while no job is to stop.
  func stopReason(_ job: ObjectURI) -> StopReason? {
    guard stopFlag.load(ordering: .relaxed) else { return nil }
    return inspect { $0.session.stops[job] }
  }

  /// Where the job was when its time was over; empty if its time is not over.
  func lateStack(of job: ObjectURI) -> [String] {
    inspect { state in state.lateStack.flatMap { $0.job == job ? $0.lines : nil } ?? [] }
  }

  /// What other workers have saved since the last call, or since the jobs began.
  func takeSaved() -> SavedElsewhere {
    condition.withLock {
      defer { state.saved = SavedElsewhere() }
      return state.saved
    }
  }
}
