/// Builds symbols as the Swift compiler does, by the part of the stable mangling that members of classes need.
///
/// Source: docs/ABI/Mangling.rst, lib/Demangling/ManglingUtils.h and lib/AST/ASTMangler.cpp of Swift. Tests compare
/// with the symbols that the compiler leaves undefined.
struct Mangler {
  private var text: [UInt8] = Array("$s".utf8)
  /// The numbers of identifiers and types that were written before, by key.
  private var substitutions: [String: Int] = [:]
  private var words: [(start: Int, length: Int)] = []
  private var lastSubstitution = LastSubstitution()

  /// The symbol of a property's getter or setter.
  static func accessor(
    _ kind: Accessor, of name: String, _ discriminator: String?, in context: Context, _ type: ManagedType
  )
    -> String
  {
    var mangler = Mangler()
    mangler.append(context)
    mangler.appendName(name, discriminator)
    mangler.append(type)
    mangler.append(kind.rawValue)
    return String(decoding: mangler.text, as: UTF8.self)
  }

  enum Accessor: String {
    case getter = "vg"
    case setter = "vs"
  }

  /// The symbol of a method that returns nothing.
  static func method(
    _ name: String, _ discriminator: String?, in context: Context, _ parameters: [(label: String, type: ManagedType)]
  ) -> String {
    var mangler = Mangler()
    mangler.append(context)
    mangler.appendName(name, discriminator)
    if parameters.allSatisfy(\.label.isEmpty) {
      mangler.append("y")
    } else {
      for parameter in parameters {
        if parameter.label.isEmpty { mangler.append("_") } else { mangler.appendIdentifier(parameter.label) }
      }
    }
    mangler.append("y")
    if parameters.isEmpty {
      mangler.append("y")
    } else if parameters.count == 1, parameters[0].label.isEmpty {
      mangler.append(parameters[0].type)
    } else {
      for (index, parameter) in parameters.enumerated() {
        mangler.append(parameter.type)
        if index == 0 { mangler.append("_") }
      }
      mangler.append("t")
    }
    mangler.append("F")
    return String(decoding: mangler.text, as: UTF8.self)
  }

  /// The declaration context of a member: a class, or an extension of it in another module.
  struct Context {
    let type: NominalType
    let extensionModule: String?
  }

  // MARK: Contexts and types

  private mutating func append(_ context: Context) {
    appendNominal(context.type)
    if let module = context.extensionModule, module != context.type.module {
      appendModule(module)
      append("E")
    }
  }

  private mutating func appendName(_ name: String, _ discriminator: String?) {
    appendIdentifier(name)
    if let discriminator {
      appendIdentifier(discriminator)
      append("LL")
    }
  }

  private mutating func appendModule(_ name: String) {
    if name == "Swift" { append("s") } else { appendIdentifier(name) }
  }

  private static let standardTypes: [String: Character] = [
    "Array": "a", "Bool": "b", "Dictionary": "D", "Double": "d", "Float": "f", "Set": "h", "Int": "i", "String": "S",
    "UInt": "u", "Character": "J", "Substring": "s",
  ]

  private mutating func appendNominal(_ type: NominalType) {
    if type.module == "Swift", type.path.count == 1, let letter = Mangler.standardTypes[type.path[0].name] {
      let byte = letter.asciiValue!  // The table has ASCII letters only.
      if !lastSubstitution.merge(byte, isStandard: true, into: &text) { text += [UInt8(ascii: "S"), byte] }
      return
    }
    let key = "type:" + ([type.module] + type.path.map(\.name)).joined(separator: ".")
    if appendSubstitution(key) { return }
    if type.path.count > 1 {
      appendNominal(NominalType(module: type.module, path: Array(type.path.dropLast())))
    } else {
      appendModule(type.module)
    }
    let last = type.path[type.path.count - 1]
    appendIdentifier(last.name)
    append(last.kind.rawValue)
    addSubstitution(key)
  }

  private mutating func append(_ type: ManagedType) {
    switch type {
    case .any: append("yp")
    case .anyObject: append("yXl")
    case .existential(let name):
      appendModule(name.module)
      appendIdentifier(name.path[0].name)
      append("_p")
    case .optional(let wrapped):
      let key = "optional:\(wrapped)"
      if appendSubstitution(key) { return }
      append(wrapped)
      append("Sg")
      addSubstitution(key)
    case .nominal(let name, let arguments) where arguments.isEmpty: appendNominal(name)
    case .nominal(let name, let arguments):
      let key = "bound:\(type)"
      if appendSubstitution(key) { return }
      appendNominal(name)
      append("y")
      for argument in arguments { append(argument) }
      append("G")
      addSubstitution(key)
    }
  }

