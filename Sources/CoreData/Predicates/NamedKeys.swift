/// The keys that a predicate, its expressions and a fetch's columns may read. There may be too many of them, never too
/// few.
package struct NamedKeys {
  package private(set) var names: Set<String> = []

  package init() {}

  package mutating func add(path: String) { names.formUnion(KeyPathComponents(path).keys) }

  package mutating func add(_ predicate: NSPredicate) {
    switch predicate.kind {
    case .truth, .block: break
    case .compound(_, let parts): for part in parts { add(part) }
    case .comparison(let comparison):
      add(comparison.leftExpression)
      add(comparison.rightExpression)
    }
  }

  package mutating func add(_ expression: NSExpression) {
    switch expression.node {
    // A text may be a path that a function follows.
    case .constant(let value): if let text = value as? String { add(path: text) }
    case .evaluatedObject, .variable, .anyKey, .block: break
    case .keyPath(let operand, let path):
      names.formUnion(path.keys)
      if let operand { add(operand) }
    case .function(_, let operand, let arguments):
      if let operand { add(operand) }
      for argument in arguments { add(argument) }
    case .set(_, let left, let right):
      add(left)
      add(right)
    case .subquery(let collection, _, let predicate):
      add(collection)
      add(predicate)
    case .aggregate(let members): for member in members { add(member) }
    case .conditional(let predicate, let chosen, let otherwise):
      add(predicate)
      add(chosen)
      add(otherwise)
    case .assignment(_, let value): add(value)
    }
  }
}
