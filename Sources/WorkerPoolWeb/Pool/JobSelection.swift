import CoreData
import Jobs
import PoolClient

/// Which jobs a page lists, or a change concerns: what stands in its address.
struct JobSelection: Hashable, Sendable {
  var state: String?
  var kind: String?
  var queue: String?
  var batch: String?
  /// A text that stands in the parameters, the unique key, the output or the errors.
  var search: String?
  /// In the syntax of `NSPredicate(format:)`.
  var condition: String?

  init() {}

  init(_ parameters: Parameters) {
    let states = [JobText.runningName] + JobState.allCases.map(\.name)
    state = parameters["state"].flatMap { states.contains($0) ? $0 : nil }
    kind = parameters["kind"]
    queue = parameters["queue"]
    batch = parameters["batch"]
    search = parameters["search"]
    condition = parameters["where"]
  }

  /// Its parts by their names in addresses and forms.
  var parameters: [(String, String?)] {
    [
      ("state", state), ("kind", kind), ("queue", queue), ("batch", batch), ("search", search), ("where", condition),
    ]
  }

  var isEverything: Bool { self == JobSelection() }

  func address(before: Int64? = nil) -> Address {
    Address(path: ["jobs"], query: parameters + [("before", before.map(String.init))])
  }

  /// Whether jobs in one of these states may be among the chosen.
  func mayMatch(_ states: [JobState]) -> Bool {
    guard let state else { return true }
    let stored = state == JobText.runningName ? .available : JobState(name: state)
    return stored.map(states.contains) ?? true
  }

  /// - Throws: ``ObjectQueryError`` for a condition that cannot be read.
  func predicate(running: [NSManagedObjectID]) throws -> NSPredicate? {
    var filter = JobFilter()
    filter.state = state == JobText.runningName ? .available : state.flatMap(JobState.init(name:))
    if filter.state == .available { filter.isRunning = state == JobText.runningName }
    filter.kind = kind
    filter.queue = queue
    filter.batch = batch
    filter.predicate = condition
    var parts = [try filter.condition(running: running)].compactMap(\.self)
    if let search {
      let texts = ["parameters", "uniqueKey", "output", "errors"].map {
        NSPredicate(format: "%K CONTAINS[c] %@", $0, search)
      }
      parts.append(NSCompoundPredicate(orPredicateWithSubpredicates: texts))
    }
    return parts.isEmpty ? nil : NSCompoundPredicate(andPredicateWithSubpredicates: parts)
  }
}
