import CoreData

// `@unchecked Sendable` as its superclass is; it is compiled, never used.
private final class Container: NSPersistentContainer, @unchecked Sendable {
  override class func defaultDirectoryURL() -> URL { super.defaultDirectoryURL() }
  override func newBackgroundContext() -> NSManagedObjectContext { super.newBackgroundContext() }
}

private func containers(_ container: NSPersistentContainer, _ model: NSManagedObjectModel) async throws {
  _ = Container(name: "A")
  _ = NSPersistentContainer(name: "A", managedObjectModel: model)
  let _: URL = NSPersistentContainer.defaultDirectoryURL()
  let _: String = container.name
  let _: NSManagedObjectContext = container.viewContext
  let _: NSManagedObjectModel = container.managedObjectModel
  let _: NSPersistentStoreCoordinator = container.persistentStoreCoordinator
  let _: [NSPersistentStoreDescription] = container.persistentStoreDescriptions
  container.persistentStoreDescriptions = []
  container.loadPersistentStores { (_: NSPersistentStoreDescription, _: (any Error)?) in }
  let _: NSManagedObjectContext = container.newBackgroundContext()
  let _: Int = await container.performBackgroundTask { _ in 1 }
  let _: Int = try await container.performBackgroundTask { try $0.count(for: NSManagedObject.fetchRequest()) }
  let _: any Sendable = container
}

private func tasks(_ container: NSPersistentContainer) {
  container.performBackgroundTask { (_: NSManagedObjectContext) in }
}

private func descriptions(_ url: URL) {
  let description = NSPersistentStoreDescription(url: url)
  _ = NSPersistentStoreDescription()
  let _: String = description.type
  description.type = NSInMemoryStoreType
  let _: (String?, URL?) = (description.configuration, description.url)
  description.configuration = "C"
  description.url = nil
  let _: [String: NSObject] = description.options
  description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
  description.isReadOnly = !description.isReadOnly
  let _: TimeInterval = description.timeout
  description.timeout = 1
  let _: [String: NSObject] = description.sqlitePragmas
  description.setValue("WAL" as NSString, forPragmaNamed: "journal_mode")
  description.shouldAddStoreAsynchronously = !description.shouldAddStoreAsynchronously
  description.shouldMigrateStoreAutomatically = !description.shouldMigrateStoreAutomatically
  description.shouldInferMappingModelAutomatically = !description.shouldInferMappingModelAutomatically
  let _: any NSCopying = description
}

private func coordinators(
  _ model: NSManagedObjectModel, at url: URL, _ store: NSPersistentStore, in context: NSManagedObjectContext
) async throws {
  typealias Coordinator = NSPersistentStoreCoordinator
  let coordinator = Coordinator(managedObjectModel: model)
  let _: NSManagedObjectModel = coordinator.managedObjectModel
  let _: [NSPersistentStore] = coordinator.persistentStores
  let _: String? = coordinator.name
  coordinator.name = "a"
  let _: NSPersistentStore? = coordinator.persistentStore(for: url)
  let _: URL = coordinator.url(for: store)
  let _: Bool = coordinator.setURL(url, for: store)
  let _: NSPersistentStore = try coordinator.addPersistentStore(
    ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
  let _: NSPersistentStore = try coordinator.addPersistentStore(
    type: .sqlite, configuration: nil, at: url, options: nil)
  coordinator.addPersistentStore(with: NSPersistentStoreDescription(url: url)) { _, _ in }
  try coordinator.remove(store)
  let _: [String: Any] = coordinator.metadata(for: store)
  coordinator.setMetadata([:], for: store)
  let _: [String: Any] = try Coordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url, options: nil)
  let _: [String: Any] = try Coordinator.metadataForPersistentStore(type: .sqlite, at: url, options: nil)
  try Coordinator.setMetadata(nil, forPersistentStoreOfType: NSSQLiteStoreType, at: url, options: nil)
  try Coordinator.setMetadata([:], type: .sqlite, at: url, options: nil)
  let _: NSManagedObjectID? = coordinator.managedObjectID(forURIRepresentation: url)
  let _: Any = try coordinator.execute(NSBatchDeleteRequest(objectIDs: []), with: context)
  let _: Int = await coordinator.perform { 1 }
  coordinators(coordinator)

  let _: NSPersistentStore = try coordinator.migratePersistentStore(
    store, to: url, options: nil, withType: NSSQLiteStoreType)
  let _: NSPersistentStore = try coordinator.migratePersistentStore(store, to: url, options: nil, type: .sqlite)
  try coordinator.replacePersistentStore(
    at: url, destinationOptions: nil, withPersistentStoreFrom: url, sourceOptions: nil, ofType: NSSQLiteStoreType)
  try coordinator.replacePersistentStore(
    at: url, destinationOptions: nil, withPersistentStoreFrom: url, sourceOptions: nil, type: .sqlite)
  try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType, options: nil)
  try coordinator.destroyPersistentStore(at: url, type: .sqlite, options: nil)
  let _: NSPersistentHistoryToken? = coordinator.currentPersistentHistoryToken(fromStores: nil)
  let _: [String: Any] = Coordinator.registeredStoreTypes
  Coordinator.registerStoreClass(nil, forStoreType: "Mine")
  try coordinator.finishDeferredLightweightMigration()
  try coordinator.finishDeferredLightweightMigrationTask()
}

