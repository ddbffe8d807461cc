/// Primary expressions: literals, arguments, key paths, calls, and text in parentheses or braces.
///
/// Each function begins at the first token of its expression and ends behind the last one. Those that take a word have
/// read it already and get its place for errors.
extension FormatParser {
  /// The tightest level: a value without operators before or behind it.
  ///
  /// Two tokens mean something else here than between values: `<>` is empty data, and `<null>` is `NSNull`. Both are
  /// forms in which constants print.
  mutating func primary() throws -> Node {
    switch current {
    case .integer(let value): return constant(value)
    case .real(let value): return constant(value)
    case .string(let value): return constant(value)
    case .data(let value): return constant(value)
    case .symbol("<>"): return constant(Data())
    case .variable(let name):
      advance()
      return .expression(NSExpression(forVariable: name))
    case .escapedWord(let name), .operatorKey(let name):
      try checkKeys([name])
      advance()
      return .expression(NSExpression(node: .keyPath(operand: nil, path: KeyPathComponents(keys: [name]))))
    case .argument(let specifier): return try argument(specifier)
    case .functionName(let name):
      let start = position
      advance()
      return try predefined(name, at: start)
    case .word(let word): return try self.word(word)
    case .symbol("("):
      advance()
      let node = try either()
      try expect(")")
      return node
    case .symbol("<") where isNullObject:
      for _ in 0..<3 { advance() }
      return .expression(NSExpression(forConstantValue: NSNull()))
    case .symbol("{"):
      advance()
      return .expression(NSExpression(node: .aggregate(try list(until: "}"))))
    default: throw failure("Expected a key path, a value or \"(\"")
    }
  }

  /// The current token as a constant.
  private mutating func constant(_ value: Any?) -> Node {
    advance()
    return .expression(NSExpression(forConstantValue: value))
  }

  /// The value of a `%…`.
  ///
  /// `%@` takes everything. A predicate or an expression among the arguments becomes part of the tree and is not a
  /// constant: `NSPredicate(format: "%@ AND pages > 3", other)`. The numeric specifiers refuse what is not a number,
  /// because a Swift array has no types that the compiler could check; a text passes, and is compared as `==` compares
  /// texts.
  private mutating func argument(_ specifier: FormatSpecifier) throws -> Node {
    if specifier == .keyPath {
      return .expression(
        NSExpression(node: .keyPath(operand: nil, path: KeyPathComponents(keys: try keyPathArgument()))))
    }
    let value = try nextArgument()
    if specifier == .object, let predicate = value as? NSPredicate {
      advance()
      return .predicate(predicate)
    }
    if specifier == .object, let expression = value as? NSExpression {
      advance()
      return .expression(expression)
    }
    if specifier == .int32 || specifier == .int64 || specifier == .double {
      guard PredicateValue(value).double != nil || value is String else {
        throw failure("The argument must be a number")
      }
    }
    return constant(value)
  }

  /// What a word means at the start of an expression: a literal, a call, or the first key of a path.
  ///
  /// ```text
  /// NULL, nil            a constant without a value
  /// YES, true, NO        1 and 0 as Bool
  /// SELF                 the evaluated object
  /// ANYKEY               kept, with the value nil
  /// CAST(x, "type")      a call with two arguments
  /// sum(x), sum:(x)      a predefined function, in any case
  /// FETCH(r, c, YES)     a fetch request expression
  /// name                 a key
  /// IN, AND, …           an error that says how to write a key of this name
  /// ```
  private mutating func word(_ word: String) throws -> Node {
    let start = position
    let keyword = keyword
    advance()
    switch keyword {
    case .null, .nil: return .expression(NSExpression(forConstantValue: nil))
    case .true, .yes: return .expression(NSExpression(forConstantValue: true))
    case .false, .no: return .expression(NSExpression(forConstantValue: false))
    case .self: return .expression(NSExpression.expressionForEvaluatedObject())
    case .anyKey: return .expression(NSExpression.expressionForAnyKey())
    case .cast: return cast(try arguments(count: 2, of: "CAST"))
    case .function: return try functionCall()
    case .subquery: return try subquery()
    case .ternary: return try ternary()
    case nil, .first, .last, .size: break
    default: throw failure("\(word) is a reserved word; a key of that name is written #\(word)", at: start)
    }
    if isSymbol("("), word.uppercased() == "FETCH" { return try fetchCall() }
    if isSymbol("(") { return try predefined(word, at: start) }
    return .expression(NSExpression(node: .keyPath(operand: nil, path: KeyPathComponents(keys: [word]))))
  }

