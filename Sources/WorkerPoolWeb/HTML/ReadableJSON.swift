import Jobs

/// The text of a JSON object as people read it.
enum ReadableJSON {
  /// A member on each line, and texts of several lines in their lines; a text that is no object stays as it is.
  static func text(_ text: String) -> String {
    // A text that is no JSON stays as it is.
    guard case .object(let members)? = try? JSONParser.parse(text), !members.isEmpty else { return text }
    return members.map { "\($0.name):\(value($0.value))" }.joined(separator: "\n")
  }

  private static func value(_ value: JSONValue) -> String {
    guard case .string(let text) = value, text.contains(where: \.isNewline) else { return " " + value.text }
    var lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines.map { "\n  \($0)" }.joined()
  }
}
