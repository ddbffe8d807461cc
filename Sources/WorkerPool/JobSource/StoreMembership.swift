import CoreData
import CoreDataPostgreSQL
import Foundation
import Jobs
import LinuxSystem
import Synchronization

/// This pool among those that share a store at a server.
///
/// Its session holds a lock with the pool's identity. The pools form a ring by their identities, in which each waits
/// for the lock of the next: the server itself tells that a pool is gone, to one other pool. One more lock makes a pool
/// the leader, which does what one does for all.
///
/// A server that starts again, or a standby that takes its place, ends all sessions at once. No pool has died then, and
/// each begins again and gives back what it had claimed. So a pool whose session is new gives the pools whose locks it
/// finds free the time to do that. A session that lasts for longer shows that the server has not ended all of them: a
/// free lock is then as good as one that becomes free, and pools that died together are found together.
///
///     this pool             server                        next pool
///     wait for its lock ──▶ queued                 ◀── holds its lock
///                           session ends           ◀── kill -9, or its host's last answer was too long ago
///     held              ◀── lock released
///     goneAt = now      ──▶ its claims are void    ──▶ announced to all pools, which claim its jobs
///
/// Its functions may be called on any thread; what happens is reported on threads of the session.
final class StoreMembership: Sendable {
  /// What happens to the membership.
  enum Event: Sendable {
    /// Jobs have come, or may run now.
    case jobsCame
    /// Pools have come or gone.
    case membersChanged
    /// Settings have changed: what is paused may be another.
    case settingsChanged
    /// Another pool has told this one something.
    case noticesCame
    /// The server has released the lock of this pool.
    case isGone(Int64)
    /// This pool does from now on what one does for all.
    case leads
    /// This pool does not hear of a death, or cannot become the leader, until a wait succeeds that failed: why.
    case isDeaf(String)
    /// The session has ended: other pools may run this pool's jobs.
    case cutOff(String)
  }

  let member: PoolMember
  private let state = Mutex(State())

  private struct State {
    var session: ServerSession?
    var report: (@Sendable (Event) -> Void)?
    /// Events that came before there was a listener.
    var early: [Event] = []
    /// The next pool in the ring, and the wait for its lock.
    var neighbour: (identity: Int64, wait: Int, hold: ServerLockHold)?
    /// The number of the last wait. A pool may become the neighbour again, with another wait for its lock.
    var lastWait = 0
    var leadership: ServerLockHold?
    var isLeader = false
    var gone: [Int64] = []
    var isOver = false
  }

  /// Seconds until a wait that failed is begun again.
  private static let retryDelay = 1.0
  /// Seconds that a pool has to come back after all sessions have ended, counted from when this one's began again.
  private static let timeToComeBack = 10.0
  private let openedAt = Clock.now
  /// A pool that is known to be dead: an earlier process of the same queue directory.
  private let dead: Int64?

  /// Opens the session. The pool's row must be saved afterwards: a row without a lock would count as that of a dead
  /// pool.
  ///
  /// - Parameter dead: the identity of an earlier process of the queue directory, which has died.
  /// - Throws: an `NSError` when the server cannot be reached.
  init(_ store: JobStore, queue: String, dead: Int64? = nil) throws {
    self.dead = dead
    member = PoolMember(host: ProcessInfo.processInfo.hostName, pid: getpid(), queue: queue)
    let poolStore = store.coordinator.persistentStores.first { $0.identifier == store.poolIdentifier }
    let session = try poolStore?.openSession(holding: member.identity) { [weak self] in self?.handle($0) }
    state.withLock { $0.session = session }
  }

  deinit { leave() }

  /// Whether this pool does what one pool does for all.
  var isLeader: Bool { state.withLock { $0.isLeader } }

  /// Pools whose claims are void, as far as this one knows.
  var gone: [Int64] { state.withLock { $0.gone } }

  /// Begins to report, and to wait for the leadership.
  ///
  /// - Parameter store: the identifier of the pool's store.
  func start(_ store: String, reporting report: @escaping @Sendable (Event) -> Void) {
    let early = state.withLock { state in
      state.report = report
      defer { state.early = [] }
      return state.early
    }
    for event in early { report(event) }
    report(.membersChanged)
    let place = state.withLock { $0.session?.place } ?? ""
    lead(Self.leaderLock("\(store) \(place)"))
  }

