import CoreData
import Foundation
import Jobs
import LinuxSystem
import Synchronization
import WorkerProtocol

/// The rates of kinds in a store that pools share, and when the other pools are told what has begun here.
final class SharedRates: Sendable {
  /// Beginnings of a twentieth of the period are told together, or those of a second.
  private static let steps = 20.0
  private static let longestDelay = 1.0
  /// Seconds after which a pool looks whether its claims still hold the places that they have not begun.
  static let checkDelay = 5.0

  private struct State {
    var rates: [String: PoolRate] = [:]
    /// When the others are told next, by the monotonic clock.
    var times: [String: Double] = [:]
  }

  private let state = Mutex(State())

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
      let known = state.rates[kind] ?? PoolRate(rate)
      known.rate = rate
      state.rates[kind] = known
      return known
    }
  }

  /// Seconds within which the others are told of a beginning.
  static func delay(_ rate: JobRate) -> Double { min(longestDelay, rate.period / steps) }

  /// Notes that the others are told at that time. Returns whether they would be told later without that.
  func plan(_ kind: String, at time: Double) -> Bool {
    state.withLock { state in
      if let planned = state.times[kind], planned <= time { return false }
      state.times[kind] = time
      return true
    }
  }

  /// Ends the plan to tell the others at that time. Returns false if another time is planned now.
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
    guard membership != nil, let rate = rates.rate(of: kind) else { return }
    rate.begin(jobs)
    tellBeginnings(of: kind, after: SharedRates.delay(rate.rate))
  }

  /// Tells the other pools what has begun here, with what else begins until then.
  func tellBeginnings(of kind: String, after seconds: Double) {
    guard rates.rate(of: kind) != nil else { return }
    let time = Clock.now + seconds
    guard rates.plan(kind, at: time) else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [weak self] in
      guard let self, rates.takePlan(kind, at: time) else { return }
      work { [self] context in
        try tellBeginnings(of: kind, context)
      } onFailure: { [self] error in
        report(.trouble("the store: \(ErrorText.text(error))"))
        tellBeginnings(of: kind, after: SharedRates.checkDelay)
      }
    }
  }

  /// Tells them now. While jobs of this pool hold places it looks again later: what was cancelled gives its place back.
  func tellBeginnings(of kind: String, _ context: NSManagedObjectContext) throws {
    guard let membership, let rate = rates.rate(of: kind) else { return }
    let isHolding = try store.tellBeginnings(rate, of: kind, for: membership.member.identity, in: context)
    if isHolding { tellBeginnings(of: kind, after: SharedRates.checkDelay) }
  }

  // MARK: In a store that no other pool uses

  func findBeginnings(of kind: String, within period: Double, atMost count: Int) {
    work { [self] context in
      let now = Date()
      let since = now.addingTimeInterval(-period)
      let lost = lostBeginnings.withLock { $0[kind] ?? [] }.filter { $0 > since }
      let times = try store.beginnings(of: kind, since: since, atMost: count, in: context) + lost
      let ages = times.sorted().suffix(count).map { max(0, now.timeIntervalSince($0)) }
      report(.beginnings(of: kind, ages: ages))
    } onFailure: { [self] error in
      // The pool goes on, with the full rate.
      report(.trouble("the store: \(ErrorText.text(error))"))
      report(.beginnings(of: kind, ages: []))
    }
  }
}
