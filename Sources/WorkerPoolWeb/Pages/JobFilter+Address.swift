import Foundation
import Jobs
import PoolClient

/// Which jobs a page lists, or a change concerns, as it stands in the page's address.
extension JobFilter {
  init(_ parameters: Parameters) {
    self.init()
    stateName = parameters["state"]
    kind = parameters["kind"]
    queue = parameters["queue"]
    batch = parameters["batch"]
    tag = parameters["tag"]
    from = parameters["from"].map(Self.time)
    to = parameters["to"].map { Self.time($0, otherwise: .distantPast) }
    error = parameters["error"]
    wait = parameters["waits-for"].flatMap(JobWait.init)
    search = parameters["search"]
    predicate = parameters["where"]
  }

  /// Its parts by their names in addresses and forms. Times are in UTC, so that an address means the same to everybody.
  var parameters: [(String, String?)] {
    [
      ("state", stateName), ("kind", kind), ("queue", queue), ("batch", batch), ("tag", tag),
      ("from", from.map(Timestamp.text)), ("to", to.map(Timestamp.text)), ("error", error),
      ("waits-for", wait?.rawValue), ("search", search), ("where", predicate),
    ]
  }

  func address() -> Address { JobList(filter: self).address }

  private static func time(_ text: String) -> Date { time(text, otherwise: .distantFuture) }

  /// The time of a text; a browser without scripts leaves out the seconds and the zone, which then is UTC. A text that
  /// is no time chooses no job, rather than all.
  private static func time(_ text: String, otherwise unreadable: Date) -> Date {
    Timestamp.date(text) ?? Timestamp.date(text + "Z") ?? Timestamp.date(text + ":00Z") ?? unreadable
  }
}

/// A list of jobs as it stands in its page's address: which jobs, in which order, and from where on.
struct JobList {
  var filter = JobFilter()
  var order = JobOrder.newest
  /// In the order of arrival, only jobs older than the one with this key.
  var before: Int64?
  /// In another order, how many jobs the pages before have shown.
  var skipped = 0

  init(filter: JobFilter, order: JobOrder = .newest) {
    self.filter = filter
    // Errors are compared job by job, from the newest on.
    self.order = filter.error == nil ? order : .newest
  }

  init(_ parameters: Parameters) {
    self.init(filter: JobFilter(parameters), order: parameters["sort"].flatMap(JobOrder.init) ?? .newest)
    if order == .newest {
      before = parameters["before"].flatMap(Int64.init)
    } else {
      skipped = min(max(0, parameters["skip"].flatMap(Int.init) ?? 0), Self.mostSkipped)
    }
  }

  /// Nobody looks at more pages than these.
  private static let mostSkipped = 1_000_000

  /// Whether an index has the order, or is the order: otherwise all jobs that fit would be read for each page.
  var hasIndex: Bool {
    switch order {
    case .newest, .oldest: true
    case .finished: filter.state.map { !$0.isUnfinished } ?? false
    case .priority, .attempts, .crashes, .started: false
    }
  }

  /// Whether it begins with the first job.
  var isFirstPage: Bool { before == nil && skipped == 0 }

  /// The part of its address that names its order.
  var orderParameters: [(String, String?)] { [("sort", order == .newest ? nil : order.rawValue)] }

  var address: Address {
    let place = [("before", before.map(String.init)), ("skip", skipped == 0 ? nil : String(skipped))]
    return Address(path: ["jobs"], query: filter.parameters + orderParameters + place)
  }
}
