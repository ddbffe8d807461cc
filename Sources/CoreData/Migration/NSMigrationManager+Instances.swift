/// The contexts, entities and objects of the running migration, for policies and expressions.
extension NSMigrationManager {
  /// The context of the old objects, read-only. Traps if no migration runs object by object.
  ///
  /// Use it in a policy to fetch old objects of other mappings. Policies run on its queue: no `perform` is needed.
  public var sourceContext: NSManagedObjectContext { running.sourceContext }

  /// The context of the new objects. Traps if no migration runs object by object.
  ///
  /// A policy inserts its objects here. Do not save it: the migration does, when all passes are done.
  ///
  /// ```swift
  /// final class Numbering: NSEntityMigrationPolicy {
  ///   override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
  ///     let books = NSFetchRequest<NSManagedObject>(entityName: "Book")
  ///     for (index, object) in try manager.destinationContext.fetch(books).enumerated() {
  ///       object.setValue(Int64(index), forKey: "number")
  ///     }
  ///   }
  /// }
  /// ```
  public var destinationContext: NSManagedObjectContext { running.destinationContext }

  /// The mapping whose policy is called. Traps if no migration runs object by object.
  ///
  /// For expressions and observers of the progress; a policy gets it as an argument.
  public var currentEntityMapping: NSEntityMapping {
    guard let mapping = running.currentMapping else { fatalError("The migration has no current entity mapping yet.") }
    return mapping
  }

  private var running: MappedMigration {
    guard let run else { fatalError("NSMigrationManager has no contexts: no migration runs object by object.") }
    return run
  }

  /// The entity of the old objects of a mapping, in the model of `sourceContext`; nil for a mapping that adds an
  /// entity. While no migration runs it is that of `sourceModel`.
  ///
  /// - Parameter mEntity: a mapping of this migration's mapping model.
  public func sourceEntity(for mEntity: NSEntityMapping) -> NSEntityDescription? {
    mEntity.sourceEntityName.flatMap { (run?.sourceContext.model ?? sourceModel).entitiesByName[$0] }
  }

  /// The entity of the new objects of a mapping, in the model of `destinationContext`; nil for a mapping that removes
  /// an entity. While no migration runs it is that of `destinationModel`.
  ///
  /// A policy makes its objects with it: `NSManagedObject(entity:insertInto:)` with an entity of `destinationModel`
  /// would belong to another model.
  ///
  /// - Parameter mEntity: a mapping of this migration's mapping model.
  public func destinationEntity(for mEntity: NSEntityMapping) -> NSEntityDescription? {
    mEntity.destinationEntityName.flatMap { (run?.destinationContext.model ?? destinationModel).entitiesByName[$0] }
  }

  // MARK: Associations

  /// Notes that a mapping made a new object of an old one, so that relationships to the old object lead to the new one.
  /// A policy that makes objects itself calls it for each. One old object may have several new ones, and a new object
  /// several old ones. Traps if no migration runs object by object.
  ///
  /// - Parameters:
  ///   - sourceInstance: the old object, of `sourceContext`.
  ///   - destinationInstance: the new object, of `destinationContext`. Without an association nothing refers to it, and
  ///     `createRelationships` is not called for it.
  ///   - entityMapping: the mapping under whose name the two are found.
  public func associate(
    sourceInstance: NSManagedObject, withDestinationInstance destinationInstance: NSManagedObject,
    for entityMapping: NSEntityMapping
  ) {
    running.associations.add(sourceInstance, destinationInstance, entityMapping.name ?? "")
  }

  /// The new objects that a mapping made of old ones, in their order. Empty for an unknown name. Those of other
  /// mappings all exist only from `createRelationships(forDestination:in:manager:)` on. Traps if no migration runs
  /// object by object.
  ///
  /// Complexity: one look-up for each old object.
  ///
  /// - Parameter sourceInstances: the old objects; nil for all.
  public func destinationInstances(
    forEntityMappingName mappingName: String, sourceInstances: [NSManagedObject]?
  ) -> [NSManagedObject] {
    running.associations.destinations(of: sourceInstances, mappingName)
  }

