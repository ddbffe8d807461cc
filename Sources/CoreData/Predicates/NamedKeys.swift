/// The keys that a predicate, its expressions and a fetch's columns may read. It may contain a key too many, never one
/// too few.
///
/// A store at a server that answers a fetch in memory loads only the columns of these keys. A key too many costs a
/// column; one too few would read as nil and give a wrong result without an error. So every text that could be a key
/// counts as one, and the keys of a path are collected without regard to the entity that each belongs to.
package struct NamedKeys {
  /// Single keys, and operators such as "@count", which are no columns and do no harm.
  package private(set) var names: Set<String> = []

  package init() {}

  /// Adds the keys of a path: those of a sort descriptor or a column.
  package mutating func add(path: String) { names.formUnion(KeyPathComponents(path).keys) }

  /// Adds the keys of both sides of each comparison. A block has none: a predicate with a block needs whole objects.
  package mutating func add(_ predicate: NSPredicate) {
    switch predicate.kind {
    case .truth, .block: break
    case .compound(_, let parts): for part in parts { add(part) }
    case .comparison(let comparison):
      add(comparison.leftExpression)
      add(comparison.rightExpression)
    }
  }

  /// Adds the keys of an expression, in all of its parts.
  package mutating func add(_ expression: NSExpression) {
    switch expression.node {
    // A text may be a path that a function follows.
    // For example `FUNCTION(author, "valueForKeyPath:", "name")`.
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
