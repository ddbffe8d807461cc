import LinuxSystem
import Synchronization
import WorkerProtocol

/// What a pool knows of the rate of a kind: which places it holds for jobs that have not begun, and which beginnings
/// the store does not know yet. May be used on any thread.
///
/// A job begins only in a place that the store keeps for its pool: the next pool counts it, no matter how this one
/// ends. In a store that pools share, each claimed job has a place. In a SQLite file, where jobs are not claimed, the
/// pool takes places for jobs to come.
///
/// Beginnings are told a moment later, together, and dated back to their own times: until then the jobs hold their
/// places, so that the rate is kept.
public final class PoolRate: Sendable {
  /// What is known in memory. It is written into the store by the pool's next turn, and until then a crash costs the
  /// other pools a wait: they count the places as begun.
  private struct State {
    var rate: JobRate
    let hasClaims: Bool
    /// Claimed jobs with a place.
    var held: Set<JobKey> = []
    /// Places for any job. Below zero where jobs have begun without a place: they were in hand when the kind got its
    /// rate.
    var free = 0
    var begun: [(job: JobKey, uptime: Double)] = []
    /// Beginnings that a turn is about to write.
    var written: [(job: JobKey, uptime: Double)] = []
    /// When jobs began whose beginnings no longer count, though turns have written them.
    var takenBack: [Double] = []
    /// Jobs that ended before their beginning was told to ``begin(_:)``: they are counted already.
    var ended: Set<JobKey> = []
  }

  /// What a turn has to write. A turn that fails is made again with the same news and what has been added since.
  struct News {
    var held: Set<JobKey>
    var free: Int
    var begun: [(job: JobKey, uptime: Double)]
    var takenBack: [Double]
  }

  private let state: Mutex<State>

  /// - Parameters:
  ///   - rate: how many jobs may begin in a period, over all pools.
  ///   - hasClaims: whether jobs are claimed, in a store that pools share. Default true.
  public init(_ rate: JobRate, hasClaims: Bool = true) {
    state = Mutex(State(rate: rate, hasClaims: hasClaims))
  }

  /// How many jobs may begin in a period, over all pools. What is known of places stays when it changes.
  public var rate: JobRate {
    get { state.withLock(\.rate) }
    set { state.withLock { $0.rate = newValue } }
  }

  /// Whether claimed jobs hold places.
  var isHolding: Bool { state.withLock { !$0.held.isEmpty } }

  /// Notes that jobs begin now. The store is told a moment later (`tellBeginnings`), with this time.
  public func begin(_ jobs: [JobKey]) {
    let uptime = Clock.now
    state.withLock { state in
      for job in jobs where state.ended.remove(job) == nil {
        if state.hasClaims { state.held.remove(job) } else { state.free -= 1 }
        state.begun.append((job, uptime))
      }
    }
  }

  /// Notes that a job has left no effect since it began: it has its place again, and may begin once more.
  ///
  /// - Parameter uptime: when it began, by the monotonic clock.
  public func takeBack(_ job: JobKey, from uptime: Double) {
    state.withLock { state in
      if let index = state.begun.lastIndex(where: { $0.job == job }) {
        state.begun.remove(at: index)
      } else {
        state.takenBack.append(uptime)
      }
      if state.hasClaims { state.held.insert(job) } else { state.free += 1 }
    }
  }

  /// Forgets the places that are missing for jobs that began before the kind had a rate.
  public func forgetDebt() { state.withLock { $0.free = max(0, $0.free) } }

  /// Gives up the places for jobs to come: the pool ends. The next turn writes it, so that other pools need not wait
  /// for them.
  public func giveUpPlaces() { state.withLock { $0.free = 0 } }

  /// What the next turn writes. Until ``told(_:claimed:places:ended:lost:)`` it is told again.
  func takeNews() -> News {
    state.withLock { state in
      state.written += state.begun
      state.begun = []
      return News(held: state.held, free: max(0, state.free), begun: state.written, takenBack: state.takenBack)
    }
  }

  /// A turn is saved: it has written `news`, claimed the jobs `claimed`, taken `places` for jobs to come and counted
  /// `ended` as begun; the jobs `lost` are no longer this pool's.
  func told(_ news: News, claimed: [JobKey], places: Int, ended: Set<JobKey>, lost: Set<JobKey>) {
    state.withLock { state in
      state.written = []
      state.takenBack.removeFirst(news.takenBack.count)
      // Their beginning may have come while the turn was saved.
      let late = Set(state.begun.map(\.job)).intersection(ended)
      state.begun.removeAll { late.contains($0.job) }
      state.ended.formUnion(ended.subtracting(late))
      state.held.subtract(ended)
      state.held.subtract(lost)
      state.held.formUnion(claimed)
      state.free += places
    }
  }
}
