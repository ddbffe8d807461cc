/// The texts of `--help`.
enum Help {
  static func overview(_ commands: [CommandDescription]) -> String {
    """
    workerpool runs heavy jobs on a Core Data store in processes of their own.

    Usage: workerpool COMMAND [options]

    Commands:
    \(table(commands.map { ($0.name, $0.summary) }))

    `workerpool COMMAND --help` says more about each, `workerpool --version` which version this is.

    Exit codes:
    \(table(ExitCode.allCases.map { ("\($0.rawValue)", $0.meaning) }))

    """
  }

  static func text(for command: CommandDescription) -> String {
    var synopsis = "workerpool \(command.name)"
    if !command.options.isEmpty { synopsis += " [options]" }
    for operand in command.operands { synopsis += " \(operand.synopsis)" }
    var text = "\(command.summary).\n\nUsage: \(synopsis)\n"
    if !command.discussion.isEmpty { text += "\n\(command.discussion)\n" }
    if !command.operands.isEmpty { text += "\n\(table(command.operands.map { ($0.name, $0.help) }))\n" }
    let options = command.options.map { option in
      (
        (option.short.map { "-\($0), " } ?? "") + "--\(option.name)" + (option.value.map { " \($0)" } ?? ""),
        option.help + (option.defaultText.map { " (default: \($0))" } ?? "")
      )
    }
    text += "\nOptions:\n\(table(options + [("--help", "show this")]))\n"
    return text
  }

  /// Two columns; the second is wrapped at 100 characters.
  private static func table(_ rows: [(String, String)]) -> String {
    let width = min(30, rows.map(\.0.count).max() ?? 0)
    return rows.map { first, second in
      let head = "  " + first.padding(toLength: max(width, first.count), withPad: " ", startingAt: 0) + "  "
      let indent = String(repeating: " ", count: width + 4)
      var lines: [String] = []
      for word in second.split(separator: " ") {
        if let last = lines.last, last.count + word.count < 96 - width {
          lines[lines.count - 1] = last + " " + word
        } else {
          lines.append(String(word))
        }
      }
      return head + lines.joined(separator: "\n" + indent)
    }.joined(separator: "\n")
  }
}
