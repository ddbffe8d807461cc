/// Carries out a mapping model object by object: three passes over the mappings, as `NSEntityMigrationPolicy` says.
///
/// ```text
/// pass 1, progress 0 to 0.5      for each mapping: begin, createDestinationInstances for each old object,
///                                endInstanceCreation
/// pass 2, progress 0.5 to 0.8    for each mapping: createRelationships for each new object,
///                                endRelationshipCreation
/// pass 3                         for each mapping: performCustomValidation, end
/// save                           one transaction with all new objects; then progress 1
/// ```
///
/// There are three passes because a relationship may lead to objects of any mapping, which therefore all exist before
/// the first is set. The order of the mappings is that of the mapping model. All old and new objects are in memory
/// until the save: old ones because associations find them by identity, new ones because they are unsaved. An inferred
/// mapping, which runs in the database, suits large stores better.
///
/// It runs on the caller's thread, inside of `performAndWait` of both contexts, so policies may use the objects
/// directly. Objects have the class `NSManagedObject`: classes of the program belong to one version of the model only.
///
/// Source: Apple's Core Data Model Versioning and Data Migration Programming Guide, "The Migration Process".
final class MappedMigration {
  /// Reads the old store, which is open read-only.
  let sourceContext: NSManagedObjectContext
  /// Has the new objects. It has no undo manager, which would keep a step for each of them.
  let destinationContext: NSManagedObjectContext
  /// The mapping whose policy is running, for `NSMigrationManager.currentEntityMapping`.
  private(set) var currentMapping: NSEntityMapping?
  /// Which new objects were made of which old ones, by mapping.
  var associations = MigrationAssociations()
  private let manager: NSMigrationManager
  private let cancellation: MigrationCancellation
  /// The old objects, which `sourceContext` alone would not keep alive.
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

  /// Migrates a store into a new file, or adds its objects to a store that exists.
  ///
  /// 1. Both stores are opened by coordinators of their own, with copies of the models whose entities name no classes.
  /// 2. The program's own entries of the metadata are copied, except those that a store which exists has already.
  /// 3. The passes run and the new objects are saved.
  /// 4. The new store gets the old one's UUID and the copy of the program's own model, with its classes.
  ///
  /// If a step throws, a new file is removed; a store that was there before has lost nothing, as nothing was saved.
  ///
  /// - Parameters:
  ///   - isAppending: whether the objects are added to the store that is there.
  ///   - cancellation: asked before each object, so a cancellation takes effect soon.
  /// - Throws: the codes of `NSMigrationManager.migrateStore`, and what policies and validation throw.
  static func run(
    _ manager: NSMigrationManager, from source: StoreFile, ofType sourceType: String, to destination: StoreFile,
    ofType destinationType: String, isAppending: Bool, cancellation: MigrationCancellation
  ) throws {
    // Coordinators close their stores when they are freed.
    let from = NSPersistentStoreCoordinator(managedObjectModel: manager.sourceModel.withoutClasses)
    let to = NSPersistentStoreCoordinator(managedObjectModel: manager.destinationModel.withoutClasses)
    let old = try source.openForMigration(sourceType, from)
    func fill(_ new: any ObjectStore) throws {
      // A store to which objects are added keeps its own entries.
      let (entries, newEntries) = (old.metadata ?? [:], new.metadata ?? [:])
      new.metadata = NSPersistentStore.programEntries(of: entries).merging(newEntries) { $1 }
      let run = MappedMigration(manager, from: from, to: to, cancellation: cancellation)
      manager.run = run
      defer { manager.run = nil }
      try run.sourceContext.performAndWait {
        try run.destinationContext.performAndWait { try run.passes() }
        run.sources = []
      }
      try to.remove(new)
    }
    if isAppending { return try fill(destination.openToAppend(destinationType, to)) }
    try destination.createForMigration(destinationType, to) { new in
      try fill(new)
      try NSPersistentStoreCoordinator.storeClass(destinationType, at: destination.url).setModel(
        manager.destinationModel, identifier: old.identifier, at: destination.url, destination.options)
    }
  }

  /// The three passes and the save. All policies are made before the first one begins, so that a class that is missing
  /// is an error before any work is done.
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
      // Only associated objects: a policy connects objects that it inserted without an association itself.
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

  /// Makes a mapping the current one, unless the migration was cancelled.
  private func enter(_ mapping: NSEntityMapping) throws {
    try cancellation.check()
    currentMapping = mapping
  }

  /// The old objects of a mapping: those that its source expression fetches, or all of its entity without subentities,
  /// which have mappings of their own. None for a mapping that adds or removes an entity.
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

  /// The policy of a mapping; the class is found by its name as managed objects' classes are: "SplitName" or
  /// "Library.SplitName".
  ///
  /// - Throws: 134170 if the program has no such class.
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
