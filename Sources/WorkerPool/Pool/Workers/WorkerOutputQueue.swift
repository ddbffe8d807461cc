import Synchronization

/// Keeps what workers write, and all that is logged after it, until the end of a turn of the loop: only then is it
/// known which jobs they had begun, since what a worker says on its socket may be read after what it writes to its
/// pipe.
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
