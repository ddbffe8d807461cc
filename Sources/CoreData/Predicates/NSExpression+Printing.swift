/// Printing: what `description` and `canonicalFormat` give.
///
/// Invariant, which tests and fuzzing check: the parser reads every printed text back as an equal tree, except for
/// closures and for constants that are objects. So a text can be kept in a file, and two expressions can be compared by
/// their texts.
///
/// ```text
/// add:to:(a, multiply:by:(b, 2))      a + (b * 2)
/// from:subtract:(a, b) < 3            a - b < 3
/// keyPath ["in", "title"]             #in.title
/// "say \"hi\""                        "say \"hi\""
/// Date                                CAST(700000000.000000, "NSDate")
/// UUID                                CAST("6F9619FF-8B86-D011-B42D-00C04FC964FF", "NSUUID")
/// Data([0, 255])                      <00ff>
/// ["a", nil]                          {"a", <null>}
/// ```
extension NSExpression {
  /// The expression in the syntax of a format.
  ///
  /// It recurses over the tree, whose depth the parser bounds; a program can build a deeper one.
  final var printed: String {
    switch node {
    case .constant(let value): return NSExpression.printed(constant: value)
    case .evaluatedObject: return "SELF"
    case .variable(let name): return "$\(name)"
    case .keyPath(let operand, let path):
      let text = path.keys.enumerated().map { NSExpression.printed(key: $1, isFirst: $0 == 0 && operand == nil) }
      let path = text.joined(separator: ".")
      return operand.map { "\($0.printed).\(path)" } ?? path
    case .function(let name, let operand, let arguments): return printedFunction(name, operand, arguments)
    case .set(let operation, let left, let right):
      return "\(left.printedOperand) \(operation.rawValue) \(right.printedOperand)"
    case .subquery(let collection, let variable, let predicate):
      return "SUBQUERY(\(collection.printed), $\(variable), \(predicate.canonicalFormat))"
    case .aggregate(let members): return "{\(list(members))}"
    case .anyKey: return "ANYKEY"
    case .block(_, let arguments):
      if let fetch = self as? NSFetchRequestExpression {
        return "FETCH(\(list(arguments)), \(fetch.isCountOnlyRequest ? "YES" : "NO"))"
      }
      return "BLOCK(\(list(arguments)))"
    case .conditional(let predicate, let chosen, let otherwise):
      return "TERNARY(\(predicate.canonicalFormat), \(chosen.printed), \(otherwise.printed))"
    case .assignment(let name, let value): return "$\(name) := \(value.printed)"
    }
  }

  private func list(_ expressions: [NSExpression]) -> String { expressions.map(\.printed).joined(separator: ", ") }

  /// The expression as an operand: in parentheses if it is an operation itself.
  ///
  /// Parentheses stand around every operation inside of another, even where precedence would not need them: the text
  /// then does not depend on precedences, which Apple does not document.
  private var printedOperand: String {
    switch node {
    case .set, .assignment: return "(\(printed))"
    case .function(let name, nil, let arguments):
      let isInfix = PredicateFunction(rawValue: name)?.infix != nil && arguments.count == 2
      return isInfix ? "(\(printed))" : printed
    default: return printed
    }
  }

  /// A function in the form in which it is mostly written: an infix operator, an index, a sign, a cast, a method, or a
  /// call by name. With another number of arguments than usual it is a call by name.
  private func printedFunction(_ name: String, _ operand: NSExpression?, _ arguments: [NSExpression]) -> String {
    // Computed where it is used: to print each argument twice takes time exponential in the depth of the tree.
    var list: String { self.list(arguments) }
    if let operand {
      // A key path in a variable: `$a.$b`.
      if PredicateMethod.keyPathSelectors.contains(name), case .variable = arguments.first?.node {
        return "\(operand.printedOperand).\(list)"
      }
      return "FUNCTION(\(operand.printed), \(NSExpression.quoted(name))\(arguments.isEmpty ? "" : ", " + list))"
    }
    guard let function = PredicateFunction(rawValue: name) else { return "\(name)(\(list))" }
    if let symbol = function.infix, arguments.count == 2 {
      return "\(arguments[0].printedOperand) \(symbol) \(arguments[1].printedOperand)"
    }
    switch function {
    case .element where arguments.count == 2:
      let index = (arguments[1].constant as? IndexSymbol)?.rawValue ?? arguments[1].printed
      return "\(arguments[0].printedOperand)[\(index)]"
    case .negate where arguments.count == 1: return "-\(arguments[0].printedOperand)"
    case .onesComplement where arguments.count == 1: return "~\(arguments[0].printedOperand)"
    case .cast where arguments.count == 2: return "CAST(\(list))"
    default: return "\(name)(\(list))"
    }
  }

  /// A key, with `#` where the parser would take it for a keyword: at the start of a path only.
  private static func printed(key: String, isFirst: Bool) -> String {
    isFirst && FormatKeyword(rawValue: key.uppercased()) != nil ? "#" + key : key
  }

  /// A constant in the syntax of a format. Dates have six digits after the point, so two that differ by less than a
  /// microsecond print alike. An object ID prints its description, which is not read back.
  private static func printed(constant value: Any?) -> String {
    switch PredicateValue(value) {
    case .null: return value == nil ? "nil" : "<null>"
    case .integer(let number): return String(number)
    case .real(let number): return printed(number)
    case .decimal(let number): return number.description
    case .string(let text): return quoted(text)
    case .date(let seconds): return "CAST(\(String(format: "%.6f", seconds)), \"NSDate\")"
    case .uuid(let uuid): return "CAST(\"\(uuid.uuidString)\", \"NSUUID\")"
    case .url(let text): return "CAST(\(quoted(text)), \"NSURL\")"
    case .data(let data): return "<\(data.map { String(format: "%02x", $0) }.joined())>"
    case .collection(let members):
      return "{\(members.map { printed(constant: $0 ?? NSNull()) }.joined(separator: ", "))}"
    case .object(let object): return object.description
    case .opaque: return value.map { String(describing: $0) } ?? "nil"
    }
  }

  /// Whole numbers print as integers, like `NSNumber` on Apple's platforms.
  ///
  /// Fractions, and numbers from 10^15 on, print as Swift prints a `Double`. NaN and the infinities do so too, which is
  /// not read back.
  static func printed(_ number: Double) -> String {
    number.magnitude < 1e15 && number == number.rounded() ? String(Int64(number)) : "\(number)"
  }

  /// The text in double quotes, with the escapes that the lexer knows. Other control characters stand for themselves.
  private static func quoted(_ text: String) -> String {
    let escaped = text.escaped { scalar in
      switch scalar {
      case "\"": "\\\""
      case "\\": "\\\\"
      case "\n": "\\n"
      case "\r": "\\r"
      case "\t": "\\t"
      default: nil
      }
    }
    return "\"\(escaped)\""
  }
}
