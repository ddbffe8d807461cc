/// The functions of the migration manager that expressions in mapping models call.
///
/// Raw values are Apple's selectors, as compiled mapping models have them in `FUNCTION($manager, "…", …)`.
enum MappingFunction: String {
  /// New objects that a mapping made of old ones: what a relationship mapping with a chosen mapping has.
  case instancesOfMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"
  /// Old objects of which a mapping made new ones.
  case sourcesOfMapping = "sourceInstancesForEntityMappingNamed:destinationInstances:"
  /// New objects that any mapping made of the members: what Xcode generates where several mappings may have made them.
  case instancesOfRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
  /// The request of a mapping's source expression.
  case fetchRequest = "fetchRequestForSourceEntityNamed:predicateString:"
}

/// Evaluates the expressions of a mapping for one object.
///
/// Expressions of mapping models call methods of the migration manager and of policies, which plain expressions cannot.
/// So this walks the tree: a call of the manager or a policy is made here, and its result takes the call's place as a
/// constant; everything else is left to `NSExpression`.
///
/// ```text
/// FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "BookToBook", $source.books)
///   $source.books         the old author's books
///   call on $manager      [the new books]
/// uppercase:($source.name)
///   $source.name          a constant, "Emma"
///   uppercase:("Emma")    by NSExpression
/// ```
///
/// One is made for each object. Unlike `NSExpression`, it can throw.
struct MappingEvaluation {
  private let manager: NSMigrationManager
  private let policy: NSEntityMigrationPolicy
  private let destination: NSManagedObject?
  private var variables: [String: Any]

  /// An evaluation for one old and one new object; without them for a mapping's source expression.
  init(
    _ manager: NSMigrationManager, _ mapping: NSEntityMapping, _ policy: NSEntityMigrationPolicy,
    source: NSManagedObject? = nil, destination: NSManagedObject? = nil
  ) {
    self.manager = manager
    self.policy = policy
    self.destination = destination
    variables = [
      NSMigrationManagerKey: manager, NSMigrationEntityMappingKey: mapping, NSMigrationEntityPolicyKey: policy,
    ]
    variables[NSMigrationSourceObjectKey] = source
    variables[NSMigrationDestinationObjectKey] = destination
  }

  /// The value of a property mapping's expression, in which `$propertyMapping` is that mapping.
  func value(_ expression: NSExpression, _ property: NSPropertyMapping) throws -> Any? {
    var evaluation = self
    evaluation.variables[NSMigrationPropertyMappingKey] = property
    return try evaluation.value(expression)
  }

  /// The value of any expression of the mapping.
  ///
  /// - Throws: what a policy's method or a fetch throws; 134170 for a method that neither the manager nor the policy
  ///   has.
  func value(_ expression: NSExpression) throws -> Any? {
    switch expression.node {
    case .variable(let name): return variables[name]
    case .keyPath(let operand?, let path):
      switch try value(operand) {
      case let manager as NSMigrationManager: return manager.value(ofKey: path.text)
      case let object as NSManagedObject: return object.value(forKeyPath: path.text)
      case let other: return KeyValueReading.value(at: path.keys, of: other)
      }
    case .function(let name, let operand?, let arguments):
      let target = try value(operand)
      if let policy = target as? NSEntityMigrationPolicy {
        return try policy.value(forSelector: name, arguments: arguments.map { try value($0) })
      }
      if target is NSMigrationManager { return try call(name, arguments.map { try value($0) }) }
      // The argument of `valueForKeyPath:` may be the path itself.
      let isPath = PredicateMethod.keyPathSelectors.contains(name)
      return plain(
        .function(
          name: name, operand: NSExpression(forConstantValue: target),
          arguments: isPath ? arguments : try arguments.map(constant)))
    case .function(let name, nil, let arguments):
      return plain(.function(name: name, operand: nil, arguments: try arguments.map(constant)))
    case .aggregate(let members): return plain(.aggregate(try members.map(constant)))
    case .set(let operation, let left, let right):
      return plain(.set(operation, try constant(left), try constant(right)))
    case .subquery(let collection, let variable, let predicate):
      return plain(.subquery(try constant(collection), variable: variable, predicate))
    case .conditional(let predicate, let chosen, let otherwise):
      return try value(plain(.conditional(predicate, .yes, .no)) as? Bool ?? false ? chosen : otherwise)
    case .assignment(_, let assigned): return try value(assigned)
    case .block:
      guard let fetch = expression as? NSFetchRequestExpression else { break }
      guard let request = try value(fetch.requestExpression) as? NSFetchRequest<any NSFetchRequestResult>,
        let context = try value(fetch.contextExpression) as? NSManagedObjectContext
      else { break }
      return try fetch.isCountOnlyRequest ? context.count(for: request) : context.fetch(request)
    case .constant, .evaluatedObject, .keyPath(nil, _), .anyKey: break
    }
    return plain(expression.node)
  }

