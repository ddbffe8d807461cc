import Foundation
import Jobs
import TestFiles
import WorkerProtocol

@testable import WorkerPool

/// What the store does, other pools that share it, and people.
extension RandomPool {
  mutating func end(_ key: JobKey) {
    available[key] = nil
    waiting.removeAll { $0.key == key }
    giveUp(key)
  }

  /// No pool has claimed the job any more: its place, if it has not begun in it, is free.
  mutating func giveUp(_ key: JobKey) {
    owners[key] = nil
    placed.remove(key)
  }

  /// A pool claims a job, where the rate of its kind over all pools has a place.
  mutating func claim(_ job: WindowJob, by owner: Owner) -> Bool {
    if job.kind == "report" {
      let past = beginnings.count { $0.time + Self.rate.period > coordinator.now }
      guard past + placed.count < Self.rate.jobs else { return false }
      placed.insert(job.key)
    }
    owners[job.key] = owner
    return true
  }

  /// A job of the kind with a rate begins in a pool.
  mutating func noteBeginning(_ key: JobKey) {
    let now = coordinator.now
    placed.remove(key)
    beginnings.removeAll { $0.time + Self.rate.period <= now }
    beginnings.append((key, now))
    check(beginnings.count <= Self.rate.jobs, "\(beginnings.count) jobs began in one period")
  }

  /// It has failed, and runs again later.
  mutating func wait(_ key: JobKey) {
    guard let job = available.removeValue(forKey: key) else { return }
    giveUp(key)
    waiting.append(job)
  }

  mutating func runStatement() {
    guard !statements.isEmpty else { return }
    switch statements.removeFirst() {
    case .fetch(let query): answers.append(answer(to: query))
    case .release(let kinds, let kept):
      for (key, job) in available where kinds.contains(job.kind) && !kept.contains(key) && owners[key] == .this {
        giveUp(key)
      }
    case .settle(let jobs, let isCancelled):
      for key in jobs { if isCancelled { end(key) } else { wait(key) } }
      answers.append(.settled(jobs))
    case .cancel(let key):
      // What another pool runs meanwhile is cancelled there.
      if owners[key] == .other { cancelled.remove(key) } else { end(key) }
      answers.append(.settled([key]))
    case .takePlaces(let count, let kind): answers.append(takePlaces(count, kind))
    }
  }

  mutating func takePlaces(_ count: Int, _ kind: String) -> Answer {
    let past = beginnings.filter { $0.time + Self.rate.period > coordinator.now }
    let taken = min(count, max(0, Self.rate.jobs - keptPlaces - past.count))
    keptPlaces += taken
    let isFull = keptPlaces + past.count >= Self.rate.jobs
    let wait = past.first.map { $0.time + Self.rate.period - coordinator.now }
    return .tookPlaces(taken, kind: kind, retryAfter: isFull ? wait ?? Self.rate.period : nil)
  }

  mutating func answer(to query: ReadyQuery) -> Answer {
    let ready = available.values.filter { job in
      job.kind == query.kind && owners[job.key] != .other && query.groups.isSubset(of: job.groups)
        && query.without.isDisjoint(with: job.groups) && query.after.map { $0 < job.position } ?? true
    }
    .sorted { $0.precedes($1) }
    guard isShared else {
      return .fetched(query, Array(ready.prefix(query.limit)), isComplete: ready.count < query.limit)
    }
    let free = ready.filter { owners[$0.key] == nil }.prefix(query.claims)
    let new = free.filter { claim($0, by: .this) }
    // The pool asks again when a place may be free.
    if new.count < free.count { answers.append(.roomMayBe(query.kind)) }
    let claimed = ready.filter { owners[$0.key] == .this }.prefix(query.limit)
    let areMore = new.count == query.claims || claimed.count >= query.limit
    return .fetched(query, Array(claimed), isComplete: !areMore)
  }

  mutating func deliverAnswer() {
    guard !answers.isEmpty else { return }
    switch answers.removeFirst() {
    case .fetched(let query, let jobs, let isComplete): coordinator.fetched(query, jobs, isComplete: isComplete)
    case .settled(let jobs): coordinator.settled(jobs)
    case .tookPlaces(let count, let kind, let seconds):
      coordinator.tookPlaces(count, of: kind, retryAfter: seconds)
    case .ready(let job): coordinator.becameReady([job])
    case .roomMayBe(let kind): coordinator.claimAgain(kind)
    }
  }

  mutating func endWaitOrSurvivor() {
    if survivorsMayRunAny, happens(once: 10) {
      survivorsMayRunAny = false
      coordinator.setWaitsForSurvivors(false)
    } else if !survivors.isEmpty, happens(once: 10) {
      let survivor = survivors.removeFirst()
      // It has committed its job, or was killed before.
      if happens(once: 2) { end(survivor.key) }
      coordinator.setSurvivorJobs(survivors)
    } else if !waiting.isEmpty {
      let job = waiting.removeFirst()
      available[job.key] = job
      if isShared { coordinator.refetchAll() } else { answers.append(.ready(job)) }
    }
  }

  /// Another pool claims a job, and runs it or gives it back.
  mutating func actOfOtherPool() {
    guard let key = available.keys.sorted().randomElement(using: &random) else { return }
    switch owners[key] {
    case .this: break
    case nil: if happens(once: 4), let job = available[key] { _ = claim(job, by: .other) }
    case .other:
      if happens(once: 2) {
        if placed.contains(key) { noteBeginning(key) }
        return end(key)
      }
      giveUp(key)
      coordinator.refetchAll()
    }
  }

  // MARK: People

  mutating func steer() {
    switch Int.random(in: 0..<6, using: &random) {
    case 0, 1:
      guard let scope = Self.scopes.randomElement(using: &random), !paused.contains(scope) else { return }
      paused.append(scope)
      coordinator.pause(scope)
    case 2: if !paused.isEmpty { resume() }
    case 3, 4:
      let jobs = available.keys.filter { owners[$0] != .other } + waiting.map(\.key)
      guard let key = jobs.sorted().randomElement(using: &random), !survivors.contains(where: { $0.key == key }) else {
        return
      }
      cancelled.insert(key)
      suspects.remove(key)
      coordinator.cancel(key)
    default:
      indexLimit = [nil, 5, 7, 12].randomElement(using: &random) ?? nil
      // The plugin of a kind goes, and comes again.
      if happens(once: 3) {
        suspects = suspects.filter { available[$0]?.kind != "index" }
        setKinds(without: "index")
      }
      setKinds()
    }
  }

  mutating func resume() {
    let scope = paused.removeFirst()
    coordinator.resume(scope)
  }

  mutating func resumeAll() { while !paused.isEmpty { resume() } }
}
