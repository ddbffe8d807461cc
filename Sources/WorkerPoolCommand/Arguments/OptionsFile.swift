import Foundation
import LinuxSystem

/// A file with options of a command, as `--config` reads it:
///
///     # the store of the app
///     store   /srv/app/app.sqlite
///     workers 4
///     workers import=1
///     allow-group
///
/// A value is the rest of its line, so it needs no quotes, and may have spaces. A comment has a line of its own.
struct OptionsFile {
  let arguments: ParsedArguments
  private let path: String
  private var lines: [(number: Int, option: String, value: String)] = []

  /// - Throws: ``UsageError`` that names file and line.
  init(_ path: String, for command: CommandDescription) throws(UsageError) {
    self.path = path
    let bytes: [UInt8]
    do throws(GuardedFile.Refusal) {
      bytes = try GuardedFile(path, path: path, links: .followed).bytes(atMost: 1 << 20)
    } catch {
      throw UsageError("\(path) \(error)")
    }
    guard var text = String(validating: bytes, as: UTF8.self) else { throw UsageError("\(path) is not text in UTF-8") }
    if text.first == "\u{FEFF}" { text.removeFirst() }
    var words: [String] = []
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let line = line.trimmingCharacters(in: .whitespacesAndNewlines)
      guard !line.isEmpty, !line.hasPrefix("#") else { continue }
      let name = String(line.prefix { !$0.isWhitespace })
      let value = line.dropFirst(name.count).trimmingCharacters(in: .whitespaces)
      let option = value.isEmpty ? ["--\(name)"] : ["--\(name)=\(value)"]
      do throws(UsageError) {
        guard !name.hasPrefix("-"), !name.contains("=") else {
          throw UsageError(
            "\"\(name)\" is not the name of an option; a line is its name and its value: store app.sqlite")
        }
        if let mark = value.range(of: #"\s#"#, options: .regularExpression) {
          let comment = value[mark.lowerBound...].dropFirst()
          throw UsageError("a comment stands on a line of its own; else \"\(comment)\" is part of the value")
        }
        if value.count > 1, let quote = value.first, "\"'".contains(quote), value.last == quote {
          let plain = value.dropFirst().dropLast()
          throw UsageError("a value needs no quotes, which would be part of it: \(name) \(plain)")
        }
        guard name != "config", name != "help" else { throw UsageError("\(name) cannot be in a file") }
        _ = try ParsedArguments(option, for: command)
        words += option
        lines.append((index + 1, name, value))
        // Twice what may be there once is told with its line, too.
        _ = try ParsedArguments(words, for: command)
      } catch {
        throw UsageError("\(path), line \(index + 1): \(error.description)")
      }
    }
    arguments = try ParsedArguments(words, for: command)
  }

  /// The error with file and line, when it is about an option that stands here: it begins with the option's name, and
  /// quotes a value.
  func located(_ error: UsageError, besides commandLine: ParsedArguments) -> UsageError {
    let text = error.description
    let option = text.prefix { $0 != " " && $0 != ":" }
    let about = lines.filter { option == "--\($0.option)" && !commandLine.has($0.option) }
    guard let line = about.first(where: { text.contains("\"\($0.value)\"") }) ?? about.first else {
      return error
    }
    return UsageError("\(path), line \(line.number): \(text)")
  }
}
