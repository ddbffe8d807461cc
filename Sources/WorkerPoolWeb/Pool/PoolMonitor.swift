import Foundation
import LinuxSystem
import PoolClient
import Synchronization

/// Asks the pool for its status again and again, on a thread of its own: a pool that is down or silent delays no page.
final class PoolMonitor: Sendable {
  /// What was last heard of the pool.
  struct Observation: Sendable {
    /// The last status; nil as long as no pool has answered.
    var status: PoolStatus?
    /// Why the pool does not answer now; nil while it does.
    var problem: String?
    /// When the pool was asked last.
    var date = Date.distantPast
    var isRunning: Bool { problem == nil && status != nil }
  }

  private struct State {
    var latest = Observation()
    var recent = RecentGauges()
    var spans = WorkerTimeline()
    /// Questions that were begun, and those that have ended.
    var begun = 0
    var rounds = 0
    var lastRead = -Double.infinity
  }

  private let queue: String
  private let state = Mutex(State())
  private let wake = DispatchSemaphore(value: 0)
  private let answered = NSCondition()

  /// Seconds between two requests to the pool while a page is open, and while none is.
  private static let interval = (watched: 2.0, alone: 10.0)
  /// Seconds between two samples at most, while the pool answers at once.
  static let longestPause = 12.0
  /// Seconds after the last request of a page from which on no page counts as open.
  private static let watchedFor = 30.0
  /// Seconds that the pool gets for an answer.
  private static let timeout = 10.0

  init(queue: String) { self.queue = queue }

  /// Starts to ask; called once. Returns when the pool has answered, or is known to be down.
  func start() {
    Thread.detachNewThread { [self] in
      var client: StatusClient?
      while true {
        ask(&client)
        let isWatched = state.withLock { Clock.now - $0.lastRead < Self.watchedFor }
        _ = wake.wait(timeout: .now() + (isWatched ? Self.interval.watched : Self.interval.alone))
      }
    }
    waitForRound(after: 0, within: 2)
  }

  /// The latest state of the pool, for a page that is open.
  var latest: Observation {
    let (latest, wasAlone) = state.withLock { state in
      let wasAlone = Clock.now - state.lastRead > Self.watchedFor
      state.lastRead = Clock.now
      return (state.latest, wasAlone)
    }
    if !wasAlone { return latest }
    askNow()
    return state.withLock { $0.latest }
  }

  /// How the pool stood in the last minutes.
  var recent: RecentGauges { state.withLock { $0.recent } }

  /// What each worker ran in the last minutes.
  var spans: WorkerTimeline { state.withLock { $0.spans } }

  /// Asks the pool, and waits a moment for its answer: after a change.
  func askNow() { _ = ask(within: 1) }

  /// Asks the pool, and waits for its answer: one to a question that was begun before tells of an earlier state.
  ///
  /// - Returns: nil when it has not answered by then.
  func ask(within seconds: Double) -> Observation? {
    let begun = state.withLock { $0.begun }
    wake.signal()
    return waitForRound(after: begun, within: seconds) ? state.withLock { $0.latest } : nil
  }

  @discardableResult
  private func waitForRound(after rounds: Int, within seconds: Double) -> Bool {
    let end = Date(timeIntervalSinceNow: seconds)
    answered.lock()
    defer { answered.unlock() }
    while state.withLock({ $0.rounds }) <= rounds { if !answered.wait(until: end) { return false } }
    return true
  }

  private func ask(_ client: inout StatusClient?) {
    state.withLock { $0.begun += 1 }
    var heard: PoolStatus?
    var problem: String?
    do throws(StatusClient.Failure) {
      let pool: StatusClient
      if let client { pool = client } else { pool = try StatusClient(queue: queue) }
      client = pool
      let reply = try pool.request(StatusRequest(.status), within: Self.timeout)
      heard = reply.status
      if heard == nil { problem = reply.error ?? "the pool sent no status" }
    } catch {
      client = nil
      problem = "\(error)"
    }
    state.withLock { state in
      state.latest.problem = problem
      state.latest.date = Date()
      if let heard {
        state.latest.status = heard
        state.recent.add(heard, at: state.latest.date)
        state.spans.add(heard, at: state.latest.date)
      }
      state.rounds += 1
    }
    answered.lock()
    answered.broadcast()
    answered.unlock()
  }
}
