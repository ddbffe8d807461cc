import WorkerProtocol

/// Manual pages in the macros of man(7), made from the descriptions of the commands.
enum ManualPage {
  /// `workerpool(1)`: what it is, the commands, the exit codes.
  static func overview(_ commands: [CommandDescription]) -> String {
    var page = head("workerpool", "run heavy jobs on a Core Data store in processes of their own")
    page += section("SYNOPSIS") + ".B workerpool\n.I COMMAND\n[options]\n"
    page += section("COMMANDS")
    for command in commands {
      page += ".TP\n.BR workerpool-\(escaped(command.name)) (1)\n\(escaped(command.summary)).\n"
    }
    page += section("EXIT STATUS")
    for code in ExitCode.allCases { page += ".TP\n.B \(code.rawValue)\n\(escaped(code.meaning)).\n" }
    return page
  }

  /// `workerpool-COMMAND(1)`.
  static func page(for command: CommandDescription) -> String {
    var page = head("workerpool-\(command.name)", command.summary.prefix(1).lowercased() + command.summary.dropFirst())
    page += section("SYNOPSIS") + ".B workerpool \(escaped(command.name))\n[options]\n"
    for operand in command.operands { page += ".I \(escaped(operand.synopsis))\n" }
    if !command.discussion.isEmpty { page += section("DESCRIPTION") + paragraphs(command.discussion) }
    if !command.operands.isEmpty { page += section("ARGUMENTS") }
    for operand in command.operands { page += ".TP\n.I \(escaped(operand.name))\n\(escaped(operand.help)).\n" }
    page += section("OPTIONS")
    for option in command.options + [CommandOption(name: "help", help: "show a short help")] {
      let short = option.short.map { "\\-\($0), " } ?? ""
      let value = option.value.map { " \\fI\(escaped($0))\\fR" } ?? ""
      let text = option.help + (option.defaultText.map { "; default: \($0)" } ?? "")
      page += ".TP\n\\fB\(short)\\-\\-\(escaped(option.name))\\fR\(value)\n\(escaped(text)).\n"
    }
    return page + section("SEE ALSO") + ".BR workerpool (1)\n"
  }

  private static func head(_ name: String, _ summary: String) -> String {
    """
    .TH \(escaped(name.uppercased())) 1 "" "workerpool \(escaped(Release.text))"
    .SH NAME
    \(escaped(name)) \\- \(escaped(summary))

    """
  }

  private static func section(_ name: String) -> String { ".SH \(name)\n" }

  /// Indented lines are examples and stay as they are; an empty line begins a paragraph.
  private static func paragraphs(_ text: String) -> String {
    var lines: [String] = []
    var isExample = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let indented = line.hasPrefix("  ")
      if indented != isExample, indented || !line.isEmpty {
        lines.append(indented ? (lines.last == ".PP" ? ".nf" : ".PP\n.nf") : ".fi")
        isExample = indented
      }
      lines.append(line.isEmpty ? (isExample ? "" : ".PP") : escaped(String(line)))
    }
    if isExample { lines.append(".fi") }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Text in which nothing is a request: backslashes and dashes are escaped, and so are points and quotes at the
  /// beginning of a line (groff_char(7), groff(7)).
  private static func escaped(_ text: String) -> String {
    let plain = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
    return plain.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.hasPrefix(".") || line.hasPrefix("'") ? "\\&\(line)" : String(line)
    }.joined(separator: "\n")
  }
}