  /// The new objects that any mapping made of old ones.
  func destinationInstances(of sources: [NSManagedObject]) -> [NSManagedObject] {
    running.associations.destinations(of: sources, nil)
  }

  /// The old objects of which a mapping made new ones, in their order. Empty for an unknown name. Traps if no migration
  /// runs object by object.
  ///
  /// - Parameter destinationInstances: the new objects; nil for all.
  public func sourceInstances(
    forEntityMappingName mappingName: String, destinationInstances: [NSManagedObject]?
  ) -> [NSManagedObject] {
    running.associations.sources(of: destinationInstances, mappingName)
  }

  // MARK: Expressions

  /// A request for the old objects of an entity without its subentities.
  func fetchRequest(
    forSourceEntityNamed name: String, predicate: String?
  ) throws -> NSFetchRequest<any NSFetchRequestResult> {
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: name)
    request.includesSubentities = false
    if let predicate, predicate != "TRUEPREDICATE" { request.predicate = try NSPredicate.parse(format: predicate) }
    return request
  }

  /// What `$manager.KEY` in a mapping's expression is; nil for an unknown key.
  func value(ofKey key: String) -> Any? {
    switch key {
    case "sourceContext": sourceContext
    case "destinationContext": destinationContext
    case "sourceModel": sourceModel
    case "destinationModel": destinationModel
    case "mappingModel": mappingModel
    case "currentEntityMapping": currentEntityMapping
    default: key.hasPrefix("userInfo.") ? userInfo?[String(key.dropFirst(9))] : key == "userInfo" ? userInfo : nil
    }
  }
}

extension NSManagedObjectContext {
  fileprivate var model: NSManagedObjectModel? { persistentStoreCoordinator?.managedObjectModel }
}

/// Which mapping made which new objects of which old ones.
///
/// Objects are compared by identity, which is safe because the pairs keep them alive: a context would return a freed
/// object as a new instance. Pairs keep their order, and with it the order of ordered relationships.
struct MigrationAssociations {
  /// The pairs of one mapping, in both directions and in their order.
  private struct Pairs {
    var destinations: [ObjectIdentifier: [NSManagedObject]] = [:]
    var sources: [ObjectIdentifier: [NSManagedObject]] = [:]
    var pairs: [(source: NSManagedObject, destination: NSManagedObject)] = []
  }

  private var byMapping: [String: Pairs] = [:]
  /// The mappings in the order of their first pair.
  private var names: [String] = []

  mutating func add(_ source: NSManagedObject, _ destination: NSManagedObject, _ mapping: String) {
    if byMapping[mapping] == nil { names.append(mapping) }
    byMapping[mapping, default: Pairs()].destinations[ObjectIdentifier(source), default: []].append(destination)
    byMapping[mapping, default: Pairs()].sources[ObjectIdentifier(destination), default: []].append(source)
    byMapping[mapping, default: Pairs()].pairs.append((source, destination))
  }

  func destinations(of sources: [NSManagedObject]?, _ mapping: String?) -> [NSManagedObject] {
    let pairs = (mapping.map { [$0] } ?? names).compactMap { byMapping[$0] }
    guard let sources else { return pairs.flatMap { $0.pairs.map(\.destination) } }
    return sources.flatMap { source in pairs.flatMap { $0.destinations[ObjectIdentifier(source)] ?? [] } }
  }

  func sources(of destinations: [NSManagedObject]?, _ mapping: String) -> [NSManagedObject] {
    guard let pairs = byMapping[mapping] else { return [] }
    guard let destinations else { return pairs.pairs.map(\.source) }
    return destinations.flatMap { pairs.sources[ObjectIdentifier($0)] ?? [] }
  }
}
