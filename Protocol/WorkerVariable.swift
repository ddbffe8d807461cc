/// The environment variables in which a worker process finds what the pool tells it: see PROTOCOL.md.
public enum WorkerVariable: String, CaseIterable, Sendable {
  case socket = "WORKERPOOL_SOCKET"
  case token = "WORKERPOOL_TOKEN"
  case protocolEdition = "WORKERPOOL_PROTOCOL"
  /// The worker's own process ID. What it starts inherits the variable, and has another process ID.
  case pid = "WORKERPOOL_PID"
  /// The identity of the pool. What the worker starts inherits the variable.
  case pool = "WORKERPOOL_POOL"
  case queue = "WORKERPOOL_QUEUE"
  case store = "WORKERPOOL_STORE"
  case storeID = "WORKERPOOL_STORE_ID"
  case model = "WORKERPOOL_MODEL"
  case orphanDeadline = "WORKERPOOL_ORPHAN_DEADLINE"
  case writeTurn = "WORKERPOOL_WRITE_TURN"
}

extension [String: String] {
  /// The value of a variable in an environment.
  public subscript(variable: WorkerVariable) -> String? {
    get { self[variable.rawValue] }
    set { self[variable.rawValue] = newValue }
  }
}
