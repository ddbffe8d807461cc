import CoreData
import Foundation
import Jobs
import LinuxSystem

/// A store that pools of several hosts share. With a SQLite file nothing here does anything.
extension StoreJobSource {
  /// Whether this pool does what one pool does for all: due jobs, periodic entries, deletions.
  var leads: Bool { membership?.isLeader ?? true }

  /// Jobs that may run now, for the coordinator. In a shared store only a claim makes them this pool's.
  func offered(_ jobs: [JobSummary]) -> [WindowJob] { membership == nil ? windowJobs(jobs) : [] }

  /// Ready jobs that no other pool hands out, and whether there are others.
  func readyJobs(
    _ query: ReadyQuery, _ context: NSManagedObjectContext
  ) throws -> (jobs: [JobSummary], areMore: Bool) {
    guard let membership else {
      let jobs = try store.readyJobs(query, in: context)
      return (jobs, jobs.count >= query.limit)
    }
    let claimed = try store.claimReady(
      query, for: membership.member.identity, besides: membership.gone, rules: claimRules(of: query.kind), in: context)
    let isAll = query.after == nil && query.groups.isEmpty && query.without.isEmpty
    successor.claims.note(claimed.jobs.map(\.key), of: query.kind, isAll: isAll)
    if let seconds = claimed.retryAfter { askAgain(query.kind, after: seconds) }
    if query.claims > 0 { tellBeginnings(of: query.kind, after: StoredRates.checkDelay) }
    return (claimed.jobs, claimed.areMore)
  }

  /// What all pools together may have claimed of a kind.
  private func claimRules(of kind: String) -> ClaimRules {
    let described = self.kind(kind)
    var rules = ClaimRules()
    rules.limit = limits.kinds[kind] ?? described?.limit
    rules.rate = rates.rate(of: kind, limits.rates[kind] ?? described?.rate)
    rules.limitPerKey = described?.limitPerKey ?? 1
    let queues = limits.queues
    if !queues.isEmpty { rules.queueLimit = { queues.limit(of: $0) } }
    return rules
  }

  /// Asks again for jobs of a kind, once after the time.
  private func askAgain(_ kind: String, after seconds: Double) {
    report(.heldBack(kind))
    guard asking.withLock({ $0.insert(kind).inserted }) else { return }
    DispatchTimers.after(seconds) { [weak self] in
      guard let self else { return }
      _ = asking.withLock { $0.remove(kind) }
      report(.roomMayBe(kind))
    }
  }

  func releaseClaims(_ kinds: Set<String>, keeping kept: [JobKey]) {
    guard let membership else { return }
    work { [self] context in
      try store.releaseClaims(of: membership.member.identity, kinds: kinds, keeping: kept, in: context)
      for kind in kinds { try tellBeginnings(of: kind, context) }
    }
  }

  func send(_ notice: PoolNotice, to recipients: [Int64]) {
    work(on: countingContext) { [self] context in
      try store.send(notice, to: recipients, in: context)
      report(.sent)
    } onFailure: { [report] error in
      report(.trouble("another pool cannot be told something: \(ErrorText.text(error))"))
      report(.sent)
    }
  }

  /// Begins to take part.
  func startSharing() {
    membership?.start(store.poolIdentifier) { [weak self] in self?.handle($0) }
  }

  /// Gives back all claims, and ends the session with the server.
  func stopSharing(_ context: NSManagedObjectContext) {
    guard let membership else { return }
    // If this fails, the server is away: the next pool of the queue directory does it. Nobody dies.
    if (try? store.releaseClaims(of: membership.member.identity, in: context)) != nil,
      (try? rates.kinds.forEach { try tellBeginnings(of: $0, context) }) != nil,
      (try? store.noteGone(membership.member.identity, in: context)) != nil
    {
      successor.claims.end()
    }
    membership.leave()
  }

  private func handle(_ event: StoreMembership.Event) {
    switch event {
    case .jobsCame: report(.jobsCame)
    case .leads: report(.leads)
    case .cutOff(let reason): report(.cutOff(reason))
    case .isDeaf(let reason):
      report(.trouble("the pool cannot wait at the server for the end of another, and tries again: \(reason)"))
    case .membersChanged: watchNeighbour()
    case .settingsChanged: readPauses()
    case .noticesCame: takeNotices()
    case .isGone(let identity): noteGone(identity)
    }
  }

  private func watchNeighbour() {
    work { [self] context in
      guard let membership else { return }
      let living = try store.members(in: context)
      membership.watch(living, gone: try store.goneMembers(in: context))
      guard living.contains(where: { $0.identity == membership.member.identity }) else {
        return report(.cutOff("another pool has found this one dead"))
      }
      let ownIdentity = membership.member.identity
      report(.members(living.filter { $0.identity != ownIdentity }, ownIdentity: ownIdentity))
      report(.jobsCame)
    }
  }

  private func readPauses() {
    work { [self] context in
      let pauses = try store.pauses(in: context)
      lastPauses = pauses
      report(.pauses(pauses))
    }
  }

  private func takeNotices() {
    work(on: countingContext) { [self] context in
      guard let membership else { return }
      let notices = try store.takeNotices(for: membership.member.identity, in: context)
      if !notices.isEmpty { report(.notices(notices)) }
    } onFailure: { [report] error in
      report(.trouble("what other pools tell cannot be read: \(ErrorText.text(error))"))
    }
  }

  /// The server has released the lock of a pool: what it had claimed is for the others.
  ///
  /// A suspect gets the blame, and how often it may crash, its plugin says. So this waits until the plugins have
  /// described themselves: a pool that has just started may be the only one.
  func noteGone(_ identity: Int64) {
    work { [self] context in
      guard let member = try store.members(in: context).first(where: { $0.identity == identity }) else { return }
      let suspects = try store.kindsOfSuspects(claimedBy: identity, in: context)
      guard kinds.withLock({ $0.canJudge(suspects, of: identity) }) else { return }
      // Of several pools, and the pool itself if it was only cut off, the first decides.
      guard try store.noteGone(identity, in: context) else { return }
      let now = store.now
      let blamed = try store.returnClaims(
        ofDead: identity, policy: { [self] in policy(of: $0) },
        failure: { job in
          AttemptFailure(
            attempt: job.attemptNumber, date: now, type: "host", message: "the pool died that ran the job alone",
            host: member.host, pid: member.pid)
        }, in: context)
      if !blamed.isEmpty { report(.promoted([], areMore: true, next: 0.001)) }
      report(
        .logged(
          LogRecord(
            event: .hostGone,
            text: "the pool on \(member.host), process \(member.pid), is gone: other pools run its jobs",
            fields: [.path(member.queue)])))
    }
  }
}
