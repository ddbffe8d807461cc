/// Why the coordinator closes a connection after `HELLO`.
public enum Refusal: String, Error, Sendable, CaseIterable {
  /// The version is not one that this coordinator speaks.
  case version
  /// What was sent is not a message, or not one for this moment.
  case message
}

/// A message of the coordinator to a worker. PROTOCOL.md says when it is sent.
public enum CoordinatorMessage: Equatable, Sendable {
  /// The answer to a good `HELLO`: the version that both speak from here on.
  case welcome(version: Int)
  /// The connection is about to be closed, and why; then the lowest and highest version that would be accepted.
  case refused(Refusal, lowest: Int, highest: Int)
  /// Run these jobs, in this order.
  case run([ObjectURI])
  /// Give the job back if it is not begun; otherwise ask it to stop.
  case cancel(ObjectURI)
  /// Give back up to this many jobs that have not begun, the last ones first.
  case recall(Int)
  /// Another worker's save changed these objects.
  case saved(SavedChange, [ObjectURI])
  /// Say `PONG`, also while a job runs. Only for workers whose description says that they can.
  case ping
  /// Give back the jobs that have not begun, finish the others, then close the connection and exit.
  case drain

  /// Reads a line without its newline.
  public init(line: String) throws(MessageError) {
    let line = try MessageLine(line)
    switch line.verb {
    case "WELCOME":
      guard line.arguments.count == 1 else { throw line.invalid("a version") }
      self = .welcome(version: try line.counter(at: 0, expected: "a version"))
    case "REFUSED":
      let expected = "version or message, then two versions"
      guard line.arguments.count == 3, let refusal = Refusal(rawValue: String(line.arguments[0])) else {
        throw line.invalid(expected)
      }
      self = .refused(
        refusal, lowest: try line.counter(at: 1, expected: expected),
        highest: try line.counter(at: 2, expected: expected))
    case "RUN": self = .run(try line.uris())
    case "CANCEL": self = .cancel(try line.singleURI())
    case "RECALL":
      guard line.arguments.count == 1 else { throw line.invalid("one number") }
      self = .recall(try line.counter(at: 0, expected: "one number"))
    case "SAVED":
      let expected = "inserted, updated or deleted, then one object URI or more"
      self = .saved(try line.change(expected: expected), try line.uris(from: 1, expected: expected))
    case "PING":
      try line.expectNone()
      self = .ping
    case "DRAIN":
      try line.expectNone()
      self = .drain
    default: throw .unknownVerb(line.verb)
    }
  }

  /// Adds the message as a line, or as several where its URIs exceed the limit of one.
  public func append(to bytes: inout [UInt8]) {
    switch self {
    case .welcome(let version): bytes.appendLine("WELCOME", "\(version)")
    case .refused(let refusal, let lowest, let highest):
      bytes.appendLine("REFUSED", refusal.rawValue, "\(lowest)", "\(highest)")
    case .run(let uris): bytes.appendLines("RUN", uris)
    case .cancel(let uri): bytes.appendLine("CANCEL", uri.description)
    case .recall(let count): bytes.appendLine("RECALL", "\(count)")
    case .saved(let change, let uris): bytes.appendLines("SAVED \(change.rawValue)", uris)
    case .ping: bytes.appendLine("PING")
    case .drain: bytes.appendLine("DRAIN")
    }
  }
}
