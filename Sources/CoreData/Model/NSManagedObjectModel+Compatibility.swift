extension NSManagedObjectModel {
  /// Whether this model can open a store with the given metadata: both have the same entities with the same version
  /// hashes.
  ///
  /// - Parameter configuration: the configuration whose entities are compared; nil for all entities. An unknown one
  ///   gives false.
  ///
  /// Apple's hash of derived attributes other than counts is unknown. A store whose hash of such an entity differs is
  /// taken for one of Apple's, unless it is the hash without any derived attribute.
  public func isConfiguration(
    withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]
  ) -> Bool {
    guard let entities = entities(forConfigurationName: configuration),
      let hashes = metadata[NSStoreModelVersionHashesKey] as? [String: Data]
    else { return false }
    return Self.incompatibleEntityNames(entities, hashes: hashes).isEmpty
  }

  /// The names of entities whose hash in the store differs, or that only the store or only the model has, sorted.
  static func incompatibleEntityNames(_ entities: [NSEntityDescription], hashes: [String: Data]) -> [String] {
    let names = Set(entities.compactMap(\.name))
    let different = entities.filter { !$0.isCompatible(with: hashes[$0.name ?? ""]) }.compactMap(\.name)
    return (different + hashes.keys.filter { !names.contains($0) }).sorted()
  }
}

extension NSEntityDescription {
  func isCompatible(with hash: Data?) -> Bool {
    guard let hash else { return false }
    if hash == versionHash { return true }
    let hasUnknownHash = properties.contains { ($0 as? NSDerivedAttributeDescription)?.hasKnownVersionHash == false }
    return hasUnknownHash && hash != versionHashWithoutDerivations
  }
}
