/// Finds a file's types and its declarations that are marked `@NSManaged`.
///
/// It follows braces and declarations, and skips the bodies of functions.
struct SourceScanner {
  private enum Scope {
    /// The body of a type or of an extension.
    case type(path: [String], isExtension: Bool, extensionAccess: String?, isGeneric: Bool, isPlain: Bool)
    /// Any other brace, parenthesis or bracket.
    case other
  }

  private var reader: TokenReader
  private var file: SourceFile
  private var scopes: [Scope] = []
  private var conditions = BranchConditions()
  private var attributes: [String] = []
  private var modifiers: [String] = []
  private var managedToken: Token?

  static func scan(_ source: String, path: String) -> SourceFile {
    var scanner = SourceScanner(
      reader: TokenReader(tokens: Lexer.tokens(of: source), index: 0), file: SourceFile(path: path))
    scanner.run()
    scanner.file.hasTables = source.contains("ManagedKeyPathTable")
    return scanner.file
  }

  private init(reader: TokenReader, file: SourceFile) {
    self.reader = reader
    self.file = file
  }

  private static let modifierWords: Set<String> = [
    "public", "private", "fileprivate", "internal", "open", "package", "override", "final", "dynamic", "static", "weak",
    "unowned", "lazy", "optional", "required", "convenience", "nonisolated", "indirect", "mutating", "nonmutating",
    "isolated", "distributed",
  ]

  /// Whether declarations can follow here: in a file or in the body of a type.
  private var isAmongDeclarations: Bool {
    switch scopes.last {
    case nil, .type: true
    case .other: false
    }
  }

  private mutating func run() {
    while let token = reader.current {
      switch token.kind {
      case .directive:
        reader.index += 1
        conditions.pass(token.text)
      case .mark: mark(token)
      case .literal:
        reader.index += 1
        forgetModifiers()
      case .word: word(token)
      }
    }
  }

  private mutating func forgetModifiers() {
    attributes = []
    modifiers = []
    managedToken = nil
  }

  private mutating func mark(_ token: Token) {
    reader.index += 1
    switch token.text {
    case "@":
      guard let name = reader.current, name.isName else { return }
      reader.index += 1
      attributes.append(name.text)
      if name.text == "NSManaged" { managedToken = token }
      // An attribute's arguments follow its name without a space.
      if let next = reader.current, next.isMark("("), next.line == name.line,
        next.column == name.column + name.text.utf8.count
      {
        reader.skipParentheses()
      }
      return
    case "{", "(", "[": scopes.append(.other)
    case "}", ")", "]": _ = scopes.popLast()
    default: break
    }
    forgetModifiers()
  }

  private mutating func word(_ token: Token) {
    guard token.kind == .word(isQuoted: false), isAmongDeclarations else {
      reader.index += 1
      if managedToken != nil, ["var", "func"].contains(token.text) {
        fail(token, "@NSManaged is for classes outside functions: Core Data finds no class that is declared in one")
      }
      return forgetModifiers()
    }
    if Self.modifierWords.contains(token.text) {
      reader.index += 1
      let hasDetail = reader.current?.isMark("(") ?? false
      // `private(set)` does not restrict reading.
      if !hasDetail { modifiers.append(token.text) }
      reader.skipParentheses()
      return
    }
    switch token.text {
    case "import": importDeclaration()
    case "class" where isFollowedByMember:
      modifiers.append(token.text)
      reader.index += 1
    case "class", "struct", "enum", "protocol", "actor": typeDeclaration(token)
    case "extension": extensionDeclaration()
    case "typealias": aliasDeclaration()
    case "var" where managedToken != nil: managedProperties()
    case "func" where managedToken != nil: managedMethod()
    case "var", "func": namedMember(token)
    default:
      if managedToken != nil {
        fail(token, "@NSManaged is for variables and methods, not for \"\(token.text)\"")
      }
      reader.index += 1
      forgetModifiers()
    }
  }