private func coordinators(_ coordinator: NSPersistentStoreCoordinator) {
  coordinator.perform {}
  coordinator.performAndWait {}
  let _: Int = coordinator.performAndWait { 1 }
}

private func stores(_ store: NSPersistentStore, _ coordinator: NSPersistentStoreCoordinator, _ url: URL) throws {
  let _: [NSPersistentStore.StoreType] = [.sqlite, .binary, .inMemory]
  let _: [String] = [NSSQLiteStoreType, NSInMemoryStoreType, NSBinaryStoreType]
  let _: (String?, String, URL?) = (store.identifier, store.type, store.url)
  let _: [AnyHashable: Any]? = store.options
  let _: Bool = store.isReadOnly
  let _: [String: Any]? = store.metadata
  let _: String = store.configurationName
  let _: NSPersistentStoreCoordinator? = store.persistentStoreCoordinator
  store.didAdd(to: coordinator)
  store.willRemove(from: coordinator)
  try store.loadMetadata()
  let _: [String: Any] = try NSPersistentStore.metadataForPersistentStore(with: url)
  try NSPersistentStore.setMetadata([:], forPersistentStoreAt: url)
}

private func names() {
  let _: [Notification.Name] = [
    .NSPersistentStoreCoordinatorStoresWillChange, .NSPersistentStoreCoordinatorStoresDidChange,
    .NSPersistentStoreCoordinatorWillRemoveStore, .NSPersistentStoreRemoteChange,
  ]
  let _: [String] = [
    NSAddedPersistentStoresKey, NSRemovedPersistentStoresKey, NSUUIDChangedPersistentStoresKey,
    NSReadOnlyPersistentStoreOption, NSPersistentStoreTimeoutOption, NSSQLitePragmasOption, NSSQLiteAnalyzeOption,
    NSSQLiteManualVacuumOption, NSIgnorePersistentStoreVersioningOption, NSMigratePersistentStoresAutomaticallyOption,
    NSInferMappingModelAutomaticallyOption, NSPersistentHistoryTrackingKey,
    NSPersistentStoreRemoteChangeNotificationPostOptionKey, NSPersistentStoreConnectionPoolMaxSizeKey,
    NSPersistentStoreURLKey, NSPersistentHistoryTokenKey, NSStoreTypeKey, NSStoreUUIDKey, NSStoreModelVersionHashesKey,
    NSStoreModelVersionIdentifiersKey, NSPersistentStoreOSCompatibility,
    NSPersistentStoreDeferredLightweightMigrationOptionKey, NSSQLiteErrorDomain,
  ]
}
