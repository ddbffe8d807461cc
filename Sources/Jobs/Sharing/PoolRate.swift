import LinuxSystem
import Synchronization
import WorkerProtocol

/// What a pool knows of the rate of a kind in a store that pools share: which jobs it has claimed that have not begun,
/// and which beginnings it has not told the others yet. May be used on any thread.
///
/// Beginnings are told a moment later, together, and dated back to their own times: until then the jobs hold their
/// places as claims, so that the rate is kept.
public final class PoolRate: Sendable {
  private struct State {
    var rate: JobRate
    var held: Set<JobKey> = []
    var begun: [(job: JobKey, uptime: Double)] = []
    /// Jobs that ended before their beginning was told to ``begin(_:)``: they are counted already.
    var ended: Set<JobKey> = []
  }

  /// What a turn has to write.
  struct News {
    var held: Set<JobKey>
    var begun: [(job: JobKey, uptime: Double)]
  }

  private let state: Mutex<State>

  /// - Parameter rate: how many jobs may begin in a period, over all pools.
  public init(_ rate: JobRate) { state = Mutex(State(rate: rate)) }

  /// How many jobs may begin in a period, over all pools. What is known of places stays when it changes.
  public var rate: JobRate {
    get { state.withLock(\.rate) }
    set { state.withLock { $0.rate = newValue } }
  }

  /// Notes that jobs begin now.
  public func begin(_ jobs: [JobKey]) {
    let uptime = Clock.now
    state.withLock { state in
      for job in jobs where state.ended.remove(job) == nil {
        state.held.remove(job)
        state.begun.append((job, uptime))
      }
    }
  }

  var news: News { state.withLock { News(held: $0.held, begun: $0.begun) } }

  /// A turn is saved: `news` is told, `claimed` are claimed in it, `ended` were counted as begun in it, and `lost` are
  /// no longer this pool's.
  func told(_ news: News, claimed: [JobKey], ended: Set<JobKey>, lost: Set<JobKey>) {
    state.withLock { state in
      state.begun.removeFirst(news.begun.count)
      // Their beginning may have come while the turn was saved.
      let late = Set(state.begun.map(\.job)).intersection(ended)
      state.begun.removeAll { late.contains($0.job) }
      state.ended.formUnion(ended.subtracting(late))
      state.held.subtract(ended)
      state.held.subtract(lost)
      state.held.formUnion(claimed)
    }
  }
}
