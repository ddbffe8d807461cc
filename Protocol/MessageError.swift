/// Why a line is not a message. None of these carries more of the line than its verb: it may be private.
public enum MessageError: Error, Equatable, Sendable, CustomStringConvertible {
  /// No newline within the limit.
  case lineTooLong(limit: Int)
  /// The bytes are not UTF-8.
  case invalidUTF8
  /// A line without a verb, or with two spaces in a row, or a space at its end.
  case malformedLine
  /// A line ends with a carriage return, as lines of Windows do.
  case carriageReturn
  /// Another message stands where a `HELLO` must.
  case noHello(verb: String)
  /// A verb that this version does not have.
  case unknownVerb(String)
  /// `SETTLE` of a plugin whose `describe` does not say that the pool settles its jobs.
  case notSettledByPool
  /// The verb's arguments are too few, too many or not of the right form.
  case invalidArguments(verb: String, expected: String)

  /// Characters of an unknown verb that are shown; it may be as long as a line.
  private static let shownCharacters = 40

  /// What is wrong with the line, without its arguments.
  public var description: String {
    switch self {
    case .lineTooLong(let limit): "a line is longer than \(limit) bytes"
    case .invalidUTF8: "a line is not UTF-8"
    case .malformedLine: "a line is empty or has an empty argument"
    case .carriageReturn: "a line ends with a carriage return; lines end with a newline alone"
    case .noHello(let verb): "its first line must be HELLO, not \(verb)"
    case .unknownVerb(let verb):
      "the verb \(verb.prefix(Self.shownCharacters)) does not exist in protocol version \(ProtocolVersion.current)"
        + (verb == verb.uppercased() ? "" : "; verbs are written in capitals")
    case .notSettledByPool: "SETTLE needs \"settledByPool\": true in describe"
    case .invalidArguments(let verb, let expected): "\(verb) takes \(expected)"
    }
  }
}
