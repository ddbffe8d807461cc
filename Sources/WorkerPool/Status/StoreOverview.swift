import CoreData
import Jobs
import WorkerProtocol

/// What the store tells those who look.
struct StoreOverview: Equatable, Sendable {
  var backlog: [JobBacklog]?
  var times = JobTimes()
  var rejectedFiles: Int?
}

extension JobSource {
  func look(at ended: [ObjectURI], completion: @escaping @Sendable (StoreOverview) -> Void) {
    completion(StoreOverview())
  }
}

extension StoreJobSource {
  func look(at ended: [ObjectURI], completion: @escaping @Sendable (StoreOverview) -> Void) {
    let context = store.makeContext(name: "overview")
    context.perform { [self] in
      var overview = StoreOverview()
      let keys = ended.compactMap { store.key(jobURI: $0.description) }
      // What cannot be read now is left out; the next look may find it.
      overview.backlog = try? store.backlog(in: context)
      if let times = try? store.times(of: keys, in: context) { overview.times = times }
      overview.rejectedFiles = try? intake.rejected.count()
      completion(overview)
    }
  }
}

extension PoolStatus.Spread {
  /// The percentiles of some times; `nil` for none.
  init?(_ times: [Double]) {
    guard !times.isEmpty else { return nil }
    let sorted = times.sorted()
    func at(_ share: Double) -> Double { sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))] }
    self.init(median: at(0.5), p90: at(0.9), p99: at(0.99), longest: sorted[sorted.count - 1])
  }
}
