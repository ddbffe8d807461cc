extension NSManagedObjectModel {
  /// Whether this model can open a store with the given metadata: both have the same entities with the same version
  /// hashes.
  ///
  /// ```swift
  /// let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
  /// if !model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata) { print("needs a migration") }
  /// ```
  ///
  /// Reading the metadata does not open the store. A program asks it to warn before a migration that takes long, or to
  /// refuse a store of a newer version; opening a store that does not fit throws 134100, or migrates if the options say
  /// so.
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
