extension NSManagedObjectModel {
  /// Whether this model can open a store with the given metadata: both have the same entities with the same version
  /// hashes.
  ///
  /// ```swift
  /// let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
  /// if !model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata) { print("needs a migration") }
  /// ```
  ///
  /// Reading the metadata does not open the store. Use it to warn before a migration that takes long, or to refuse a
  /// store of a newer version; opening a store that is not compatible throws 134100, or migrates it if the options say
  /// so.
  ///
  /// - Parameter configuration: the configuration whose entities are compared; nil for all entities. An unknown one
  ///   gives false.
  ///
  /// How Apple's framework hashes derived attributes other than counts is unknown. So an entity with such an attribute
  /// counts as compatible with a store that Apple's framework made, whatever its hash, unless the hash is that of the
  /// entity without its derived attributes.
  public func isConfiguration(
    withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]
  ) -> Bool {
    guard let entities = entities(forConfigurationName: configuration) else { return false }
    return StoredVersionHashes(metadata)?.fit(entities) ?? false
  }
}