  /// Ends the session: the lock is released, and nothing is reported any more.
  func leave() {
    let (session, holds) = state.withLock { state in
      state.isOver = true
      state.isLeader = false
      defer { (state.session, state.neighbour, state.leadership) = (nil, nil, nil) }
      return (state.session, [state.neighbour?.hold, state.leadership].compactMap(\.self))
    }
    for hold in holds { hold.release() }
    session?.close()
  }

  private func tell(_ event: Event) {
    let report = state.withLock { state -> (@Sendable (Event) -> Void)? in
      if state.isOver { return nil }
      if state.report == nil { state.early.append(event) }
      return state.report
    }
    report?(event)
  }

  private func handle(_ event: ServerSession.Event) {
    switch event {
    case .announced(let entities):
      if entities.contains(PoolNotice.entityName) { tell(.noticesCame) }
      if entities.contains(PoolMember.entityName) { tell(.membersChanged) }
      if entities.contains(PoolSetting.entityName) { tell(.settingsChanged) }
      if entities.contains(PoolJob.entityName) { tell(.jobsCame) }
    case .lost(let reason): tell(.cutOff(reason))
    }
  }

  // MARK: The ring

  /// Waits for the lock of the next pool in the ring.
  ///
  /// - Parameters:
  ///   - living: the pools that are not gone, in the order of their identities, with this one.
  ///   - gone: those that are.
  func watch(_ living: [PoolMember], gone: [Int64]) {
    let others = living.map(\.identity).filter { $0 != member.identity }
    let next = others.first { $0 > member.identity } ?? others.first
    let old = state.withLock { state -> ServerLockHold? in
      state.gone = gone
      guard !state.isOver, state.neighbour?.identity != next else { return nil }
      defer { state.neighbour = nil }
      return state.neighbour?.hold
    }
    old?.release()
    guard let next else { return }
    state.withLock { state in
      guard !state.isOver, state.neighbour == nil, let session = state.session else { return }
      state.lastWait += 1
      let wait = state.lastWait
      let hold = session.wait(for: next) { [weak self] event in
        guard let self else { return }
        switch event {
        case .held(let afterWaiting) where afterWaiting || next == dead: tell(.isGone(next))
        case .held:
          let end = openedAt + Self.timeToComeBack
          again(after: max(0, end - Clock.now)) { $0.tellGone(next, after: wait) }
        case .failed(let reason):
          tell(.isDeaf(reason))
          again { $0.forget(wait) }
        }
      }
      state.neighbour = (next, wait, hold)
    }
  }

  /// The pool has not come back.
  private func tellGone(_ identity: Int64, after wait: Int) {
    if state.withLock({ $0.neighbour?.wait == wait }) { tell(.isGone(identity)) }
  }

  /// Lets a wait that has failed begin again, unless another one has taken its place: that one goes on.
  private func forget(_ wait: Int) {
    state.withLock { if $0.neighbour?.wait == wait { $0.neighbour = nil } }
    tell(.membersChanged)
  }

  // MARK: The leader

  private func lead(_ lock: Int64) {
    state.withLock { state in
      guard !state.isOver, let session = state.session else { return }
      state.leadership = session.wait(for: lock) { [weak self] event in
        guard let self else { return }
        switch event {
        case .held:
          self.state.withLock { $0.isLeader = !$0.isOver }
          tell(.leads)
        case .failed(let reason):
          tell(.isDeaf(reason))
          self.state.withLock { $0.isLeader = false }
          again { $0.lead(lock) }
        }
      }
    }
  }

  /// The number of the leader's lock: that of the store's identifier and its place. A copy of the store in another
  /// schema of the database has the same identifier, and a leader of its own.
  private static func leaderLock(_ store: String) -> Int64 {
    Int64(bitPattern: StableHash.of(store) | 1 << 63)
  }

  private func again(
    after seconds: Double = retryDelay, _ body: @escaping @Sendable (StoreMembership) -> Void
  ) {
    DispatchTimers.after(seconds) { [weak self] in
      if let self { body(self) }
    }
  }
}
