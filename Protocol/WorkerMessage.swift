/// What a save did to the objects that a `SAVED` line names.
public enum SavedChange: String, Sendable, CaseIterable {
  /// They are new.
  case inserted
  /// Some of their values changed.
  case updated
  /// They are gone.
  case deleted
}

/// Why jobs wait for the store, or that the wait is over.
public enum StoreWait: String, Codable, Sendable, CaseIterable {
  /// Another process has the store locked.
  case locked
  /// The disk is full.
  case full
  /// The store cannot be read or written for another reason.
  case failing
  /// The store can be written again.
  case over
}

/// How a job ended whose row the pool writes for its worker.
public enum JobOutcome: String, Sendable, CaseIterable {
  /// The work is done.
  case succeeded
  /// It failed; the job's outcome file says why.
  case failed
}

/// A message of a worker to the coordinator. PROTOCOL.md says when it is sent.
public enum WorkerMessage: Equatable, Sendable {
  /// The first line: the protocol version, and the job kinds that this process runs.
  case hello(version: Int, kinds: [String])
  /// How many jobs the worker will hold at a time, those being run included. Holds until the next `CREDIT`.
  case credit(Int)
  /// These jobs are begun, together: what follows may kill the process.
  case begin([ObjectURI])
  /// A save of the worker changed these objects.
  case saved(SavedChange, [ObjectURI])
  /// These jobs wait for the store: to begin, or to be committed.
  case waiting(StoreWait, [ObjectURI])
  /// How far a job has come, for people to see.
  case progress(ObjectURI, done: Int, total: Int)
  /// These jobs are finished and their rows say so.
  case done([ObjectURI])
  /// The job threw; its row says why and what comes next.
  case failed(ObjectURI)
  /// The job ended in that way, in the run with that number; the pool writes its row. An addition of version 2.1.
  case settle(JobOutcome, ObjectURI, run: Int)
  /// These jobs go back: they have not begun, or were stopped without an effect.
  case returned([ObjectURI])
  /// There may be new jobs in the store.
  case nudge
  /// The answer to `PING`.
  case pong

  /// Reads a line without its newline.
  public init(line: String) throws(MessageError) {
    let line = try MessageLine(line)
    switch line.verb {
    case "HELLO":
      let expected = "a version and one job kind or more"
      guard line.arguments.count >= 2, line.arguments[1...].allSatisfy({ isProtocolName($0) }) else {
        throw line.invalid(expected)
      }
      self = .hello(
        version: try line.counter(at: 0, expected: expected), kinds: line.arguments[1...].map(String.init))
    case "CREDIT":
      guard line.arguments.count == 1 else { throw line.invalid("one number") }
      self = .credit(try line.counter(at: 0, expected: "one number"))
    case "BEGIN": self = .begin(try line.uris())
    case "SAVED":
      let expected = "inserted, updated or deleted, then one object URI or more"
      self = .saved(try line.change(expected: expected), try line.uris(from: 1, expected: expected))
    case "WAITING":
      let expected = "locked, full, failing or over, then one object URI or more"
      guard let word = line.arguments.first, let reason = StoreWait(rawValue: String(word)) else {
        throw line.invalid(expected)
      }
      self = .waiting(reason, try line.uris(from: 1, expected: expected))
    case "PROGRESS":
      let expected = "an object URI and two numbers"
      guard line.arguments.count == 3, let uri = ObjectURI(line.arguments[0]) else {
        throw line.invalid(expected)
      }
      self = .progress(
        uri, done: try line.counter(at: 1, expected: expected), total: try line.counter(at: 2, expected: expected))
    case "DONE": self = .done(try line.uris())
    case "FAILED": self = .failed(try line.singleURI())
    case "SETTLE":
      let expected = "succeeded or failed, an object URI and a number"
      guard line.arguments.count == 3, let outcome = JobOutcome(rawValue: String(line.arguments[0])),
        let uri = ObjectURI(line.arguments[1])
      else { throw line.invalid(expected) }
      self = .settle(outcome, uri, run: try line.counter(at: 2, expected: expected))
    case "RETURNED": self = .returned(try line.uris())
    case "NUDGE":
      try line.expectNone()
      self = .nudge
    case "PONG":
      try line.expectNone()
      self = .pong
    default: throw .unknownVerb(line.verb)
    }
  }

  /// Adds the message as a line, or as several where its URIs exceed the limit of one.
  public func append(to bytes: inout [UInt8]) {
    switch self {
    case .hello(let version, let kinds): bytes.appendLine("HELLO", "\(version)", kinds.joined(separator: " "))
    case .credit(let count): bytes.appendLine("CREDIT", "\(count)")
    case .begin(let uris): bytes.appendLines("BEGIN", uris)
    case .saved(let change, let uris): bytes.appendLines("SAVED \(change.rawValue)", uris)
    case .waiting(let reason, let uris): bytes.appendLines("WAITING \(reason.rawValue)", uris)
    case .progress(let uri, let done, let total):
      bytes.appendLine("PROGRESS", uri.description, "\(done)", "\(total)")
    case .done(let uris): bytes.appendLines("DONE", uris)
    case .failed(let uri): bytes.appendLine("FAILED", uri.description)
    case .settle(let outcome, let uri, let run):
      bytes.appendLine("SETTLE", outcome.rawValue, uri.description, "\(run)")
    case .returned(let uris): bytes.appendLines("RETURNED", uris)
    case .nudge: bytes.appendLine("NUDGE")
    case .pong: bytes.appendLine("PONG")
    }
  }
}
