import Foundation
import LinuxSystem
import PoolClient
import Synchronization

/// Asks the pool for its status again and again, on a thread of its own: a pool that is down or silent delays no page.
final class PoolWatch: Sendable {
  /// What was last heard of the pool.
  struct News: Sendable {
    /// The last status; nil as long as no pool has answered.
    var status: PoolStatus?
    /// Why the pool does not answer now; nil while it does.
    var problem: String?
    /// When the pool was asked last.
    var date = Date.distantPast
    var isRunning: Bool { problem == nil && status != nil }
  }

  private struct State {
    var news = News()
    var history = PoolHistory()
    var spans = WorkerSpans()
    var rounds = 0
    var lastLook = -Double.infinity
  }

  private let queue: String
  private let state = Mutex(State())
  private let wake = DispatchSemaphore(value: 0)
  private let answered = NSCondition()

  /// Seconds between two requests to the pool while a page is open, and while none is.
  private static let interval = (watched: 2.0, alone: 10.0)
  /// Seconds between two samples at most, while the pool answers at once.
  static let longestPause = 12.0
  /// Seconds after which nobody looks any more.
  private static let lookEnds = 30.0
  /// Seconds that the pool gets for an answer.
  private static let patience = 10.0

  init(queue: String) { self.queue = queue }

  /// Starts to ask; called once. Returns when the pool has answered, or is known to be down.
  func start() {
    Thread.detachNewThread { [self] in
      var client: StatusClient?
      while true {
        ask(&client)
        let isWatched = state.withLock { Clock.now - $0.lastLook < Self.lookEnds }
        _ = wake.wait(timeout: .now() + (isWatched ? Self.interval.watched : Self.interval.alone))
      }
    }
    waitForRound(after: 0, within: 2)
  }

  /// The latest state of the pool, for a page that is open.
  var news: News {
    let (news, wasAlone) = state.withLock { state in
      let wasAlone = Clock.now - state.lastLook > Self.lookEnds
      state.lastLook = Clock.now
      return (state.news, wasAlone)
    }
    if !wasAlone { return news }
    askNow()
    return state.withLock { $0.news }
  }

  /// What was heard over the last days.
  var history: PoolHistory { state.withLock { $0.history } }

  /// What each worker ran in the last minutes.
  var spans: WorkerSpans { state.withLock { $0.spans } }

  /// Asks the pool, and waits a moment for its answer: after a change.
  func askNow() {
    let rounds = state.withLock { $0.rounds }
    wake.signal()
    waitForRound(after: rounds, within: 1)
  }

  private func waitForRound(after rounds: Int, within seconds: Double) {
    let end = Date(timeIntervalSinceNow: seconds)
    answered.lock()
    defer { answered.unlock() }
    while state.withLock({ $0.rounds }) <= rounds, answered.wait(until: end) {}
  }

  private func ask(_ client: inout StatusClient?) {
    var heard: PoolStatus?
    var problem: String?
    do throws(StatusClient.Failure) {
      let pool: StatusClient
      if let client { pool = client } else { pool = try StatusClient(queue: queue) }
      client = pool
      let reply = try pool.request(StatusRequest(.status), within: Self.patience)
      heard = reply.status
      if heard == nil { problem = reply.error ?? "the pool sent no status" }
    } catch {
      client = nil
      problem = "\(error)"
    }
    state.withLock { state in
      state.news.problem = problem
      state.news.date = Date()
      if let heard {
        state.news.status = heard
        state.history.add(heard, at: state.news.date)
        state.spans.add(heard, at: state.news.date)
      }
      state.rounds += 1
    }
    answered.lock()
    answered.broadcast()
    answered.unlock()
  }
}

/// Queue depth, memory and processor use as they were, since this program runs: every few seconds for an hour, every two
/// minutes for a week.
struct PoolHistory: Sendable {
  struct Sample: Sendable {
    var date: Date
    /// Jobs that could run now and do not.
    var waiting: Double
    /// Jobs that wait for a time.
    var later: Double
    var running: Double
    /// Bytes of all workers.
    var memory: Double
    /// Processors that the workers kept busy since the sample before.
    var processors: Double
  }

  private var fine: [Sample] = []
  private var coarse: [Sample] = []
  private var times: [Int32: Double] = [:]
  private var last: Date?

  private static let fineStep = 4.0
  private static let fineLength = 3600.0
  private static let coarseStep = 120.0
  private static let coarseLength = 7 * 86_400.0

  /// The samples since a time, in their order.
  func samples(since start: Date) -> [Sample] {
    let covered = fine.first?.date ?? .distantFuture
    return coarse.filter { $0.date >= start && $0.date < covered } + fine.filter { $0.date >= start }
  }

  mutating func add(_ status: PoolStatus, at date: Date) {
    if let last, date.timeIntervalSince(last) < Self.fineStep / 2 { return }
    var processors = 0.0
    var times: [Int32: Double] = [:]
    for worker in status.workers {
      guard let time = worker.processorTime else { continue }
      times[worker.pid] = time
      // A worker that is new has used its time since the last look.
      processors += max(0, time - (self.times[worker.pid] ?? min(time, 0)))
    }
    let seconds = last.map { date.timeIntervalSince($0) } ?? 0
    let isFirst = last == nil
    self.times = times
    last = date
    let jobs = status.jobs ?? [:]
    let sample = Sample(
      date: date, waiting: Double(jobs["available"] ?? 0),
      later: Double((jobs["scheduled"] ?? 0) + (jobs["retryable"] ?? 0) + (jobs["blocked"] ?? 0)),
      running: Double(jobs["running"] ?? 0), memory: Double(status.workers.reduce(0) { $0 + ($1.memory ?? 0) }),
      processors: isFirst || seconds <= 0 ? 0 : processors / seconds)
    // Without a count of the jobs there is no depth to remember.
    guard status.jobs != nil else { return }
    if fine.last.map({ date.timeIntervalSince($0.date) >= Self.fineStep }) ?? true { fine.append(sample) }
    if coarse.last.map({ date.timeIntervalSince($0.date) >= Self.coarseStep }) ?? true { coarse.append(sample) }
    Self.forget(&fine, before: date - Self.fineLength)
    Self.forget(&coarse, before: date - Self.coarseLength)
  }

  private static func forget(_ samples: inout [Sample], before date: Date) {
    if let kept = samples.firstIndex(where: { $0.date >= date }), kept > 0 { samples.removeFirst(kept) }
  }
}

/// What workers ran, as far as it was seen: a job that is shorter than the time between two looks may be missing.
struct WorkerSpans: Sendable {
  struct Span: Sendable {
    var worker: Int
    var job: String
    var start: Date
    var end: Date
    var isOpen: Bool
  }

  private(set) var spans: [Span] = []

  /// For how long spans are kept, in seconds.
  static let length = 900.0
  private static let most = 2000

  mutating func add(_ status: PoolStatus, at date: Date) {
    var running: [String: (worker: Int, busy: Double)] = [:]
    for worker in status.workers {
      for job in worker.running { running[job] = (worker.id, worker.busy ?? 0) }
    }
    for index in spans.indices where spans[index].isOpen {
      spans[index].end = date
      if running[spans[index].job]?.worker == spans[index].worker {
        running[spans[index].job] = nil
      } else {
        spans[index].isOpen = false
      }
    }
    for (job, run) in running {
      spans.append(Span(worker: run.worker, job: job, start: date - run.busy, end: date, isOpen: true))
    }
    spans.removeAll { $0.end < date - Self.length }
    if spans.count > Self.most { spans.removeFirst(spans.count - Self.most) }
  }
}
