/// The compound predicate that a format makes.
///
/// Foundation's class can evaluate it, but on Linux calls any two compounds equal and cannot be copied. This class can
/// do both. Programs that make Foundation's class themselves get the same from `FoundationCompound`, which mends that
/// class at run time; this one does not depend on whether that was possible. It also passes the evaluation context on,
/// instead of making one for each part.
///
/// All code of this module that makes a compound makes this one: the parser, substitution, the macro's conversion,
/// archives.
///
/// A copy is the predicate itself: it is immutable, as are its parts.
final class ParsedCompoundPredicate: NSCompoundPredicate {
  /// Foundation's method would evaluate each part with a new context.
  override func evaluate(with object: Any?) -> Bool {
    holds(in: EvaluationContext(object: object, variables: [:]))
  }

  override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    holds(in: EvaluationContext(object: object, variables: bindings ?? [:]))
  }

  /// Whether the predicate holds. AND and OR stop at the first part that decides.
  func holds(in context: EvaluationContext) -> Bool {
    switch compoundPredicateType {
    case .and: subpredicates.allSatisfy { $0.isTrue(in: context) }
    case .or: subpredicates.contains { $0.isTrue(in: context) }
    case .not: !(subpredicates.first?.isTrue(in: context) ?? false)
    }
  }

  override var predicateFormat: String { canonicalFormat }

  override var description: String { canonicalFormat }

  /// Equal to any compound with the same tree, of Foundation's class too.
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
///
/// So this class compares by its value, with Foundation's constant predicates as well.
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
