/// Tells which predicates and orders rows alone can answer. Code, transient properties and properties of an object's
/// class need objects.
extension MemorySchema {
  /// Whether rows alone can answer the fetch.
  ///
  /// ```text
  /// predicate or order                understood   why
  /// --------------------------------  -----------  ---------------------------------------------------------
  /// pages > 200, ANY books.isRead     yes          rows have these properties
  /// SELF IN %@, objectID == %@        yes          keys
  /// isOnLoan, a transient property    no           only an object has its value
  /// fullTitle, of the class           no           the same: code of the program computes it
  /// a block                           no           it expects objects
  /// a comparator over title           yes          it gets the attribute's values
  /// ```
  ///
  /// What is not understood, the context evaluates: it makes objects of all rows and asks each.
  func understands(_ fetch: RowFetch) -> Bool {
    guard let storedEntity = storedEntities.byName[fetch.entityName] else { return true }
    return (fetch.predicate.map(understands) ?? true)
      && fetch.sortDescriptors.allSatisfy { understands($0, storedEntity.entity) }
  }

  private func understands(_ descriptor: NSSortDescriptor, _ entity: NSEntityDescription) -> Bool {
    guard let key = descriptor.key else { return false }
    let keys = KeyPathComponents(key).keys
    // A comparator gets the values of attributes; of relationships it would get rows instead of objects.
    return isKept(keys) && (!descriptor.hasComparator || entity.attribute(at: keys) != nil)
  }

  private func understands(_ predicate: NSPredicate) -> Bool {
    switch predicate.kind {
    case .truth: true
    case .compound(_, let parts): parts.allSatisfy(understands)
    case .comparison(let comparison):
      understands(comparison.leftExpression) && understands(comparison.rightExpression)
    case .block: false
    }
  }

  func understands(_ expression: NSExpression) -> Bool {
    if let path = expression.calledKeyPath { return understands(path) }
    return switch expression.node {
    case .constant, .evaluatedObject, .variable, .anyKey: true
    case .keyPath(let operand, let path): isKept(path.keys) && (operand.map(understands) ?? true)
    case .function(_, let operand, let arguments):
      (operand.map(understands) ?? true) && arguments.allSatisfy(understands)
    case .set(_, let left, let right): understands(left) && understands(right)
    case .subquery(let collection, _, let predicate): understands(collection) && understands(predicate)
    case .aggregate(let members): members.allSatisfy(understands)
    case .conditional(let predicate, let chosen, let otherwise):
      understands(predicate) && understands(chosen) && understands(otherwise)
    case .assignment(_, let value): understands(value)
    case .block: expression.expressionType == .fetchRequest
    }
  }

  /// Whether the rows have all keys of a path. Keys after `entity` are those of its description.
  private func isKept(_ keys: [String]) -> Bool {
    let keys = keys.firstIndex(of: "entity").map { keys[...$0] } ?? keys[...]
    return keys.allSatisfy { $0.hasPrefix("@") || (keptNames.contains($0) && !transientNames.contains($0)) }
  }
}

extension MemorySchema {
  /// The names of properties that rows have, and of the elements of composite attributes.
  static func names(_ storedEntities: [StoredEntity]) -> (kept: Set<String>, transient: Set<String>) {
    var kept: Set<String> = ["self", "SELF", "objectID", "entity"]
    var transient: Set<String> = []
    func add(_ elements: [NSAttributeDescription]) {
      for element in elements {
        kept.insert(element.name)
        if let composite = element as? NSCompositeAttributeDescription { add(composite.elements) }
      }
    }
    for storedEntity in storedEntities {
      for slot in storedEntity.layout.slots {
        if slot.isTransient { transient.insert(slot.name) } else { kept.insert(slot.name) }
        if let composite = slot.composite { add(composite.elements) }
      }
      for relationship in storedEntity.layout.toManys {
        if relationship.isTransient { transient.insert(relationship.name) } else { kept.insert(relationship.name) }
      }
      transient.formUnion(storedEntity.layout.fetchedProperties.map(\.name))
    }
    return (kept, transient)
  }
}
