import Jobs
import WorkerProtocol

/// Keeps `RUN` from workers whose jobs the pool settles until the sheets of the jobs are written, and all later
/// messages to such a worker behind it: what the coordinator says arrives in its order.
struct SheetedMessages {
  private enum Entry {
    case message(CoordinatorMessage)
    /// A `RUN` whose sheets are being written.
    case run([ObjectURI])
  }

  private var waiting: [WorkerID: [Entry]] = [:]

  var isEmpty: Bool { waiting.isEmpty }

  /// Whether a message to the worker has to wait behind another one; then it is kept.
  mutating func keeps(_ message: CoordinatorMessage, to id: WorkerID) -> Bool {
    guard waiting[id] != nil else { return false }
    waiting[id]?.append(.message(message))
    return true
  }

  /// Keeps a `RUN` until its sheets are written.
  mutating func keep(run uris: [ObjectURI], to id: WorkerID) { waiting[id, default: []].append(.run(uris)) }

  /// The sheets of the worker's first `RUN` are written: returns its jobs, and the messages that waited behind it. Nil
  /// when the worker is gone.
  mutating func release(_ id: WorkerID) -> (run: [ObjectURI], then: [CoordinatorMessage])? {
    guard var entries = waiting[id], case .run(let uris)? = entries.first else { return nil }
    entries.removeFirst()
    var messages: [CoordinatorMessage] = []
    while case .message(let message)? = entries.first {
      messages.append(message)
      entries.removeFirst()
    }
    waiting[id] = entries.isEmpty ? nil : entries
    return (uris, messages)
  }

  mutating func forget(_ id: WorkerID) { waiting[id] = nil }
}
