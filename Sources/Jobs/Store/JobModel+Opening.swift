import CoreData

extension JobModel {
  /// A coordinator of the app's store at a place and, if wanted, of the pool's store beside it, with the merged model.
  ///
  /// - Parameters:
  ///   - identifiers: the UUIDs for stores that are made; nil for stores that must be there.
  ///   - more: further options of both stores.
  ///   - hasPool: whether the pool's store is opened, too.
  /// - Throws: ``JobModelError``, or an `NSError` of Core Data.
  package static func coordinator(
    of place: StorePlace, _ app: NSManagedObjectModel, making identifiers: (app: String, pool: String?)? = nil,
    options more: [AnyHashable: Any] = [:], hasPool: Bool
  ) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try merged(with: app))
    func options(_ identifier: String?) -> [AnyHashable: Any] {
      let identity: [AnyHashable: Any] =
        identifier.map { [NSPersistentStoreIdentifierOption: $0] } ?? [NSPersistentStoreMustExistOption: true]
      return identity.merging(more) { $1 }
    }
    try coordinator.addPersistentStore(
      ofType: place.storeType, configurationName: appConfiguration, at: place.url, options: options(identifiers?.app))
    if hasPool {
      try JobStore.addPoolStore(to: coordinator, at: place.url, options: options(identifiers?.pool))
    }
    return coordinator
  }

  /// The UUIDs of the app's store at a place and of the pool's; nil for what is not there.
  ///
  /// - Throws: an `NSError` of Core Data if the place cannot be read.
  package static func identifiers(at place: StorePlace) throws -> (app: String, pool: String?)? {
    func identifier(_ options: [AnyHashable: Any]?) throws -> String? {
      do {
        let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(
          ofType: place.storeType, at: place.url, options: options)
        return metadata[NSStoreUUIDKey] as? String
      } catch let error as NSError where error.isForMissingStore {
        return nil
      }
    }
    guard let app = try identifier(nil) else { return nil }
    return (app, try identifier([NSPersistentStoreTablePrefixOption: tablePrefix]))
  }
}

extension PoolOwner {
  /// Deletes all owners of the store, without saving.
  package static func forgetAll(in context: NSManagedObjectContext) throws {
    let request = PoolSetting.fetchRequest()
    request.predicate = NSPredicate(format: "name BEGINSWITH %@", settingName(nil))
    for setting in try context.fetch(request) { context.delete(setting) }
  }
}
