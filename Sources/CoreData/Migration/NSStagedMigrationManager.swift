/// Migrates a store in stages, when it is opened with this manager as the value of the option
/// `NSPersistentStoreStagedMigrationManagerOptionKey`.
///
/// Each stage is a migration of its own: after a failure the store has the version of the last stage that succeeded,
/// and the next opening goes on from there. A custom stage whose `didMigrateHandler` failed is not repeated.
///
/// ```swift
/// let newer = NSManagedObjectModel(contentsOf: URL(fileURLWithPath: "Library 2.xcdatamodel")) ?? model
/// let stage = NSCustomMigrationStage(
///   migratingFrom: NSManagedObjectModelReference(model: model, versionChecksum: model.versionChecksum),
///   to: NSManagedObjectModelReference(model: newer, versionChecksum: newer.versionChecksum))
/// stage.didMigrateHandler = { manager, _ in
///   guard let context = manager.container?.newBackgroundContext() else { return }
///   try context.performAndWait {
///     for object in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Book")) {
///       object.setValue(false, forKey: "isRead")
///     }
///     try context.save()
///   }
/// }
/// let description = NSPersistentStoreDescription(url: url)
/// description.setOption(
///   NSStagedMigrationManager([stage]), forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
/// ```
///
/// Stages before the store's version are skipped, so the same list serves stores of all versions. A lightweight
/// migration leads from the last stage to the coordinator's model. Opening the store throws 134506 if no stage begins
/// at its version, and 134504 if the model of a stage is not found.
///
/// Use it where the program must change the data between two versions, such as filling an attribute before it becomes
/// mandatory. No stages are needed if lightweight migration leads from every released version to the newest.
///
/// ```text
/// store at version 1                      stages [custom 1 to 2, lightweight 2, 3], model 4
///   willMigrateHandler                    store open with model 1
///   lightweight 1 to 2                    one transaction
///   didMigrateHandler                     store open with model 2
///   lightweight 2 to 3                    the stage's last version
///   lightweight 3 to 4                    to the coordinator's model
/// ```
///
/// Source: Apple's documentation of `NSStagedMigrationManager`.
public final class NSStagedMigrationManager: NSObject {
  /// The stages, oldest first.
  ///
  /// They are tried in this order; each is run at most once for a store.
  public let stages: [NSMigrationStage]
  /// The container that has the store open while a handler runs; otherwise nil.
  ///
  /// Its objects are `NSManagedObject`s of the stage's model. Its store is closed when the handler returns: keep no
  /// objects.
  public private(set) var container: NSPersistentContainer?

  /// A manager of stages, oldest first. Nothing is migrated before a store is opened with it.
  ///
  /// Without stages a store is migrated by inference, as without a manager.
  public init(_ stages: [NSMigrationStage]) {
    self.stages = stages
    super.init()
  }

  /// Brings a store to a model.
  ///
  /// Called by the coordinator before it opens a store whose version is not its model's.
  ///
  /// - Parameters:
  ///   - type: the store's type.
  ///   - options: those of the opening without this manager.
  ///   - model: the coordinator's.
  ///
  /// - Throws: 134506 if no stage begins at the store's version; 134504 if the model of a stage is not found; the
  ///   errors of lightweight migration and of handlers.
  func migrate(
    _ type: String, at url: URL, _ options: [AnyHashable: Any], to model: NSManagedObjectModel
  ) throws {
    // Stores that keep no model are migrated from models in use: those of all stages are, until the last migration.
    var inUse: [NSPersistentStoreCoordinator] = []
    defer { withExtendedLifetime(inUse) {} }
    var isStarted = false
    for stage in stages {
      let current = try checksum(type, url, options)
      if current == model.versionChecksum { return }
      switch stage {
      case let stage as NSLightweightMigrationStage:
        guard isStarted || stage.versionChecksums.contains(current) else { continue }
        isStarted = true
        guard let last = stage.versionChecksums.last, last != current else { continue }
        inUse.append(try lightweight(type, url, options, to: try self.model(last, or: model)))
      case let stage as NSCustomMigrationStage:
        guard stage.currentModel.versionChecksum == current else { continue }
        isStarted = true
        let (before, after) = try (stage.currentModel.resolve(), stage.nextModel.resolve())
        inUse.append(NSPersistentStoreCoordinator(managedObjectModel: before))
        try handle(stage.willMigrateHandler, of: stage, model: before, type: type, at: url, options: options)
        inUse.append(try lightweight(type, url, options, to: after))
        try handle(stage.didMigrateHandler, of: stage, model: after, type: type, at: url, options: options)
      default: continue
      }
    }
    guard isStarted || stages.isEmpty else {
      throw CoreDataErrors.error(
        .stagedMigrationBackwardMigration, "No stage of the migration begins at the version of \(url.path).")
    }
    if try checksum(type, url, options) != model.versionChecksum {
      inUse.append(try lightweight(type, url, options, to: model))
    }
  }

  /// The version of the store, read anew before each stage.
  private func checksum(_ type: String, _ url: URL, _ options: [AnyHashable: Any]) throws -> String {
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(
      ofType: type, at: url, options: options)
    return NSManagedObjectModel.checksum(of: metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:])
  }

  /// The model of a checksum: the store's new one, one of a stage, or one of the program's.
  ///
  /// A lightweight stage has only checksums, so its models have to be found.
  private func model(_ checksum: String, or model: NSManagedObjectModel) throws -> NSManagedObjectModel {
    if model.versionChecksum == checksum { return model }
    let references = stages.compactMap { $0 as? NSCustomMigrationStage }.flatMap { [$0.currentModel, $0.nextModel] }
    if let reference = references.first(where: { $0.versionChecksum == checksum }) { return try reference.resolve() }
    if let model = LoadedModels.newest({ $0.versionChecksum == checksum ? $0 : nil }) { return model }
    return try NSManagedObjectModelReference(entityVersionHashes: [:], in: nil, versionChecksum: checksum).resolve()
  }

  /// Opens and closes the store with a model, which migrates it by inference.
  ///
  /// - Returns: the coordinator, with which the store's new model stays in use.
  private func lightweight(
    _ type: String, _ url: URL, _ options: [AnyHashable: Any], to model: NSManagedObjectModel
  ) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      ofType: type, configurationName: nil, at: url,
      options: options.merging([
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      ]) { $1 })
    try coordinator.remove(store)
    return coordinator
  }

  /// Opens the store in a container, runs a handler, and closes it. Without a handler nothing is opened.
  private func handle(
    _ handler: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?, of stage: NSCustomMigrationStage,
    model: NSManagedObjectModel, type: String, at url: URL, options: [AnyHashable: Any]
  ) throws {
    guard let handler else { return }
    let container = NSPersistentContainer(
      name: url.deletingPathExtension().lastPathComponent, managedObjectModel: model)
    let description = NSPersistentStoreDescription(url: url)
    description.type = type
    container.persistentStoreDescriptions = [description]
    let store = try container.persistentStoreCoordinator.addPersistentStore(
      ofType: type, configurationName: nil, at: url, options: options)
    self.container = container
    defer { self.container = nil }
    try handler(self, stage)
    try container.persistentStoreCoordinator.remove(store)
  }
}

/// The option whose value is the `NSStagedMigrationManager` that brings the store to the coordinator's model.
///
/// `NSMigratePersistentStoresAutomaticallyOption` need not be set beside it. A store that has the current version is
/// opened without asking the manager.
public let NSPersistentStoreStagedMigrationManagerOptionKey = "NSPersistentStoreStagedMigrationManagerOptionKey"
