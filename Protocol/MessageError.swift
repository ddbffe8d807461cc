/// Why a line is not a message. None of these carries more of the line than its verb: a line may hold a token.
public enum MessageError: Error, Equatable, Sendable, CustomStringConvertible {
  /// No newline within the limit.
  case lineTooLong(limit: Int)
  /// The bytes are not UTF-8.
  case invalidUTF8
  /// A line without a verb, or with two spaces in a row, or a space at its end.
  case malformedLine
  /// A verb that this version does not have.
  case unknownVerb(String)
  /// The verb's arguments are too few, too many or not of the right form.
  case invalidArguments(verb: String, expected: String)

  /// What is wrong with the line, without its arguments.
  public var description: String {
    switch self {
    case .lineTooLong(let limit): "a line is longer than \(limit) bytes"
    case .invalidUTF8: "a line is not UTF-8"
    case .malformedLine: "a line is empty or has an empty argument"
    case .unknownVerb(let verb): "the verb \(verb) does not exist in protocol version \(ProtocolVersion.current)"
    case .invalidArguments(let verb, let expected): "\(verb) takes \(expected)"
    }
  }
}
