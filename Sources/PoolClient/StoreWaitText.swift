import WorkerProtocol

/// Why jobs wait for the store, for people.
package enum StoreWaitText {
  /// Nil where they do not wait any more.
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
