/// Evaluation in memory. The tree is walked once for each object, with no state besides the context.
///
/// There are two ways in. `value(in:)` gives values as `Any?`, for expressions whose value is wanted, and for the inner
/// parts of a tree. `predicateValue(in:)` gives the form that comparisons use, and reads attributes of managed objects
/// straight from their snapshots, without a box for each value. Both give the same value.
extension NSExpression {
  /// The expression's value; nil for no value.
  ///
  /// Arguments of a function are evaluated from left to right; of TERNARY only the chosen side is. SUBQUERY evaluates
  /// its predicate once for each member with a changed copy of the context, so nested ones see the outer variables.
  ///
  /// ```text
  /// SUBQUERY(books, $b, $b.pages > $limit)   object: an author, variables: [limit: 500]
  ///   books                                  [emma, persuasion]
  ///   $b.pages > $limit                      variables: [limit: 500, b: emma]         true
  ///   $b.pages > $limit                      variables: [limit: 500, b: persuasion]   false
  ///                                          [emma]
  /// ```
  final func value(in context: EvaluationContext) -> Any? {
    switch node {
    case .constant(let value): value is NSNull ? nil : value
    case .evaluatedObject: context.object
    case .variable(let name): context.value(ofVariable: name)
    case .keyPath(let operand, let path):
      KeyValueReading.value(at: path.keys, of: operand == nil ? context.object : operand?.value(in: context))
    case .function(let name, let operand, let arguments):
      PredicateFunction.value(of: name, operand: operand, arguments: arguments, in: context)
    case .set(let operation, let left, let right):
      NSExpression.combine(left.value(in: context), right.value(in: context), operation)
    case .subquery(let collection, let variable, let predicate):
      NSExpression.members(of: collection.value(in: context)).filter { member in
        predicate.isTrue(in: context.binding(variable, to: member))
      }
    case .aggregate(let members): members.map { $0.value(in: context) }
    case .anyKey: nil
    case .block(let block, let arguments):
      block(
        context.object, arguments.map { FoundationValue.of($0.value(in: context)) ?? NSNull() },
        NSMutableDictionary(dictionary: context.variables))
    case .conditional(let predicate, let chosen, let otherwise):
      (predicate.isTrue(in: context) ? chosen : otherwise).value(in: context)
    case .assignment(_, let value): value.value(in: context)
    }
  }

  /// The expression's value in the form that comparisons use.
  ///
  /// The two first cases are what nearly all comparisons have on their left: a key path of a managed object, and
  /// `SELF`.
  final func predicateValue(in context: EvaluationContext) -> PredicateValue {
    switch (node, context.managedObject) {
    case (.keyPath(nil, let path), let object?): object.predicateValue(at: path.keys[...])
    case (.evaluatedObject, let object?): .object(object.objectID)
    default: PredicateValue(value(in: context))
    }
  }

  /// The value of a constant expression; nil if the value depends on the evaluated object or on variables.
  ///
  /// `Comparison` prepares such a side once. A list with anything but constants in it is not one, even if its members
  /// are independent of the object.
  final var constantPredicateValue: PredicateValue? {
    switch node {
    case .constant(let value): return PredicateValue(value)
    case .aggregate(let members):
      var values: [Any?] = []
      for member in members {
        guard case .constant(let value) = member.node else { return nil }
        values.append(value)
      }
      return .collection(values)
    default: return nil
    }
  }

  /// Whether the expression has the same value for every object.
  ///
  /// SQL generation computes such an expression in memory and binds the result; so `pages > 100 * 3` can use an index.
  /// A variable, a closure, a fetch and TERNARY count as dependent. `now()` is independent: one fetch has one time.
  /// `random()` is not, since each row would have to get a number of its own.
  final var isIndependent: Bool {
    switch node {
    case .constant: true
    case .aggregate(let members): members.allSatisfy(\.isIndependent)
    case .set(_, let left, let right): left.isIndependent && right.isIndependent
    case .keyPath(let base?, _): base.isIndependent
    case .assignment(_, let value): value.isIndependent
    case .function(let name, let target, let arguments):
      !name.hasPrefix("random") && (target?.isIndependent ?? true) && arguments.allSatisfy(\.isIndependent)
    default: false
    }
  }

  /// The members of a collection; none for nil and for values that are not collections.
  ///
  /// A dictionary has its values as members.
  static func members(of value: Any?) -> [Any?] {
    if case .collection(let members) = PredicateValue(value) { members } else { [] }
  }

  /// UNION, INTERSECT or MINUS. The right side is hashed, so the time is proportional to the number of members. UNION
  /// drops duplicates; the other two keep those of the left side, which only an array has.
  private static func combine(_ left: Any?, _ right: Any?, _ operation: SetOperation) -> MemberValues {
    let left = members(of: left)
    let right = members(of: right)
    let inRight = Set(right.map { PredicateValue($0) })
    switch operation {
    case .union:
      var seen = Set<PredicateValue>()
      return MemberValues(kind: .set, values: (left + right).filter { seen.insert(PredicateValue($0)).inserted })
    case .intersect: return MemberValues(kind: .set, values: left.filter { inRight.contains(PredicateValue($0)) })
    case .minus: return MemberValues(kind: .set, values: left.filter { !inRight.contains(PredicateValue($0)) })
    }
  }
}

extension NSPredicate {
  /// Evaluates the predicate as a part of another predicate or expression.
  ///
  /// The two classes of this module take the context as it is. Foundation's predicates, with blocks or made by the
  /// program's own calls of `NSCompoundPredicate`, only have `evaluate(with:substitutionVariables:)`, which makes a new
  /// context.
  final func isTrue(in context: EvaluationContext) -> Bool {
    switch self {
    case let comparison as NSComparisonPredicate: comparison.holds(in: context)
    case let compound as ParsedCompoundPredicate: compound.holds(in: context)
    default: evaluate(with: context.object, substitutionVariables: context.variables)
    }
  }
}
