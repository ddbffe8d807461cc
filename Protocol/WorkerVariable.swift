/// The environment variables in which a worker process finds what the pool tells it: see PROTOCOL.md.
public enum WorkerVariable: String, CaseIterable, Sendable {
  /// The number of the inherited descriptor that is the connection to the pool.
  case connection = "WORKERPOOL_CONNECTION"
  /// The version of the protocol that the pool speaks, and the number of its additions, such as "2.1".
  case protocolEdition = "WORKERPOOL_PROTOCOL"
  /// The worker's own process ID. Processes that it starts inherit the variable, and have other process IDs.
  case pid = "WORKERPOOL_PID"
  /// The identity of the pool. Processes that the worker starts inherit the variable.
  case pool = "WORKERPOOL_POOL"
  /// The path of the queue directory, absolute.
  case queue = "WORKERPOOL_QUEUE"
  /// The directory of the files with jobs, for plugins whose jobs the pool settles; absolute.
  case jobs = "WORKERPOOL_JOBS"
  /// The path of the store, absolute.
  case store = "WORKERPOOL_STORE"
  /// The store's file by device and inode, so that a replaced file is noticed.
  case storeID = "WORKERPOOL_STORE_ID"
  /// The path of the model, absolute.
  case model = "WORKERPOOL_MODEL"
  /// Seconds that a job may go on after the pool's death.
  case orphanDeadline = "WORKERPOOL_ORPHAN_DEADLINE"
  /// The file by whose lock the pool's processes take turns at writing.
  case writeTurn = "WORKERPOOL_WRITE_TURN"
  /// Kinds of jobs whose changes are kept with their saves, with commas between them; not set for none.
  case keepChanges = "WORKERPOOL_KEEP_CHANGES"
}

extension [String: String] {
  /// The value of a variable in an environment.
  public subscript(variable: WorkerVariable) -> String? {
    get { self[variable.rawValue] }
    set { self[variable.rawValue] = newValue }
  }
}