  /// Whether a declaration is of the type, not of its objects.
  private var isTypeMember: Bool { modifiers.contains("static") || modifiers.contains("class") }

  /// `class` before `func` or `var` is a modifier.
  private var isFollowedByMember: Bool {
    guard let next = reader.peek() else { return true }
    return !next.isName || ["func", "var", "subscript"].contains(where: next.isWord)
      || Self.modifierWords.contains(where: next.isWord)
  }

  private mutating func fail(_ token: Token, _ reason: String) {
    file.errors.append(AccessorError(file: file.path, line: token.line, column: token.column, reason: reason))
  }

  // MARK: Declarations

  private mutating func importDeclaration() {
    reader.index += 1
    if let kind = reader.current,
      ["struct", "class", "enum", "protocol", "typealias", "func", "let", "var"].contains(where: kind.isWord),
      reader.peek()?.isName ?? false, reader.peek()?.line == kind.line
    {
      reader.index += 1
    }
    if let module = reader.current, module.isName { file.imports.append(module.text) }
    reader.index += 1
    forgetModifiers()
  }

  private var enclosingPath: [String] {
    for case .type(let path, _, _, _, _) in scopes.reversed() { return path }
    return []
  }

  /// The access that the surrounding extension gives its members.
  private var extensionAccess: String? {
    if case .type(_, _, let access, _, _)? = scopes.last { return access }
    return nil
  }

  private var isInGenericType: Bool {
    scopes.contains { if case .type(_, _, _, let isGeneric, _) = $0 { isGeneric } else { false } }
  }

  private static let accessWords = ["public", "open", "package", "internal", "private", "fileprivate"]

  /// The access of the declaration, its own or that of the surrounding extension.
  private var access: String? { modifiers.first(where: Self.accessWords.contains) ?? extensionAccess }

  private var isDeclaredPrivate: Bool { access == "private" || access == "fileprivate" }
  private var isDeclaredPublic: Bool { access.map(["public", "open", "package"].contains) ?? false }

  private mutating func typeDeclaration(_ keyword: Token) {
    reader.index += 1
    guard let name = reader.current, name.isName else { return forgetModifiers() }
    reader.index += 1
    let kind: TypeDeclaration.Kind =
      switch keyword.text {
      case "struct": .struct
      case "enum": .enum
      case "protocol": .protocol
      default: .class
      }
    let path = enclosingPath + [name.text]
    var type = TypeDeclaration(kind: kind, path: path, isPrivate: isDeclaredPrivate, file: file.path)
    let isGeneric = reader.current?.isMark("<") ?? false
    if reader.takeMark(":"), case .named(let parts) = reader.type() { type.inherited = parts.map(\.name) }
    file.types.append(type)
    openBody(
      .type(path: path, isExtension: false, extensionAccess: nil, isGeneric: isGeneric, isPlain: attributes.isEmpty))
  }

  private mutating func extensionDeclaration() {
    reader.index += 1
    guard case .named(let parts) = reader.type() else { return forgetModifiers() }
    let access = modifiers.first(where: Self.accessWords.contains)
    openBody(
      .type(
        path: parts.map(\.name), isExtension: true, extensionAccess: access, isGeneric: false,
        isPlain: attributes.isEmpty))
  }

  /// Moves to the opening brace of a declaration's body and opens a scope for it.
  private mutating func openBody(_ scope: Scope) {
    forgetModifiers()
    while let token = reader.current, !token.isMark("{") {
      if token.kind == .directive { return }
      reader.index += 1
    }
    reader.index += 1
    scopes.append(scope)
  }

  private mutating func aliasDeclaration() {
    reader.index += 1
    forgetModifiers()
    guard let name = reader.current, name.isName else { return }
    reader.index += 1
    guard reader.takeMark("=") else { return }
    file.aliases.append(AliasDeclaration(path: enclosingPath + [name.text], type: reader.type()))
  }

  // MARK: Members by name

