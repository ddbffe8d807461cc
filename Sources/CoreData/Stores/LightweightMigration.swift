/// The parts of a lightweight migration that do not depend on the store.
extension StoreMetadata {
  /// Whether the options let a store of another model be migrated when it is opened.
  package static func asksForMigration(_ options: [AnyHashable: Any]?) -> Bool {
    isSet(NSMigratePersistentStoresAutomaticallyOption, options)
      && !isSet(NSIgnorePersistentStoreVersioningOption, options) && !isSet(NSReadOnlyPersistentStoreOption, options)
  }

  /// Whether the options leave the work of a migration that no reader needs for later.
  static func asksForDeferredMigration(_ options: [AnyHashable: Any]?) -> Bool {
    isSet(NSPersistentStoreDeferredLightweightMigrationOptionKey, options)
  }

  /// Whether a store with the metadata holds the entities as they are.
  package static func isCurrent(_ metadata: [String: Any], _ entities: [NSEntityDescription]) -> Bool {
    StoredVersionHashes(metadata)?.fit(entities) ?? true
  }

  /// Throws 134140 unless the mapping may be inferred.
  package static func checkInference(_ options: [AnyHashable: Any]?, _ path: String) throws {
    if isSet(NSInferMappingModelAutomaticallyOption, options) { return }
    throw CoreDataErrors.error(
      .migrationMissingMappingModel,
      "\(path) has to be migrated: no bundle of the program has a mapping model for it, and "
        + "\(NSInferMappingModelAutomaticallyOption) is not set."
    )
  }

  private static func isSet(_ option: String, _ options: [AnyHashable: Any]?) -> Bool {
    (options?[option] as? NSNumber)?.boolValue ?? false
  }
}

extension StoreFile {
  /// Runs a body that opens the file for a migration, and gives its errors the code.
  func reporting<T>(_ code: CocoaError.Code, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch {
      let reason = Swift.type(of: error) is NSError.Type ? error.localizedDescription : "\(error)"
      throw CoreDataErrors.error(
        code, "\(url.path) cannot be opened for a migration: \(reason)", [NSUnderlyingErrorKey: error])
    }
  }
}

extension CoreDataErrors {
  /// Runs a body that writes migrated rows; throws 134111 if they violate a uniqueness constraint.
  package static func reportingNewConstraints(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let rejected as RejectedRows {
      throw error(
        .migrationConstraintViolation, "The new model's uniqueness constraints do not hold: \(rejected.message).")
    }
  }
}
