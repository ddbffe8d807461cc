extension NSExpression {
  /// The expression in the syntax of a format.
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
  private var printedOperand: String {
    switch node {
    case .set, .assignment: return "(\(printed))"
    case .function(let name, nil, let arguments):
      let isInfix = PredicateFunction(rawValue: name)?.infix != nil && arguments.count == 2
      return isInfix ? "(\(printed))" : printed
    default: return printed
    }
  }

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

  private static func printed(key: String, isFirst: Bool) -> String {
    isFirst && FormatKeyword(rawValue: key.uppercased()) != nil ? "#" + key : key
  }

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
  static func printed(_ number: Double) -> String {
    number.magnitude < 1e15 && number == number.rounded() ? String(Int64(number)) : "\(number)"
  }

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
