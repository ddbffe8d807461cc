/// Migrates the objects of one entity mapping. Override what the mapping's expressions cannot say.
///
/// The manager makes one policy for each entity mapping and calls its methods in three passes over all mappings: three
/// for the objects, two for their relationships, two at the end. Objects are of the class `NSManagedObject`, whatever
/// classes the models name.
///
/// ```swift
/// final class SplitName: NSEntityMigrationPolicy {
///   override func createDestinationInstances(
///     forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
///   ) throws {
///     try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
///     let writers = manager.destinationInstances(
///       forEntityMappingName: mapping.name, sourceInstances: [sInstance])
///     let words = (sInstance.value(forKey: "name") as? String ?? "").split(separator: " ")
///     writers.first?.setValue(words.last.map(String.init), forKey: "familyName")
///   }
/// }
/// ```
///
/// An error that a method throws ends the migration: the new file is removed, and the manager, or the opening of the
/// store, throws the error.
///
/// Source: Apple's documentation of `NSEntityMigrationPolicy`.
open class NSEntityMigrationPolicy: NSObject {
  /// Called by the manager.
  public required override init() { super.init() }

  /// Begins the mapping: set up what the policy needs. Does nothing by itself.
  ///
  /// Called once, before the first old object of the mapping. New objects of mappings before it exist already.
  ///
  /// - Parameters:
  ///   - mapping: the mapping that names this class.
  ///   - manager: has the contexts, and `userInfo` for what the program passes to its policies.
  open func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {}

  /// Makes the new objects of an old one, and tells the manager which belong together.
  ///
  /// By itself inserts one object, gives it the values of the attribute mappings, and associates it.
  ///
  /// Override it to make no object (an old one that is not kept), several, or one with values that expressions cannot
  /// compute. Call `super` for the mapping's own expressions.
  ///
  /// - Parameters:
  ///   - sInstance: an old object of the mapping's source.
  ///   - mapping: the mapping that names this class.
  ///   - manager: makes the association: see `associate(sourceInstance:withDestinationInstance:for:)`.
  open func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    guard let entity = manager.destinationEntity(for: mapping) else { return }
    let object = NSManagedObject(entity: entity, insertInto: manager.destinationContext)
    let evaluation = MappingEvaluation(manager, mapping, self, source: sInstance, destination: object)
    for property in mapping.attributeMappings ?? [] {
      guard let name = property.name, let expression = property.valueExpression else { continue }
      let value = try evaluation.value(expression, property)
      // An attribute that needs a value keeps its default.
      if value == nil, !(entity.attributesByName[name]?.isOptional ?? true) { continue }
      object.setValue(value, forKey: name)
    }
    manager.associate(sourceInstance: sInstance, withDestinationInstance: object, for: mapping)
  }

  /// Called when all new objects of the mapping exist. Does nothing by itself.
  ///
  /// Make objects here that correspond to no old one, such as a default folder. Objects of later mappings do not exist
  /// yet.
  open func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Sets the relationships of a new object, when all new objects of all mappings exist.
  ///
  /// By itself gives it the values of the relationship mappings.
  ///
  /// Called for each new object that is associated with an old one, in the order in which they were made. Relationships
  /// without an expression stay empty.
  ///
  /// - Parameters:
  ///   - dInstance: a new object of the mapping.
  ///   - mapping: the mapping that names this class.
  ///   - manager: finds the new objects of old ones: `destinationInstances(forEntityMappingName:sourceInstances:)`.
  open func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    let source = manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [dInstance]).first
    let evaluation = MappingEvaluation(manager, mapping, self, source: source, destination: dInstance)
    for property in mapping.relationshipMappings ?? [] {
      guard let expression = property.valueExpression, let name = property.name,
        let relationship = dInstance.entity.relationshipsByName[name]
      else { continue }
      evaluation.set(relationship, to: try evaluation.value(expression, property))
    }
  }

  /// Called when the relationships of all new objects of the mapping are set. Does nothing by itself.
  ///
  /// Set relationships here that concern all objects of the mapping, such as their order.
  open func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Checks the result of the mapping, when all new objects are complete. Does nothing by itself.
  ///
  /// The save that follows validates the objects by the model's rules, and throws what a save of a program would throw.
  open func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Ends the mapping: free what the policy needed. Does nothing by itself.
  ///
  /// The objects are saved after the last mapping has ended. It is not called if the migration ended with an error
  /// before.
  open func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// The value of `FUNCTION($entityPolicy, "selector", …)` in a mapping's expression.
  ///
  /// An addition to Apple's API: Swift on Linux cannot call a method by its name, so override this and call the method
  /// here.
  ///
  /// ```swift
  /// final class Shortening: NSEntityMigrationPolicy {
  ///   override func value(forSelector selector: String, arguments: [Any?]) throws -> Any? {
  ///     guard selector == "shortened:" else { return try super.value(forSelector: selector, arguments: arguments) }
  ///     return (arguments.first as? String).map { String($0.prefix(80)) }
  ///   }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - selector: the name in the expression, with its colons.
  ///   - arguments: the evaluated arguments; nil for those without a value.
  ///
  /// - Throws: 134170 for an unknown selector.
  open func value(forSelector selector: String, arguments: [Any?]) throws -> Any? {
    throw CoreDataErrors.error(
      .entityMigrationPolicy,
      "The migration policy \(type(of: self)) does not know \(selector): override value(forSelector:arguments:).")
  }
}

/// The name by which a mapping model finds the policy again, as `NSStringFromClass(_:)` of a managed object's class
/// gives it.
public func NSStringFromClass(_ aClass: NSEntityMigrationPolicy.Type) -> String {
  if aClass == NSEntityMigrationPolicy.self { return "NSEntityMigrationPolicy" }
  return ClassNames.name(of: aClass) { ManagedClasses.find($0, inheriting: NSEntityMigrationPolicy.self) == aClass }
}
