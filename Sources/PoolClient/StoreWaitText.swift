import WorkerProtocol

/// Why jobs wait for the store, for people. A worker reports the reason in its protocol (`StoreWait`) when it cannot
/// begin or save a job, and that it is over when it can; here stand the words for it, long for a story and short for a
/// table.
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
