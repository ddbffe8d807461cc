/// The kind of a predicate, Foundation's own classes included.
///
/// All code that walks a predicate switches over it: SQL generation, the evaluation on rows in memory, archiving,
/// printing, substitution. Foundation's classes on Linux have no property that tells them apart.
///
/// ```text
/// text        FormatLexer, FormatParser   \
/// #Predicate  PredicateConversion          >  a tree of predicates and expressions
/// archive     ArchivedObject+Predicates   /
///                                            evaluate(with:)      EvaluationContext, Comparison, PredicateValue
///                                            a fetch in SQL       SQLGenerator
///                                            a store in memory    the same evaluation, on rows
///                                            canonicalFormat      text again
///                                            KeyedArchiveWriter   an archive again
/// ```
package enum PredicateKind {
  case comparison(NSComparisonPredicate)
  /// AND, OR or NOT of the parts; a NOT has one. An AND without parts is true, an OR without parts false.
  case compound(NSCompoundPredicate.LogicalType, [NSPredicate])
  case truth(Bool)
  /// A closure, whose content is unknown.
  case block
}

extension NSPredicate {
  /// The predicate's kind. It costs a few casts, so read it once.
  ///
  /// Foundation's own constant predicates have no public class; they are recognised by comparing, after the classes of
  /// this module, whose `isEqual` is known.
  package final var kind: PredicateKind {
    switch self {
    case let comparison as NSComparisonPredicate: .comparison(comparison)
    case let compound as NSCompoundPredicate: .compound(compound.compoundPredicateType, compound.subpredicates)
    case let truth as TruthPredicate: .truth(truth.value)
    case _ where isEqual(NSPredicate(value: true)): .truth(true)
    case _ where isEqual(NSPredicate(value: false)): .truth(false)
    default: .block
    }
  }

  /// The parts of a chain of ANDs or ORs, however they are grouped: those of compounds of the same kind among the parts
  /// are parts of the chain.
  ///
  /// A program that adds condition after condition,
  /// `p = NSCompoundPredicate(andPredicateWithSubpredicates: [p, next])`, builds a tree as deep as it is long. A list
  /// instead of recursion flattens it without needing a deep stack, and SQL gets one flat condition.
  static func chain(of type: NSCompoundPredicate.LogicalType, _ parts: [NSPredicate]) -> [NSPredicate] {
    var remainingParts = Array(parts.reversed())
    var flat: [NSPredicate] = []
    while let part = remainingParts.popLast() {
      if case .compound(type, let inner) = part.kind { remainingParts += inner.reversed() } else { flat.append(part) }
    }
    return flat
  }

  /// The predicate with its variables replaced by values.
  ///
  /// ```swift
  /// let template = NSPredicate(format: "author.name == $NAME AND pages > $PAGES")
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.predicate = template.withSubstitutionVariables(["NAME": "Jane Austen", "PAGES": 100])
  /// ```
  ///
  /// Parse a format once and use the result with different values. On Apple's platforms the result has the receiver's
  /// class.
  ///
  /// - Parameter variables: the values, by name without `$`. Other variables stay, and so do those that a SUBQUERY
  ///   binds.
  public final func withSubstitutionVariables(_ variables: [String: Any]) -> NSPredicate {
    switch kind {
    case .comparison(let comparison):
      let left = comparison.leftExpression.substituting(variables)
      let right = comparison.rightExpression.substituting(variables)
      if left === comparison.leftExpression, right === comparison.rightExpression { return self }
      return NSComparisonPredicate(
        leftExpression: left, rightExpression: right, modifier: comparison.comparisonPredicateModifier,
        type: comparison.predicateOperatorType, options: comparison.options)
    case .compound(let type, let parts):
      let replaced = parts.map { $0.withSubstitutionVariables(variables) }
      if zip(parts, replaced).allSatisfy({ $0 === $1 }) { return self }
      return ParsedCompoundPredicate(type: type, subpredicates: replaced)
    case .truth, .block: return self
    }
  }
}

extension NSExpression {
  /// The expression with values in place of variables; itself if it has none of them, so that unchanged parts of a tree
  /// are shared.
  ///
  /// A value that is an expression takes the variable's place as it is. A SUBQUERY hides its own variable from its
  /// predicate.
  fileprivate final func substituting(_ variables: [String: Any]) -> NSExpression {
    if let fetch = self as? NSFetchRequestExpression {
      return NSFetchRequestExpression.expression(
        forFetch: fetch.requestExpression.substituting(variables),
        context: fetch.contextExpression.substituting(variables), countOnly: fetch.isCountOnlyRequest)
    }
    switch node {
    case .variable(let name): return variables[name].map(NSExpression.wrapping) ?? self
    case .constant, .evaluatedObject, .anyKey, .keyPath(nil, _): return self
    case .keyPath(let operand?, let path):
      return rebuilt([operand], variables) { $0[0].appending(path.keys).node }
    case .function(let name, let operand?, let arguments):
      return rebuilt([operand] + arguments, variables) {
        let call = ExpressionNode.function(name: name, operand: $0[0], arguments: Array($0.dropFirst()))
        return NSExpression(node: call).calledKeyPath?.node ?? call
      }
    case .function(let name, nil, let arguments):
      return rebuilt(arguments, variables) { .function(name: name, operand: nil, arguments: $0) }
    case .set(let operation, let left, let right):
      return rebuilt([left, right], variables) { .set(operation, $0[0], $0[1]) }
    case .aggregate(let members): return rebuilt(members, variables) { .aggregate($0) }
    case .block(let block, let arguments): return rebuilt(arguments, variables) { .block(block, $0) }
    case .assignment(let name, let value): return rebuilt([value], variables) { .assignment(name, $0[0]) }
    case .subquery(let collection, let variable, let predicate):
      let collection = collection.substituting(variables)
      let predicate = predicate.withSubstitutionVariables(variables.filter { $0.key != variable })
      return NSExpression(node: .subquery(collection, variable: variable, predicate))
    case .conditional(let predicate, let chosen, let otherwise):
      return NSExpression(
        node: .conditional(
          predicate.withSubstitutionVariables(variables), chosen.substituting(variables),
          otherwise.substituting(variables)))
    }
  }

  /// The compound with its parts replaced; itself if no part changed.
  ///
  /// - Parameters:
  ///   - parts: the parts in which variables are replaced.
  ///   - make: puts the new parts together, in the same order.
  private func rebuilt(
    _ parts: [NSExpression], _ variables: [String: Any], _ make: ([NSExpression]) -> ExpressionNode
  ) -> NSExpression {
    let replaced = parts.map { $0.substituting(variables) }
    return zip(parts, replaced).allSatisfy { $0 === $1 } ? self : NSExpression(node: make(replaced))
  }
}
