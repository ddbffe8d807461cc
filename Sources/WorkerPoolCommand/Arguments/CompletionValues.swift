import Jobs
import PoolClient

/// The values that shells complete: fixed words, and names that a running pool knows.
enum CompletionValues: String, CaseIterable {
  case states, reasons, orders, kinds, queues, jobs

  static let names = allCases.map(\.rawValue).joined(separator: ", ")

  func values(_ arguments: ParsedArguments) throws -> [String] {
    switch self {
    case .states: JobFilter.stateNames
    case .reasons: JobWait.allCases.map(\.rawValue)
    case .orders: JobOrder.allCases.map(\.rawValue)
    case .kinds: try names(arguments) { $0.plugins.flatMap(\.kinds) + ($0.backlog ?? []).map(\.kind) }
    case .queues: try names(arguments) { ($0.backlog ?? []).map(\.queue) + $0.pausedQueues + [JobRequest.defaultQueue] }
    case .jobs: try newestJobs(arguments)
    }
  }

  /// Names of the running pool's status, each once.
  private func names(_ arguments: ParsedArguments, _ body: (PoolStatus) -> [String]) throws -> [String] {
    let status = try arguments.pool().request(StatusRequest(.status, local: true), within: 2).status
    return Set(status.map(body) ?? []).sorted()
  }

  private static let mostJobs = 100

  private func newestJobs(_ arguments: ParsedArguments) throws -> [String] {
    var names: [String] = []
    try StoreReader(poolStore: try arguments.storePath()).jobs(JobFilter(), limit: Self.mostJobs) { job, _ in
      names += [job.objectID.objectURI?.name].compactMap(\.self)
    }
    return names
  }
}
