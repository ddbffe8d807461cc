import WorkerProtocol

/// Why jobs wait for the store, in words: long ones for a story, short ones for a table. A worker that cannot begin or
/// save a job reports the reason (`StoreWait`), and reports `over` when it can again.
package enum StoreWaitText {
  /// The reason in a sentence. Nil where they do not wait any more.
  package static func text(_ reason: StoreWait) -> String? {
    switch reason {
    case .locked: "another process has the store locked"
    case .full: "the disk of the store is full"
    case .failing: "the store cannot be read or written; the worker's output says why"
    case .over: nil
    }
  }

  /// The same in a few words, for a column of a table.
  static func short(_ reason: StoreWait) -> String? {
    switch reason {
    case .locked: "store locked"
    case .full: "disk full"
    case .failing: "store fails"
    case .over: nil
    }
  }
}
