/// A type as the source writes it.
indirect enum TypeSyntax: Equatable, Sendable {
  /// `Set<Person>`, `Outer.Kind`, `Shared.Owner`.
  case named([Part])
  /// `T?` and `T!`.
  case optional(TypeSyntax)
  case array(TypeSyntax)
  case dictionary(TypeSyntax, TypeSyntax)
  case composition([TypeSyntax])
  /// Functions, tuples and opaque types, which no model can hold.
  case other(String)

  struct Part: Equatable, Sendable {
    let name: String
    var arguments: [TypeSyntax] = []
  }

  var text: String {
    switch self {
    case .named(let parts):
      parts.map { part in
        part.name + (part.arguments.isEmpty ? "" : "<\(part.arguments.map(\.text).joined(separator: ", "))>")
      }.joined(separator: ".")
    case .optional(let wrapped): "\(wrapped.text)?"
    case .array(let element): "[\(element.text)]"
    case .dictionary(let key, let value): "[\(key.text): \(value.text)]"
    case .composition(let members): members.map(\.text).joined(separator: " & ")
    case .other(let text): text
    }
  }
}

/// Reads tokens in order.
struct TokenReader {
  let tokens: [Token]
  var index: Int

  var current: Token? { index < tokens.count ? tokens[index] : nil }
  func peek(_ offset: Int = 1) -> Token? { index + offset < tokens.count ? tokens[index + offset] : nil }

  mutating func takeMark(_ mark: String) -> Bool {
    guard current?.isMark(mark) ?? false else { return false }
    index += 1
    return true
  }

  /// Skips parentheses and their content, if the next token opens them.
  mutating func skipParentheses() {
    guard current?.isMark("(") ?? false else { return }
    var depth = 0
    while let token = current {
      index += 1
      if token.isMark("(") { depth += 1 }
      if token.isMark(")") {
        depth -= 1
        if depth == 0 { return }
      }
    }
  }

  // MARK: Types

  mutating func type() -> TypeSyntax {
    var members = [postfixType()]
    while takeMark("&") { members.append(postfixType()) }
    return members.count == 1 ? members[0] : .composition(members)
  }

  private mutating func postfixType() -> TypeSyntax {
    while current?.isMark("@") ?? false {
      index += 2
      skipParentheses()
    }
    while let word = current, ["any", "__owned", "inout", "borrowing", "consuming"].contains(where: word.isWord) {
      index += 1
    }
    var type = primaryType()
    while takeMark("?") || takeMark("!") { type = .optional(type) }
    return type
  }

  private mutating func primaryType() -> TypeSyntax {
    if takeMark("[") {
      let first = type()
      let value = takeMark(":") ? type() : nil
      _ = takeMark("]")
      return value.map { .dictionary(first, $0) } ?? .array(first)
    }
    if current?.isMark("(") ?? false {
      let start = index
      index += 1
      let inner = type()
      if takeMark(")"), !(current?.isMark("-") ?? false) { return inner }
      index = start
      skipParentheses()
      return .other("a function or a tuple")
    }
    guard let first = current, first.isName, !first.isWord("some") else {
      return .other(current.map { "\"\($0.text)\"" } ?? "nothing")
    }
    var parts: [TypeSyntax.Part] = []
    repeat {
      guard let name = current, name.isName else { break }
      index += 1
      var part = TypeSyntax.Part(name: name.text)
      if takeMark("<") {
        repeat { part.arguments.append(type()) } while takeMark(",")
        _ = takeMark(">")
      }
      parts.append(part)
    } while takeMark(".")
    return .named(parts)
  }
}
