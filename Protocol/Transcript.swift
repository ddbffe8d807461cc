/// A conversation read back from a recording or from `Vectors/`.
///
/// Lines start with `> ` (the coordinator said), `< ` (the worker said), `@ ` (something happened inside one side that
/// brings about the next lines; only in vectors) or `#` (a remark). Empty lines are skipped.
public struct Transcript: Equatable, Sendable {
  /// One step.
  public enum Step: Equatable, Sendable {
    /// A line that the coordinator said.
    case coordinator(String)
    /// A line that the worker said.
    case worker(String)
    /// A happening: the side, then words that the replaying test understands.
    case event([String])
  }

  /// A line that starts with none of the four marks; its number counts from 1.
  public struct InvalidLine: Error, Equatable, Sendable {
    /// The number of the line, from 1.
    public let number: Int
  }

  /// The steps in the order of the text.
  public let steps: [Step]

  /// Reads the text of a recording.
  public init(_ text: String) throws(InvalidLine) {
    var steps: [Step] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if line.isEmpty || line.hasPrefix("#") { continue }
      let content = String(line.dropFirst(2))
      switch line.prefix(2) {
      case "> ": steps.append(.coordinator(content))
      case "< ": steps.append(.worker(content))
      case "@ ": steps.append(.event(content.split(separator: " ").map(String.init)))
      default: throw InvalidLine(number: index + 1)
      }
    }
    self.steps = steps
  }
}