  /// The value as a constant, so that a call of the manager or a policy may be a part of any expression.
  private func constant(_ expression: NSExpression) throws -> NSExpression {
    if case .constant = expression.node { return expression }
    return NSExpression(forConstantValue: try value(expression))
  }

  /// The value of an expression that calls neither the manager nor a policy.
  private func plain(_ node: ExpressionNode) -> Any? {
    NSExpression(node: node).expressionValue(
      with: variables[NSMigrationSourceObjectKey], context: NSMutableDictionary(dictionary: variables))
  }

  /// A method of the migration manager, by its selector.
  private func call(_ name: String, _ arguments: [Any?]) throws -> Any? {
    let text = arguments.first as? String ?? ""
    let last = arguments.count > 1 ? arguments[1] : nil
    switch MappingFunction(rawValue: name) {
    case .instancesOfMapping:
      return manager.destinationInstances(forEntityMappingName: text, sourceInstances: Self.objects(last))
    case .sourcesOfMapping:
      return manager.sourceInstances(forEntityMappingName: text, destinationInstances: Self.objects(last))
    case .instancesOfRelationship: return manager.destinationInstances(of: Self.objects(last))
    case .fetchRequest: return try manager.fetchRequest(forSourceEntityNamed: text, predicate: last as? String)
    case nil:
      throw CoreDataErrors.error(
        .entityMigrationPolicy, "A mapping calls \(name) of the migration manager, which it does not have.")
    }
  }

  /// The objects in a value: one, a collection, or a collection of collections.
  static func objects(_ value: Any?) -> [NSManagedObject] {
    switch value {
    case let object as NSManagedObject: [object]
    case let list as [Any]: list.flatMap { objects($0) }
    case let set as NSOrderedSet: set.array.compactMap { $0 as? NSManagedObject }
    case let set as NSSet: set.allObjects.compactMap { $0 as? NSManagedObject }
    default: []
    }
  }

  /// Gives a new object the members that a relationship may have.
  ///
  /// Members of another entity than the destination are left out: a mapping may make objects of several entities. Both
  /// ends of a relationship have a mapping, and the first that is evaluated sets both, so an empty value does not clear
  /// what the other end has set.
  func set(_ relationship: NSRelationshipDescription, to value: Any?) {
    let members = Self.objects(value).filter { member in
      relationship.destinationEntity.map(member.entity.isKindOf) ?? true
    }
    if !relationship.isToMany {
      // What the other end has set already stays.
      if let first = members.first { destination?.setValue(first, forKey: relationship.name) }
    } else if relationship.isOrdered {
      destination?.setValue(NSOrderedSet(array: members), forKey: relationship.name)
    } else if !members.isEmpty {
      destination?.setValue(NSSet(array: members), forKey: relationship.name)
    }
  }
}

extension NSExpression {
  fileprivate static var yes: NSExpression { NSExpression(forConstantValue: true) }
  fileprivate static var no: NSExpression { NSExpression(forConstantValue: false) }
}
