import Jobs

/// The commands that advice names, as its reader has to type them: with the queue directory, if the reader named one.
public struct AdvisedCommands: Sendable {
  /// Commands that find the pool by themselves.
  public static let plain = AdvisedCommands(queue: nil)

  private let option: String?

  /// - Parameter queue: the queue directory that the reader named; nil for the one that is meant without a name.
  public init(queue: String?) { option = queue.map { "--queue \(ShellWord.quoted($0))" } }

  /// The sentence with the option behind the name of each command in it.
  public func completed(_ sentence: String) -> String {
    guard let option else { return sentence }
    return sentence.replacing(/workerpool (?:cancel|jobs|logs|reload|resume|retry|run|scale|status|stop|workers)\b/) {
      "\($0.output) \(option)"
    }
  }
}
