/// Carries out a mapping model object by object: three passes over the mappings, as `NSEntityMigrationPolicy` says.
final class MappedMigration {
  let sourceContext: NSManagedObjectContext
  let destinationContext: NSManagedObjectContext
  private(set) var currentMapping: NSEntityMapping?
  var associations = MigrationAssociations()
  private let manager: NSMigrationManager
  private let cancellation: MigrationCancellation
  /// Old objects whose context would forget them.
  private var sources: [NSManagedObject] = []

  private init(
    _ manager: NSMigrationManager, from: NSPersistentStoreCoordinator, to: NSPersistentStoreCoordinator,
    cancellation: MigrationCancellation
  ) {
    self.manager = manager
    self.cancellation = cancellation
    sourceContext = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    destinationContext = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    sourceContext.persistentStoreCoordinator = from
    destinationContext.persistentStoreCoordinator = to
    sourceContext.name = "migration, source"
    destinationContext.name = "migration, destination"
    destinationContext.undoManager = nil
  }

  static func run(
    _ manager: NSMigrationManager, from source: StoreFile, ofType sourceType: String, to destination: StoreFile,
    ofType destinationType: String, cancellation: MigrationCancellation
  ) throws {
    // Coordinators close their stores when they are freed.
    let from = NSPersistentStoreCoordinator(managedObjectModel: manager.sourceModel.withoutClasses)
    let to = NSPersistentStoreCoordinator(managedObjectModel: manager.destinationModel.withoutClasses)
    let old = try source.openForMigration(sourceType, from)
    let isAppending = destination.exists
    let new =
      try isAppending
      ? destination.openToAppend(destinationType, to) : destination.createForMigration(destinationType, to)
    do {
      let metadata = NSPersistentStore.programEntries(of: old.metadata ?? [:])
      new.metadata = NSPersistentStore.merging(metadata, into: new.metadata ?? [:])
      let run = MappedMigration(manager, from: from, to: to, cancellation: cancellation)
      manager.run = run
      defer { manager.run = nil }
      try run.sourceContext.performAndWait {
        try run.destinationContext.performAndWait { try run.passes() }
        run.sources = []
      }
    } catch  where !isAppending {
      // The migration's error is the one to tell; what is left of its new file is no store of anybody's.
      try? to.destroyPersistentStore(at: destination.url, ofType: destinationType, options: destination.options)
      try? FileManager.default.removeItem(at: destination.url)
      throw error
    }
    let kind = try NSPersistentStoreCoordinator.storeClass(destinationType)
    try to.remove(new)
    if isAppending { return }
    try kind.setModel(manager.destinationModel, identifier: old.identifier, at: destination.url, destination.options)
  }

  private func passes() throws {
    let mappings = manager.mappingModel.entityMappings ?? []
    let policies = try mappings.map(Self.policy)
    for (index, (mapping, policy)) in zip(mappings, policies).enumerated() {
      try enter(mapping)
      try policy.begin(mapping, with: manager)
      for object in try sourceObjects(of: mapping, policy) {
        try cancellation.check()
        try policy.createDestinationInstances(forSource: object, in: mapping, manager: manager)
      }
      try policy.endInstanceCreation(forMapping: mapping, manager: manager)
      manager.setProgress(0.5 * Float(index + 1) / Float(mappings.count))
    }
    for (index, (mapping, policy)) in zip(mappings, policies).enumerated() {
      try enter(mapping)
      for object in associations.destinations(of: nil, mapping.name ?? "") {
        try cancellation.check()
        try policy.createRelationships(forDestination: object, in: mapping, manager: manager)
      }
      try policy.endRelationshipCreation(forMapping: mapping, manager: manager)
      manager.setProgress(0.5 + 0.3 * Float(index + 1) / Float(mappings.count))
    }
    for (mapping, policy) in zip(mappings, policies) {
      try enter(mapping)
      try policy.performCustomValidation(forMapping: mapping, manager: manager)
      try policy.end(mapping, manager: manager)
    }
    try cancellation.check()
    try destinationContext.save()
  }

  private func enter(_ mapping: NSEntityMapping) throws {
    try cancellation.check()
    currentMapping = mapping
  }

  private func sourceObjects(
    of mapping: NSEntityMapping, _ policy: NSEntityMigrationPolicy
  ) throws -> [NSManagedObject] {
    guard let name = mapping.sourceEntityName, mapping.mappingType != .removeEntityMappingType,
      mapping.mappingType != .addEntityMappingType
    else { return [] }
    let objects: [NSManagedObject]
    if let expression = mapping.sourceExpression {
      objects = MappingEvaluation.objects(try MappingEvaluation(manager, mapping, policy).value(expression))
    } else {
      objects = MappingEvaluation.objects(
        try sourceContext.fetch(manager.fetchRequest(forSourceEntityNamed: name, predicate: nil)))
    }
    // Associations go by the objects' identity.
    sources += objects
    return objects
  }

  private static func policy(of mapping: NSEntityMapping) throws -> NSEntityMigrationPolicy {
    guard let name = mapping.entityMigrationPolicyClassName, !name.isEmpty else { return NSEntityMigrationPolicy() }
    guard
      let policy = ManagedClasses.find(name, inheriting: NSEntityMigrationPolicy.self) as? NSEntityMigrationPolicy.Type
    else {
      throw CoreDataErrors.error(
        .entityMigrationPolicy,
        "The mapping \(mapping.name ?? "") names the migration policy \(name), and the program has no such class.")
    }
    return policy.init()
  }
}

extension NSManagedObjectModel {
  /// A copy whose objects are of no class of the program.
  fileprivate var withoutClasses: NSManagedObjectModel {
    let model = NSManagedObjectModel()
    copyContents(into: model)
    for entity in model.entities { entity.managedObjectClassName = "NSManagedObject" }
    return model
  }
}
