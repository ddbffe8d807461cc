extension NSManagedObjectModel {
  /// Whether this model can open a store with the given metadata: both have the same entities with the same version
  /// hashes.
  ///
  /// ```swift
  /// let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
  /// if !model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata) { print("needs a migration") }
  /// ```
  ///
  /// - Parameter configuration: the configuration whose entities are compared; nil for all entities. An unknown one
  ///   gives false.
  ///
  /// Apple's hash of derived attributes other than counts is unknown. A store of Apple's whose hash of such an entity
  /// differs is compatible, unless it is the hash without any derived attribute.
  public func isConfiguration(
    withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]
  ) -> Bool {
    guard let entities = entities(forConfigurationName: configuration) else { return false }
    return StoredVersionHashes(metadata)?.fit(entities) ?? false
  }
}
