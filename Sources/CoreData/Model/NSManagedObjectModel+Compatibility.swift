extension NSManagedObjectModel {
  /// Whether a store with the given metadata can be opened with this model: whether both have the same entities, with the
  /// same version hashes. `nil` as the name means all entities.
  ///
  /// Entities with derived attributes other than counts are compared by name only, because Apple's hash of these is not
  /// known for certain.
  public func isConfiguration(
    withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]
  ) -> Bool {
    guard let entities = entities(forConfigurationName: configuration),
      let hashes = metadata[NSStoreModelVersionHashesKey] as? [String: Data]
    else { return false }
    return Self.incompatibleEntityNames(entities, hashes: hashes).isEmpty
  }

  /// The entities whose version in a store with the given hashes is another one, or that are missing there or here.
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
