import Foundation

extension AttemptFailure {
  /// What the failures of one cause have in common: the type of the error and the first line of its message, with `#`
  /// in place of numbers and hexadecimal digits, and `…` in place of what stands in quotes.
  ///
  /// ```swift
  /// let failure = AttemptFailure(
  ///   attempt: 1, date: Date(), type: "HTTPError", message: "\"/users/17\" answered 503 after 1.5 s")
  /// print(failure.pattern)  // HTTPError: "…" answered # after # s
  /// ```
  ///
  /// It has at most ``longestPattern`` characters. The pattern of a pattern is the pattern itself.
  public var pattern: String {
    let line = message.split(whereSeparator: \.isNewline).first { !$0.allSatisfy(\.isWhitespace) } ?? ""
    return Self.pattern(of: "\(type): \(line)")
  }

  /// Characters of a ``pattern`` that are kept.
  public static let longestPattern = 200

  /// The ``pattern`` of a failure that a person knows as `type: message`.
  ///
  /// ```swift
  /// print(AttemptFailure.pattern(of: "IOError: /tmp/a17b: no space, 0x7f3a at 12:30"))
  /// // IOError: /tmp/#: no space, # at #
  /// ```
  ///
  /// The rules, in the order in which they are tried at each place:
  ///
  /// ```text
  /// "…" '…' “…”      what stands in quotes, unless it is an apostrophe in a word    "/users/17"  ─▶ "…"
  /// a UUID           as a whole, in hexadecimal groups with dashes                  ─▶ #
  /// a word           with hexadecimal digits only, four or more, one of them 0–9    7f3a, 0xab   ─▶ #
  ///                  or 0x before them
  ///                  else its digits                                                file17       ─▶ file#
  /// numbers          that . , : or - joins are one                                  12:30        ─▶ #
  /// ```
  ///
  /// `workerpool failures` groups by it, and the web page and `JobFilter` find the jobs of a group by it.
  public static func pattern(of text: String) -> String {
    let line = text.split(whereSeparator: \.isNewline).first ?? ""
    var pattern = ""
    var rest = line.drop(while: \.isWhitespace)
    // Closing marks that the rest lacks: none is searched for twice in a line of a megabyte.
    var missing: Set<Character> = []
    while let character = rest.first, pattern.count < longestPattern {
      if let end = endOfQuotation(rest, after: pattern.last, &missing) {
        pattern += "\(character)…\(rest[end])"
        rest = rest[rest.index(after: end)...]
      } else if let uuid = uuid(rest) {
        rest = rest.dropFirst(uuid.count)
        append("#", to: &pattern)
      } else if isOfWord(character) {
        let word = rest.prefix(while: isOfWord)
        rest = rest.dropFirst(word.count)
        append(masked(word), to: &pattern)
      } else {
        // Neither an argument nor an address can have a zero byte.
        pattern.append(character == "\0" ? "\u{FFFD}" : character)
        rest = rest.dropFirst()
      }
    }
    while pattern.last?.isWhitespace == true { pattern.removeLast() }
    return String(pattern.prefix(longestPattern))
  }

  /// The longest part of a pattern that stands in the JSON text of each failure with the pattern; nil without any. A
  /// fetch asks for rows that contain it, so that only these are read and compared.
  ///
  /// Workers in other languages write that text, too. It has only characters that no writer of JSON escapes, and none
  /// of the colon and the space between the type and the message, which are stored apart.
  package static func literal(of pattern: String) -> String? {
    let parts: [Substring] = pattern.split { !isOfWord($0) && !" .,-_()".contains($0) }
    let longest = parts.map { $0.drop(while: \.isWhitespace) }.max { $0.count < $1.count }
    return longest.flatMap { $0.isEmpty ? nil : String($0) }
  }

  /// Quotation marks: the opening one and the closing one.
  private static let quotes: [Character: Character] = [
    "\"": "\"", "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»", "„": "“",
  ]

  /// Where the quotation ends that begins with the text; nil for another text, such as that of an apostrophe.
  private static func endOfQuotation(
    _ text: Substring, after last: Character?, _ missing: inout Set<Character>
  ) -> Substring.Index? {
    guard let first = text.first, let closing = quotes[first], !missing.contains(closing),
      last.map(isOfWord) != true
    else { return nil }
    let end = text.dropFirst().firstIndex(of: closing)
    if end == nil { missing.insert(closing) }
    return end
  }

  /// The UUID with which the text begins. Groups of it may have letters only.
  private static func uuid(_ text: Substring) -> Substring? {
    let start = text.prefix(36)
    return start.dropFirst(8).first == "-" && UUID(uuidString: String(start)) != nil ? start : nil
  }

  private static func isOfWord(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber)
  }

  /// The word with its digits masked. Hexadecimal digits, four or more or after 0x, are masked as a whole if the word
  /// has a decimal digit.
  private static func masked(_ word: Substring) -> String {
    guard word.contains(where: \.isNumber) else { return String(word) }
    let digits = word.hasPrefix("0x") || word.hasPrefix("0X") ? word.dropFirst(2) : word
    if digits.count < word.count || word.count >= 4, digits.allSatisfy(\.isHexDigit) { return "#" }
    var masked = ""
    for character in word where !character.isNumber || masked.last != "#" {
      masked.append(character.isNumber ? "#" : character)
    }
    return masked
  }

  /// Appends a word. Numbers that a point, a comma, a colon or a dash joins are one number: 1.5, 12:30, an address, a
  /// UUID.
  private static func append(_ word: String, to pattern: inout String) {
    if word.first == "#", pattern.count >= 2, let joint = pattern.last, ".,:-".contains(joint),
      pattern.dropLast().last == "#"
    {
      pattern.removeLast(2)
    }
    pattern += word
  }
}
