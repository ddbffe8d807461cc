import CoreData
import Foundation
import Jobs
import LinuxSystem
import Synchronization
import WorkerProtocol

/// The rates of kinds as the store keeps them, and when it is told what has begun here.
final class StoredRates: Sendable {
  /// Beginnings of a twentieth of the period are told together, or those of a second.
  private static let steps = 20.0
  private static let longestDelay = 1.0
  /// Seconds after which a pool looks whether its claims still hold the places that they have not begun.
  static let checkDelay = 5.0
  /// Seconds until places are asked for again after the store could not be written, or when jobs that have not begun
  /// have all of them.
  static let retryDelay = 1.0

  private let hasClaims: Bool
  /// The identity under which a pool holds places in a store that it shares with nobody.
  let member = Int64.random(in: 1 ... .max)

  private struct State {
    var rates: [String: PoolRate] = [:]
    /// When the store is told next, by the monotonic clock.
    var times: [String: Double] = [:]
  }

  private let state = Mutex(State())

  /// - Parameter hasClaims: whether jobs are claimed, in a store that pools share.
  init(hasClaims: Bool) { self.hasClaims = hasClaims }

  /// The kinds that have a rate.
  var kinds: [String] { state.withLock { $0.rates.keys.sorted() } }

  /// What is known of a kind's rate; nil if it has none.
  func rate(of kind: String) -> PoolRate? { state.withLock { $0.rates[kind] } }

  /// Takes over a kind's rate, nil for none.
  func rate(of kind: String, _ rate: JobRate?) -> PoolRate? {
    state.withLock { state in
      guard let rate else {
        state.rates[kind] = nil
        return nil
      }
      let poolRate = state.rates[kind] ?? PoolRate(rate, hasClaims: hasClaims)
      poolRate.rate = rate
      state.rates[kind] = poolRate
      return poolRate
    }
  }

  /// Seconds within which the store is told of a beginning.
  static func delay(_ rate: JobRate) -> Double { min(longestDelay, rate.period / steps) }

  /// Notes that the store is told at that time. Returns whether it would be told later without that.
  func plan(_ kind: String, at time: Double) -> Bool {
    state.withLock { state in
      if let planned = state.times[kind], planned <= time { return false }
      state.times[kind] = time
      return true
    }
  }

  /// Ends the plan to tell the store at that time. Returns false if another time is planned now.
  func takePlan(_ kind: String, at time: Double) -> Bool {
    state.withLock { state in
      guard state.times[kind] == time else { return false }
      state.times[kind] = nil
      return true
    }
  }
}

extension StoreJobSource {
  func noteBeginnings(_ jobs: [JobKey], of kind: String) {
    guard let rate = rates.rate(of: kind) else { return }
    rate.begin(jobs)
    tellBeginnings(of: kind, after: StoredRates.delay(rate.rate))
  }

  func takeBackBeginning(of job: JobKey, _ kind: String, at time: Double) {
    guard let rate = rates.rate(of: kind) else { return }
    rate.takeBack(job, from: time)
    tellBeginnings(of: kind, after: StoredRates.delay(rate.rate))
  }

  /// Tells the store, after this number of seconds, all beginnings that it has not been told by then.
  func tellBeginnings(of kind: String, after seconds: Double) {
    guard rates.rate(of: kind) != nil else { return }
    let time = Clock.now + seconds
    guard rates.plan(kind, at: time) else { return }
    DispatchTimers.after(seconds) { [weak self] in
      guard let self, rates.takePlan(kind, at: time) else { return }
      work(on: ratesContext) { [self] context in
        try tellBeginnings(of: kind, context)
      } onFailure: { [self] error in
        report(.trouble("the store: \(ErrorText.text(error))"))
        tellBeginnings(of: kind, after: StoredRates.checkDelay)
      }
    }
  }

  /// Tells it now. While claimed jobs of this pool hold places it looks again later: what was cancelled gives its place
  /// back.
  func tellBeginnings(of kind: String, _ context: NSManagedObjectContext) throws {
    guard let rate = rates.rate(of: kind) else { return }
    let member = membership?.member.identity ?? rates.member
    let isHolding = try store.tellBeginnings(rate, of: kind, for: member, in: context)
    if isHolding { tellBeginnings(of: kind, after: StoredRates.checkDelay) }
  }

  // MARK: In a store that no other pool uses

  func takePlaces(_ count: Int, of kind: String, _ rate: JobRate) {
    guard let pool = rates.rate(of: kind, rate) else { return }
    if count == 0 { pool.forgetDebt() }
    work(on: ratesContext) { [self] context in
      let taken = try store.takePlaces(count, of: kind, pool, for: rates.member, in: context)
      let isShort = taken.count < count
      report(
        .tookPlaces(
          of: kind, taken.count, retryAfter: taken.retryAfter ?? (isShort ? StoredRates.retryDelay : nil)))
    } onFailure: { [report] error in
      report(.trouble("no job of the kind \(kind) begins: its rate cannot be written: \(ErrorText.text(error))"))
      report(.tookPlaces(of: kind, 0, retryAfter: StoredRates.retryDelay))
    }
  }

  /// Gives back the places that no job has begun in, when all workers are gone.
  func giveUpPlaces() {
    guard let ratesContext else { return }
    ratesContext.performAndWait {
      for kind in rates.kinds {
        rates.rate(of: kind)?.giveUpPlaces()
        // If this fails, the places count as begun in the next pool: the rate is kept.
        try? tellBeginnings(of: kind, ratesContext)
      }
    }
  }
}
