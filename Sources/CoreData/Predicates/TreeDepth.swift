/// How deep trees are. Parsing, evaluating, printing, generating SQL and releasing a tree recurse over it, and a
/// thread's stack is finite. So the parser refuses deep text, and readers of archives do the same. A tree that a
/// program builds itself is not checked.
extension NSExpression {
  /// Whether the tree has more than that many levels. Looks no deeper, so that no tree overflows the stack here.
  ///
  /// - Complexity: O(nodes of these levels).
  func isDeeper(than levels: Int) -> Bool {
    guard levels > 0 else { return true }
    let remainingLevels = levels - 1
    return switch node {
    case .constant, .evaluatedObject, .variable, .anyKey: false
    case .keyPath(let operand, _): operand?.isDeeper(than: remainingLevels) ?? false
    case .function(_, let operand, let arguments):
      operand?.isDeeper(than: remainingLevels) ?? false || arguments.contains { $0.isDeeper(than: remainingLevels) }
    case .set(_, let left, let right): left.isDeeper(than: remainingLevels) || right.isDeeper(than: remainingLevels)
    case .subquery(let collection, _, let predicate):
      collection.isDeeper(than: remainingLevels) || predicate.isDeeper(than: remainingLevels)
    case .aggregate(let members), .block(_, let members): members.contains { $0.isDeeper(than: remainingLevels) }
    case .conditional(let predicate, let chosen, let otherwise):
      predicate.isDeeper(than: remainingLevels) || chosen.isDeeper(than: remainingLevels)
        || otherwise.isDeeper(than: remainingLevels)
    case .assignment(_, let value): value.isDeeper(than: remainingLevels)
    }
  }
}

extension NSPredicate {
  /// The depth of the tree. For a tree deeper than `FormatParser.maximumDepth` it is that maximum plus one.
  ///
  /// Complexity: O(levels × nodes), bounded by the maximum.
  final var levels: Int {
    (1...FormatParser.maximumDepth).first { !isDeeper(than: $0) } ?? FormatParser.maximumDepth + 1
  }

  /// Whether the tree has more than that many levels, as with expressions.
  func isDeeper(than levels: Int) -> Bool {
    guard levels > 0 else { return true }
    switch self {
    case let comparison as NSComparisonPredicate:
      return comparison.leftExpression.isDeeper(than: levels - 1)
        || comparison.rightExpression.isDeeper(than: levels - 1)
    case let compound as NSCompoundPredicate:
      return compound.subpredicates.contains { $0.isDeeper(than: levels - 1) }
    default: return false
    }
  }
}
