/// A piece of Swift source, as far as declarations need it: literals and comments are left out.
struct Token: Equatable {
  enum Kind: Equatable {
    /// A word, keyword or name; `isQuoted` in backticks.
    case word(isQuoted: Bool)
    /// One character of punctuation or of an operator.
    case mark
    /// A literal, whose text nobody needs.
    case literal
    /// `#if`, `#elseif`, `#else`, `#endif`, with the condition as text.
    case directive
  }

  let kind: Kind
  let text: String
  let line: Int
  let column: Int

  func isWord(_ word: String) -> Bool { kind == .word(isQuoted: false) && text == word }
  func isMark(_ mark: String) -> Bool { kind == .mark && text == mark }
  var isName: Bool { if case .word = kind { true } else { false } }
}

/// Something that the scanner cannot do for a declaration, with the place and what to write instead.
public struct AccessorError: Error, CustomStringConvertible, Equatable {
  public let file: String
  public let line: Int
  public let column: Int
  public let reason: String

  /// As compilers write it, so that build tools show the place.
  public var description: String { "\(file):\(line):\(column): error: \(reason)" }
}
