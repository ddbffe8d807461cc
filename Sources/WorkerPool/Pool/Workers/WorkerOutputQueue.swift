import Synchronization

/// Keeps what workers write, and all that is logged after it, until the end of a turn of the loop: only then is it known which jobs
/// they had begun, since what a worker says on its socket may be read after what it writes to its pipe.
final class WorkerOutputQueue: Sendable {
  private let records = Mutex<[LogRecord]>([])

  /// Whether the record waits for the end of the turn.
  func keeps(_ record: LogRecord) -> Bool {
    records.withLock { records in
      guard record.event == .workerOutput || !records.isEmpty else { return false }
      records.append(record)
      return true
    }
  }

  /// Takes all that waits, in its order.
  func takeAll() -> [LogRecord] {
    records.withLock { records in
      defer { records = [] }
      return records
    }
  }
}

extension PoolServer {
  /// Writes what workers have written in this turn, with the jobs that they ran.
  func logOutput() {
    for var record in output.takeAll() {
      for case .worker(let number) in record.fields where record.event == .workerOutput {
        let id = WorkerID(number: number)
        let jobs = Set(endedInTurn[id] ?? []).union(coordinator.workers[id]?.begun ?? [])
        if !jobs.isEmpty { record.fields.append(.jobs(coordinator.jobURIs.texts(jobs).sorted())) }
      }
      configuration.log(record)
    }
    if !endedInTurn.isEmpty { endedInTurn = [:] }
  }
}
