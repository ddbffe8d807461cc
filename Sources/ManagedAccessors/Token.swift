/// A token of Swift source. Comments are dropped, literals lose their text.
struct Token: Equatable {
  enum Kind: Equatable {
    /// A keyword or a name; `isQuoted` if it is in backticks.
    case word(isQuoted: Bool)
    /// One character of punctuation or of an operator.
    case mark
    /// A literal, without its text.
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

/// A declaration that cannot be supplied: its place, the reason, and what to write instead.
public struct AccessorError: Error, CustomStringConvertible, Equatable {
  /// The path of the source file, as it was passed in.
  public let file: String
  /// The line of the declaration, from 1.
  public let line: Int
  /// The column of the declaration, from 1, in bytes.
  public let column: Int
  /// The reason and the remedy, without the place.
  public let reason: String

  /// The error in a compiler's form, `FILE:LINE:COLUMN: error: REASON`, so that build tools show the place.
  public var description: String { "\(file):\(line):\(column): error: \(reason)" }
}
