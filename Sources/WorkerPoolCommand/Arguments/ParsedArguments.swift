import Jobs
import LinuxSystem

/// The arguments of one command, checked against its description.
struct ParsedArguments: Sendable {
  private(set) var operands: [String] = []
  private(set) var values: [String: [String]] = [:]
  private(set) var wantsHelp = false
  private let command: CommandDescription

  /// Reads `--name value`, `--name=value`, `--switch` and operands in any order; after `--` all are operands.
  ///
  /// - Throws: ``UsageError`` that names the argument, and the nearest known one.
  init(_ arguments: [String], for command: CommandDescription) throws(UsageError) {
    self.command = command
    var unread = arguments[...]
    var optionsEnded = false
    while let argument = unread.popFirst() {
      if optionsEnded || argument == "-" || !argument.hasPrefix("-") {
        operands.append(argument)
      } else if argument == "--" {
        optionsEnded = true
      } else if argument == "--help" || argument == "-h" {
        wantsHelp = true
      } else {
        try take(argument, &unread, command)
      }
    }
    if !wantsHelp { try checkOperands(command) }
  }

  private mutating func take(
    _ argument: String, _ unread: inout ArraySlice<String>, _ command: CommandDescription
  ) throws(UsageError) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let word = String(parts[0].drop { $0 == "-" })
    let isLong = parts[0].hasPrefix("--")
    guard let option = command.options.first(where: { isLong ? $0.name == word : $0.short.map(String.init) == word })
    else {
      let optionNames = command.options.map(\.name) + ["help"]
      let hint = Spelling.hint(to: word, among: optionNames, .option)
      throw UsageError("workerpool \(command.name) has no option \(parts[0])\(hint)")
    }
    let name = option.name
    guard values[name] == nil || option.isRepeating else { throw UsageError("--\(name) is given twice") }
    guard let valueName = option.value else {
      guard parts.count == 1 else { throw UsageError("--\(name) takes no value") }
      values[name] = []
      return
    }
    guard let value = parts.count == 2 ? parts[1] : unread.popFirst() else {
      throw UsageError("--\(name) needs a value: --\(name) \(valueName)")
    }
    values[name, default: []].append(value)
  }

  /// Calls `body` with these arguments, and those of the file that an option names. What both have, the file does not
  /// decide.
  ///
  /// - Throws: ``UsageError`` that names file and line, also when `body` throws one about an option of the file.
  func withFile<Result>(_ option: String, _ body: (ParsedArguments) throws -> Result) throws -> Result {
    guard let path = string(option) else { return try body(self) }
    let file = try OptionsFile(path, for: command)
    var merged = self
    merged.values.merge(file.arguments.values) { own, _ in own }
    do {
      return try body(merged)
    } catch let error as UsageError {
      throw file.located(error, besides: self)
    }
  }

  private func checkOperands(_ command: CommandDescription) throws(UsageError) {
    let required = command.operands.filter { !$0.isOptional }
    if operands.count < required.count {
      let missing = required[operands.count]
      throw UsageError("workerpool \(command.name) needs \(missing.name): \(missing.help)")
    }
    if operands.count > command.operands.count, command.operands.last?.isRepeating != true {
      throw UsageError(
        "workerpool \(command.name) does not know what to do with \"\(operands[command.operands.count])\"")
    }
  }

  // MARK: Values

  /// Whether the option or switch was given.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// The value of an option, or nil without it.
  func string(_ name: String) -> String? { values[name]?.last }

  /// All values of an option that may be repeated.
  func strings(_ name: String) -> [String] { values[name] ?? [] }

  /// The value of an option that the command cannot do without.
  func required(_ name: String) throws(UsageError) -> String {
    guard let value = string(name) else { throw UsageError("--\(name) is missing") }
    return value
  }

  /// The whole number of an option within a range, or nil without it.
  func int(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    guard let text = string(name) else { return nil }
    return try Self.int(text, what: "--\(name)", in: range)
  }

  /// The seconds of an option within a range, or nil without it.
  func seconds(_ name: String, in range: ClosedRange<Double>) throws(UsageError) -> Double? {
    guard let text = string(name) else { return nil }
    guard let seconds = Double(text), range.contains(seconds) else {
      throw UsageError(
        "--\(name) must be a number of seconds from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
    }
    return seconds
  }

  /// The number of an option within a range, or nil without it.
  func number(_ name: String, in range: ClosedRange<Double>) throws(UsageError) -> Double? {
    guard let text = string(name) else { return nil }
    guard let number = Double(text), range.contains(number) else {
      throw UsageError("--\(name) must be a number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
    }
    return number
  }

  /// The values of an option that are NAME=VALUE.
  func pairs(_ name: String) throws(UsageError) -> [(name: String, value: String)] {
    var pairs: [(name: String, value: String)] = []
    for text in strings(name) {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, JobRequest.isName(parts[0]) else {
        throw UsageError("--\(name) must be NAME=VALUE, not \"\(text)\"")
      }
      pairs.append((parts[0], parts[1]))
    }
    return pairs
  }

  static func int(_ text: String, what: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
    guard let number = Int(text), range.contains(number) else {
      let bounds =
        range.upperBound == .max ? "from \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
      throw UsageError("\(what) must be a whole number \(bounds), not \"\(text)\"")
    }
    return number
  }

  /// The value of an option that must be one of a few words, or nil without it.
  func word(_ name: String, among words: [String]) throws(UsageError) -> String? {
    guard let value = string(name) else { return nil }
    guard words.contains(value) else {
      let hint = Spelling.hint(to: value, among: words, otherwise: "it is one of \(words.joined(separator: ", "))")
      throw UsageError("--\(name) cannot be \"\(value)\"\(hint)")
    }
    return value
  }
}
