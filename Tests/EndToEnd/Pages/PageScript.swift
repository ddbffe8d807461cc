import Foundation
import Testing

/// A page's files and commands as one script for bash: read from top to bottom, in one directory, as a reader does it.
struct PageScript {
  private(set) var text: String
  /// The blocks of expected output, each with the number of the block whose output it is.
  private(set) var expected: [(block: DocumentationPage.Block, of: Int)] = []

  /// Commands of a page that are not run as they stand, because the test's machine is set up already, are in
  /// `Tests/Support/PageCommands`: what they do instead is written there.
  static let standIns = DocumentationPage.package.appendingPathComponent("Tests/Support/PageCommands").path

  init(_ page: DocumentationPage) {
    // Where new files can be written by the group, as on Ubuntu.
    text = """
      set -eE -o pipefail
      umask 002
      export PATH="$PAGE_COMMANDS:$PAGE_PROGRAMS:$PATH"
      running=()
      finish() {
        code=$?
        trap - EXIT
        [ "$code" -eq 0 ] || { echo "line ${line:-0} failed with $code:"; cat "out.${line:-0}" 2>/dev/null || true; }
        for ((i = ${#running[@]} - 1; i >= 0; i--)); do
          kill -TERM "${running[$i]}" 2>/dev/null || true
          wait "${running[$i]}" || true
        done
        exit "$code"
      }
      trap finish EXIT

      """
    var last: Int?
    for block in page.blocks where block.reasonNotToRun == nil {
      let isCommand = block.language == "sh" && block.file == nil
      if let path = block.file {
        text += Self.writing(block, to: path)
      } else if isCommand {
        text += "line=\(block.line)\n" + Self.running(block)
      } else if block.language == "text", let last {
        expected.append((block, last))
      }
      // Output follows its command directly.
      if isCommand { last = block.line } else if block.language != "text" || block.file != nil { last = nil }
    }
  }

  private static func writing(_ block: DocumentationPage.Block, to path: String) -> String {
    let delimiter = "END-OF-BLOCK-\(block.line)"
    return """
      line=\(block.line)
      mkdir -p "$(dirname '\(path)')"
      cat >'\(path)' <<'\(delimiter)'
      \(block.text)\(delimiter)

      """
  }

  private static func running(_ block: DocumentationPage.Block) -> String {
    if let said = block.runsUntil {
      // Its process is the command itself, which is ended with the page. A comment behind it would hide what follows.
      let command = block.text.trimmingCharacters(in: .newlines)
        .replacingOccurrences(of: " +# [^\n]*$", with: "", options: .regularExpression)
      // The file is there before tail(1) opens it.
      return """
        : >out.$line
        \(command) </dev/null >>out.$line 2>&1 &
        running+=($!)
        timeout 300 grep -q -m 1 -F -- '\(said)' <(tail -n +1 -f --pid=$! out.$line 2>/dev/null)

        """
    }
    // A list such as `a && b` does not end the script by itself.
    guard let code = block.exits else { return "{ \(block.text)} </dev/null >out.$line 2>&1\n[ $? -eq 0 ]\n" }
    return """
      code=0
      ( \(block.text)) </dev/null >out.$line 2>&1 || code=$?
      [ $code -eq \(code) ]

      """
  }

  /// Whether the lines of a page's output stand in this order in what was printed. Numbers and UUIDs differ from run to
  /// run; an ellipsis stands for any text.
  static func missing(_ expected: String, in printed: String) -> String? {
    let lines = printed.split(separator: "\n").map(normal)
    var unmatched = lines[...]
    for line in expected.split(separator: "\n").map(normal) where line != "…" && !line.isEmpty {
      let parts = line.components(separatedBy: "…")
      guard let position = unmatched.firstIndex(where: { matches($0, parts) }) else { return line }
      unmatched = unmatched[(position + 1)...]
    }
    return nil
  }

  private static func matches(_ line: String, _ parts: [String]) -> Bool {
    guard parts.count > 1 else { return line == parts[0] }
    guard line.hasPrefix(parts[0]), line.hasSuffix(parts[parts.count - 1]) else { return false }
    var unmatched = line[...]
    for part in parts where !part.isEmpty {
      guard let range = unmatched.range(of: part) else { return false }
      unmatched = unmatched[range.upperBound...]
    }
    return true
  }

  private static func normal(_ line: Substring) -> String {
    var text = String(line)
    for (pattern, replacement) in [
      ("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", "#"), ("/[^ ]*/workerpool-demo-[0-9a-f]{8}", "/tmp/demo"),
      ("[█·]+", "█"), ("[0-9]+([.,:-][0-9]+)*", "#"), (" +", " "),
    ] {
      text = text.replacingOccurrences(of: pattern, with: replacement, options: .regularExpression)
    }
    return text.trimmingCharacters(in: .whitespaces)
  }
}
