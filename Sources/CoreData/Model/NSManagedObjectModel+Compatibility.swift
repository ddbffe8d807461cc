extension NSManagedObjectModel {
  /// Whether this model can open a store with the given metadata: both have the same entities with the same version
  /// hashes.
  ///
  /// - Parameter configuration: the configuration whose entities are compared; nil for all entities. An unknown one
  ///   gives false.
  ///
  /// Entities with derived attributes other than counts are compared by name only, since Apple's hash of these is
  /// unknown.
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
    return hash == versionHash
      || properties.contains { ($0 as? NSDerivedAttributeDescription)?.hasKnownVersionHash == false }
  }
}
