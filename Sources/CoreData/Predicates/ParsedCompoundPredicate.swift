/// The compound predicate that a format makes.
///
/// Foundation's class can evaluate it, but on Linux calls any two compounds equal and cannot be copied. This class can
/// do both.
final class ParsedCompoundPredicate: NSCompoundPredicate {
  override func evaluate(with object: Any?) -> Bool {
    holds(in: EvaluationContext(object: object, variables: [:]))
  }

  override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    holds(in: EvaluationContext(object: object, variables: bindings ?? [:]))
  }

  func holds(in context: EvaluationContext) -> Bool {
    switch compoundPredicateType {
    case .and: subpredicates.allSatisfy { $0.isTrue(in: context) }
    case .or: subpredicates.contains { $0.isTrue(in: context) }
    case .not: !(subpredicates.first?.isTrue(in: context) ?? false)
    }
  }

  override var predicateFormat: String { canonicalFormat }

  override var description: String { canonicalFormat }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSPredicate else { return false }
    return isStructurallyEqual(to: other)
  }

  override var hash: Int { canonicalFormat.hashValue }

  override func copy() -> Any { self }

  override func copy(with zone: NSZone? = nil) -> Any { self }
}

/// `TRUEPREDICATE` or `FALSEPREDICATE` of a format.
///
/// Foundation's constant predicate calls itself equal to any compound.
final class TruthPredicate: NSPredicate {
  let value: Bool

  override init(value: Bool) {
    self.value = value
    super.init(value: value)
  }

  override var predicateFormat: String { canonicalFormat }

  override var description: String { canonicalFormat }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSPredicate else { return false }
    return isStructurallyEqual(to: other)
  }

  override var hash: Int { value ? 1 : 0 }

  override func copy() -> Any { self }

  override func copy(with zone: NSZone? = nil) -> Any { self }
}
