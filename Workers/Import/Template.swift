import Jobs

/// A text made of a row's fields: `{parent}`, `{code:before:-}-{number}`.
///
/// `{field}` is the field's value; `{field:before:X}` and `{field:after:X}` are the parts before and after the first X
/// in it. If a field is missing, null or empty, or lacks the X, there is no text.
struct Template: Hashable {
  private enum Part: Hashable {
    case text(String)
    case field(String)
    case before(String, String)
    case after(String, String)
  }

  private let parts: [Part]

  init(_ source: String) throws(JSONFieldError) {
    var parts: [Part] = []
    var unparsed = source[...]
    while !unparsed.isEmpty {
      guard let open = unparsed.firstIndex(of: "{") else {
        parts.append(.text(String(unparsed)))
        break
      }
      if open > unparsed.startIndex { parts.append(.text(String(unparsed[..<open]))) }
      guard let close = unparsed[open...].firstIndex(of: "}") else {
        throw JSONFieldError("the template \"\(source)\" has a { without its }")
      }
      let words = unparsed[unparsed.index(after: open)..<close].split(separator: ":", maxSplits: 2).map(String.init)
      switch (words.count, words.dropFirst().first) {
      case (1, _): parts.append(.field(words[0]))
      case (3, "before"): parts.append(.before(words[0], words[2]))
      case (3, "after"): parts.append(.after(words[0], words[2]))
      default:
        throw JSONFieldError(
          "the template \"\(source)\" must have {field}, {field:before:X} or {field:after:X} in braces")
      }
      unparsed = unparsed[unparsed.index(after: close)...]
    }
    self.parts = parts
  }

  /// The names of the fields that it uses.
  var fields: [String] {
    parts.compactMap { part in
      switch part {
      case .text: nil
      case .field(let name), .before(let name, _), .after(let name, _): name
      }
    }
  }

  /// The text for a row, or nil where a field gives none.
  func text(_ row: ImportRow) -> String? {
    var text = ""
    for part in parts {
      switch part {
      case .text(let fixed): text += fixed
      case .field(let name):
        guard let value = Self.value(row, name) else { return nil }
        text += value
      case .before(let name, let mark):
        guard let value = Self.value(row, name), let range = value.range(of: mark) else { return nil }
        text += value[..<range.lowerBound]
      case .after(let name, let mark):
        guard let value = Self.value(row, name), let range = value.range(of: mark) else { return nil }
        text += value[range.upperBound...]
      }
    }
    return text.isEmpty ? nil : text
  }

  private static func value(_ row: ImportRow, _ name: String) -> String? {
    switch row.fields[name] {
    case .string(let text): text.isEmpty ? nil : text
    case .number(let digits): digits
    default: nil
    }
  }
}
