/// A predicate prepared for the rows of one entity: comparisons of attributes read the row itself.
///
/// ```text
/// pages > 200                 the slot of pages is found once; each row compares the number in it
/// author.name == "x"          the reader follows the key in the slot
/// ANY books.pages > 500       a `MemoryRow` is made, and the predicate evaluated on it
/// ```
///
/// Preparing costs once for each fetch and entity. Reading a slot costs no string, no dictionary and no boxed number.
struct MemoryCondition {
  private typealias Test = (MemoryReader, Int64, Snapshot) -> Bool
  private typealias Operand = (MemoryReader, Int64, Snapshot) -> PredicateValue

  private let test: Test

  init(_ predicate: NSPredicate, _ storedEntity: StoredEntity) { test = MemoryCondition.test(predicate, storedEntity) }

  func holds(_ reader: MemoryReader, _ key: Int64, _ row: Snapshot) -> Bool { test(reader, key, row) }

  /// A predicate becomes a closure of closures once for each fetch: which kind of predicate it is, is not asked again
  /// for each row. ANY, ALL and whatever else has members goes the general way.
  private static func test(_ predicate: NSPredicate, _ storedEntity: StoredEntity) -> Test {
    switch predicate.kind {
    case .truth(let value): return { _, _, _ in value }
    case .compound(let type, let parts):
      let tests = parts.map { test($0, storedEntity) }
      switch type {
      case .and: return { reader, key, row in tests.allSatisfy { $0(reader, key, row) } }
      case .or: return { reader, key, row in tests.contains { $0(reader, key, row) } }
      case .not: return { reader, key, row in !(tests.first?(reader, key, row) ?? false) }
      @unknown default: break
      }
    case .comparison(let comparison) where comparison.comparisonPredicateModifier == .direct:
      return test(comparison, storedEntity)
    case .comparison, .block: break
    }
    return { reader, key, row in predicate.evaluate(with: MemoryRow(reader, of: storedEntity, key: key, values: row)) }
  }

  private static func test(_ predicate: NSComparisonPredicate, _ storedEntity: StoredEntity) -> Test {
    let comparison = predicate.comparison
    let left = operand(predicate.leftExpression, storedEntity)
    if comparison.hasConstantRight {
      return { reader, key, row in comparison.holds(left(reader, key, row), .null, inRow: true) }
    }
    let right = operand(predicate.rightExpression, storedEntity)
    return { reader, key, row in comparison.holds(left(reader, key, row), right(reader, key, row), inRow: true) }
  }

  /// What gives the value of one side of a comparison for a row.
  ///
  /// ```text
  /// "Kindred"             the constant
  /// SELF                  the row's ID
  /// pages                 the number in its slot
  /// author.name           the reader follows keys from row to row
  /// title.length          the general way, on a `MemoryRow`
  /// ```
  private static func operand(_ expression: NSExpression, _ storedEntity: StoredEntity) -> Operand {
    if let constant = expression.constantPredicateValue { return { _, _, _ in constant } }
    switch expression.node {
    case .evaluatedObject: return { _, key, _ in .object(NSManagedObjectID(storedEntity: storedEntity, key: key)) }
    case .keyPath(nil, let path):
      if path.keys.count == 1, let slot = storedEntity.layout.slot(path.keys[0]),
        storedEntity.layout.slots[slot].kind != .toOne
      {
        return { _, _, row in row.predicateValue(slot) }
      }
      return { reader, key, row in reader.value(at: path.keys[...], storedEntity, key, row) }
    default:
      return { reader, key, row in
        expression.predicateValue(
          in: EvaluationContext(object: MemoryRow(reader, of: storedEntity, key: key, values: row), variables: [:]))
      }
    }
  }
}
