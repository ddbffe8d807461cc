import Synchronization

/// Keeps what workers write, and all later records of the log, until the end of a turn of the loop. Only then is it
/// known which jobs the workers had begun: a worker's lines on its socket may be read after its output.
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