  /// A call of one of `PredicateFunction`. The names are looked up without regard to case, and their last colon may be
  /// left out, as people write `sum(pages)` and Apple prints `sum:(pages)`.
  private mutating func predefined(_ name: String, at start: Int) throws -> Node {
    guard let function = PredicateFunction(formatName: name) else {
      throw failure("There is no function \"\(name)\"", at: start)
    }
    try expect("(")
    let arguments = try list(until: ")")
    // Statistical functions take one collection or any number of values.
    let takesMany = function.isStatistical && !arguments.isEmpty
    guard takesMany || arguments.count == function.argumentCount else {
      throw failure("\(function.rawValue) takes \(function.argumentCount) arguments", at: start)
    }
    return call(function, arguments)
  }

  /// The arguments of a call with a fixed number of them.
  private mutating func arguments(count: Int, of name: String) throws -> [NSExpression] {
    let start = position
    try expect("(")
    let arguments = try list(until: ")")
    guard arguments.count == count else { throw failure("\(name) takes \(count) arguments", at: start) }
    return arguments
  }

  /// Constant dates, UUIDs and URLs print as casts, so casts of constants become constants again.
  ///
  /// Only the casts that printing makes are computed here: a number to a date, a text to a UUID or a URL.
  /// `CAST("2026-01-31", "NSDate")` stays a call, since the text could be meant for a column.
  private func cast(_ arguments: [NSExpression]) -> Node {
    guard let type = arguments[1].constant as? String else { return call(.cast, arguments) }
    let isConstant =
      switch PredicateValue(arguments[0].constant) {
      case .integer, .real: type == "NSDate"
      case .string: type == "NSUUID" || type == "NSURL"
      default: false
      }
    guard isConstant, let value = PredicateCast.cast(arguments[0].constant, to: type) else {
      return call(.cast, arguments)
    }
    return .expression(NSExpression(forConstantValue: value))
  }

  /// `FUNCTION(operand, "selector:", argument, …)`: a method of the operand's value.
  ///
  /// The name is checked when the text is read, and so is the number of arguments, one for each colon. So text from a
  /// user can call only what `PredicateMethod` lists. The methods of a variable are not known before it has a value:
  /// `FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", …)` in mapping models.
  private mutating func functionCall() throws -> Node {
    let start = position
    try expect("(")
    let parts = try list(until: ")")
    guard parts.count >= 2, let name = parts[1].constant as? String else {
      throw failure("FUNCTION takes an operand, a name in quotes, and arguments", at: start)
    }
    guard PredicateFunction(rawValue: name) != nil || PredicateMethod.exists(name, of: parts[0]) else {
      throw failure("There is no method \"\(name)\" for FUNCTION", at: start)
    }
    let count = name.split(separator: ":", omittingEmptySubsequences: false).count - 1
    guard PredicateFunction(rawValue: name) != nil || parts.count - 2 == count else {
      throw failure("\(name) takes \(count) arguments", at: start)
    }
    return .expression(
      NSExpression(node: .function(name: name, operand: parts[0], arguments: Array(parts.dropFirst(2)))))
  }

  /// `FETCH(request, context, YES)`: the number of objects, or with NO the objects.
  ///
  /// Request and context are variables or `%@` arguments, since no text can spell either.
  private mutating func fetchCall() throws -> Node {
    let start = position
    let parts = try arguments(count: 3, of: "FETCH")
    guard let countOnly = parts[2].constantValue as? Bool else {
      throw failure("FETCH takes a fetch request, a context, and YES or NO", at: start)
    }
    return .expression(
      NSFetchRequestExpression.expression(forFetch: parts[0], context: parts[1], countOnly: countOnly))
  }

  /// `SUBQUERY(collection, $member, predicate)`. The predicate is read by the same parser, so it has the rest of the
  /// arguments and its depth counts.
  private mutating func subquery() throws -> Node {
    try expect("(")
    let collection = try expression()
    try expect(",")
    guard case .variable(let name) = current else { throw failure("Expected a $variable") }
    advance()
    try expect(",")
    let predicate = try predicate()
    try expect(")")
    return .expression(NSExpression(forSubquery: collection, usingIteratorVariable: name, predicate: predicate))
  }

  /// `TERNARY(predicate, value, otherwise)`. A predicate comes first, which no other call has.
  private mutating func ternary() throws -> Node {
    try expect("(")
    let predicate = try predicate()
    try expect(",")
    let chosen = try expression()
    try expect(",")
    let otherwise = try expression()
    try expect(")")
    return .expression(
      NSExpression(forConditional: predicate, trueExpression: chosen, falseExpression: otherwise))
  }

  /// Expressions with commas between them, up to the closing sign, which is read too. An empty list is one; a trailing
  /// comma is an error.
  private mutating func list(until end: String) throws -> [NSExpression] {
    var members: [NSExpression] = []
    if take(end) { return members }
    repeat { members.append(try expression()) } while take(",")
    guard take(end) else { throw failure("Expected \",\" or \"\(end)\"") }
    return members
  }
}
