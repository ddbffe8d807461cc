/// What may be done with a store of another model when it is opened.
///
/// ```text
/// NSMigratePersistentStoresAutomatically…   NSInferMappingModelAutomatically…
/// ----------------------------------------  ----------------------------------  ---------
/// false                                     any                                 .none: 134100 if the model is another
/// true                                      false                               .mapped: a mapping model, or 134140
/// true                                      true                                .inferred
/// ```
///
/// Read-only stores and those whose versions are ignored are never migrated. `.additions` is not reached by options:
/// the pool opens its own store so, which programs of several versions share.
package enum AllowedMigration: Sendable {
  case none
  /// Tables, optional attributes and indexes are added where they are missing; all else stays as it is.
  case additions
  /// Only a mapping model may lead to the new model. The coordinator looks for it.
  case mapped
  /// Whatever a mapping can be inferred for.
  case inferred

  /// What the options of a store allow.
  init(_ options: [AnyHashable: Any]?) {
    func isSet(_ option: String) -> Bool { (options?[option] as? NSNumber)?.boolValue ?? false }
    guard isSet(NSMigratePersistentStoresAutomaticallyOption), !isSet(NSIgnorePersistentStoreVersioningOption),
      !isSet(NSReadOnlyPersistentStoreOption)
    else {
      self = .none
      return
    }
    self = isSet(NSInferMappingModelAutomaticallyOption) ? .inferred : .mapped
  }
}

extension StoreOpening {
  /// Whether a store with the metadata has to be migrated, and may be.
  ///
  /// - Throws: 134140 if only a mapping model may do it.
  package func migrates(_ metadata: [String: Any], at place: String) throws -> Bool {
    if migration == .none || StoreMetadata.isCurrent(metadata, entities) { return false }
    guard migration != .mapped else {
      throw CoreDataErrors.error(
        .migrationMissingMappingModel,
        "\(place) has to be migrated: no bundle of the program has a mapping model for it, and "
          + "\(NSInferMappingModelAutomaticallyOption) is not set.")
    }
    return true
  }

  /// Whether the options leave the work of a migration that no reader needs for later.
  var defersMigration: Bool { isSet(NSPersistentStoreDeferredLightweightMigrationOptionKey) }
}

extension StoreMetadata {
  /// Whether a store with the metadata holds the entities as they are.
  static func isCurrent(_ metadata: [String: Any], _ entities: [NSEntityDescription]) -> Bool {
    StoredVersionHashes(metadata)?.fit(entities) ?? true
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
    do { try body() } catch let rejected as RejectedRows { throw newConstraintFails(rejected.message) }
  }

  /// 134111: rows violate a uniqueness constraint of the new model.
  package static func newConstraintFails(_ message: String) -> NSError {
    error(.migrationConstraintViolation, "The new model's uniqueness constraints do not hold: \(message).")
  }
}