  private mutating func append(_ operators: String) { text += Array(operators.utf8) }

  // MARK: Substitutions

  private mutating func addSubstitution(_ key: String) {
    if substitutions[key] == nil { substitutions[key] = substitutions.count }
  }

  private mutating func appendSubstitution(_ key: String) -> Bool {
    guard let number = substitutions[key] else { return false }
    if number >= 26 {
      append("A" + (number == 26 ? "_" : "\(number - 27)_"))
    } else {
      let letter = UInt8(ascii: "A") + UInt8(number)
      if !lastSubstitution.merge(letter, isStandard: false, into: &text) { text += [UInt8(ascii: "A"), letter] }
    }
    return true
  }

  /// Adjacent substitutions are written as one: `AB` and `AC` as `AbC`, two of `AB` as `A2B`.
  private struct LastSubstitution {
    private var position = 0
    private var size = 0
    private var count = 0
    private var isStandard = false

    mutating func merge(_ letter: UInt8, isStandard: Bool, into text: inout [UInt8]) -> Bool {
      if count > 0, text.count == position + size, self.isStandard == isStandard, let last = text.last {
        if last != letter, !isStandard {
          position = text.count
          count = 1
          size = 1
          text[text.count - 1] = last + 32
          text.append(letter)
          return true
        }
        if last == letter {
          count += 1
          text.removeSubrange(position...)
          text += Array("\(count)".utf8) + [letter]
          size = text.count - position
          return true
        }
      }
      position = text.count + 1
      size = 1
      count = 1
      self.isStandard = isStandard
      return false
    }
  }

  // MARK: Identifiers

  private mutating func appendIdentifier(_ name: String) {
    let key = "name:\(name)"
    if appendSubstitution(key) { return }
    addSubstitution(key)
    if name.utf8.contains(where: { $0 >= 0x80 }) {
      let encoded = Array(Punycode.encoded(name).utf8)
      append("00\(encoded.count)")
      if let first = encoded.first, Mangler.isDigit(first) || first == UInt8(ascii: "_") { append("_") }
      text += encoded
      return
    }
    appendWords(Array(name.utf8))
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
  private static func isUpper(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") }

  private static func isWordStart(_ byte: UInt8) -> Bool { !isDigit(byte) && byte != UInt8(ascii: "_") && byte != 0 }
  private static func isWordEnd(_ byte: UInt8, after previous: UInt8) -> Bool {
    byte == UInt8(ascii: "_") || byte == 0 || !isUpper(previous) && isUpper(byte)
  }

  /// Writes a name, with letters for the words in it that were written before.
  private mutating func appendWords(_ name: [UInt8]) {
    let earlierWordCount = words.count
    var replaced: [(position: Int, word: Int)] = []
    var newWords: [(start: Int, length: Int)] = []
    var start: Int?
    for position in 0...name.count {
      let byte = position < name.count ? name[position] : 0
      if let begin = start, Mangler.isWordEnd(byte, after: name[position - 1]) {
        let word = name[begin..<position]
        let wordIndex =
          words.firstIndex { text[$0.start..<$0.start + $0.length] == word }
          ?? newWords.firstIndex { name[$0.start..<$0.start + $0.length] == word }.map { $0 + earlierWordCount }
        if let wordIndex {
          replaced.append((begin, wordIndex))
        } else if word.count >= 2, earlierWordCount + newWords.count < 26 {
          newWords.append((begin, word.count))
        }
        start = nil
      }
      if start == nil, Mangler.isWordStart(byte) { start = position }
    }
    if !replaced.isEmpty { append("0") }
    var position = 0
    for (index, replacement) in (replaced + [(name.count, -1)]).enumerated() {
      if position < replacement.position {
        append("\(replacement.position - position)")
        while position < replacement.position {
          if let next = newWords.first, next.start == position {
            words.append((text.count, next.length))
            newWords.removeFirst()
          }
          text.append(name[position])
          position += 1
        }
      }
      guard replacement.word >= 0 else { continue }
      position += words[replacement.word].length
      let isLast = index == replaced.count - 1
      text.append(UInt8(ascii: isLast ? "A" : "a") + UInt8(replacement.word))
      if isLast, position == name.count { append("0") }
    }
  }
}