  /// A computed property or a validation that a table can refer to. Attributes may confine it to an actor or to some
  /// versions: then no table has it.
  private mutating func namedMember(_ keyword: Token) {
    defer { forgetModifiers() }
    reader.index += 1
    guard case .type(let path, _, _, _, let isPlain)? = scopes.last, isPlain, attributes.allSatisfy({ $0 == "objc" }),
      !isInGenericType, !isDeclaredPrivate, !isTypeMember
    else { return }
    let isProperty = keyword.text == "var"
    guard let name = isProperty ? reader.computedProperty() : reader.validation() else { return }
    file.namedMembers.append(
      NamedMember(
        kind: isProperty ? .computedProperty : .validation, name: name, owner: path, conditions: conditions.active))
  }

  // MARK: @NSManaged

  /// The type that has a declaration, and the declaration's access.
  private struct Owner {
    let path: [String]
    let isInExtension: Bool
    let isPrivate: Bool
    let isPublic: Bool
  }

  /// Goes past the keyword of a marked declaration, and forgets what was before it.
  private mutating func takeKeyword() -> Owner? {
    defer {
      forgetModifiers()
      reader.index += 1
    }
    guard let token = managedToken else { return nil }
    return owner(token)
  }

  /// The type of a declaration that can be supplied. Nil, after noting an error, if the declaration is elsewhere.
  private mutating func owner(_ token: Token) -> Owner? {
    guard case .type(let path, let isExtension, _, _, _)? = scopes.last else {
      fail(token, "@NSManaged is for members of classes")
      return nil
    }
    if isInGenericType {
      fail(token, "@NSManaged cannot be supplied for in a generic class: declare it in a subclass that is not generic")
      return nil
    }
    if isTypeMember {
      fail(token, "@NSManaged is for members of objects, not of types")
      return nil
    }
    return Owner(path: path, isInExtension: isExtension, isPrivate: isDeclaredPrivate, isPublic: isDeclaredPublic)
  }

  private mutating func managedProperties() {
    guard let owner = takeKeyword() else { return }
    // A name without a type has the type of the next one: `var first, last: String?`.
    var waiting: [Token] = []
    repeat {
      guard let name = reader.current, name.isName else { break }
      reader.index += 1
      waiting.append(name)
      guard reader.takeMark(":") else { continue }
      let type = reader.type()
      for name in waiting { add(.property(type), name, to: owner) }
      waiting = []
    } while reader.takeMark(",")
    if let name = waiting.first { fail(name, "@NSManaged var \(name.text) needs its type written") }
  }

  private mutating func managedMethod() {
    guard let owner = takeKeyword() else { return }
    guard let name = reader.current, name.isName else { return }
    reader.index += 1
    guard reader.takeMark("(") else { return fail(name, "@NSManaged func \(name.text) cannot be generic") }
    var parameters: [ManagedMember.Parameter] = []
    while !reader.takeMark(")"), let label = reader.current {
      reader.index += 1
      // The parameter's name follows its label.
      if reader.current?.isName ?? false { reader.index += 1 }
      guard reader.takeMark(":") else { break }
      parameters.append(ManagedMember.Parameter(label: label.isWord("_") ? "" : label.text, type: reader.type()))
      _ = reader.takeMark(",")
    }
    if let next = reader.current, ["throws", "async", "rethrows"].contains(where: next.isWord) || next.isMark("-") {
      return fail(name, "@NSManaged func \(name.text) can only change a relationship: it throws and returns nothing")
    }
    add(.method(parameters), name, to: owner)
  }

  private mutating func add(_ kind: ManagedMember.Kind, _ name: Token, to owner: Owner) {
    file.members.append(
      ManagedMember(
        kind: kind, name: name.text, owner: owner.path, isInExtension: owner.isInExtension, isPrivate: owner.isPrivate,
        isPublic: owner.isPublic, conditions: conditions.active, line: name.line, column: name.column))
  }
}
