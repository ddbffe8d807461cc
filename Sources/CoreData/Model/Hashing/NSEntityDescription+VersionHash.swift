extension NSEntityDescription {
  /// A SHA-256 hash, 32 bytes, over the parts of the entity that shape its table. A store's metadata keeps it to
  /// recognise its model.
  ///
  /// Names, types, optionality, transience, relationships, uniqueness constraints, the hierarchy and hash modifiers
  /// count; class names, defaults, delete rules, validation, indexes and user info do not. Of a derived attribute only
  /// the derivation counts. The hashes equal Apple's in all stores compared so far; of derivations only
  /// `relationship.@count` was among them.
  ///
  /// Complexity: proportional to the number of properties; computed once when a coordinator uses the model, at each call
  /// before.
  public var versionHash: Data {
    if let keptVersionHash { return keptVersionHash }
    let hash = versionHash { _ in true }
    keptVersionHash = hash
    return hash
  }

  /// The hash that the entity had before it got its derived attributes.
  var versionHashWithoutDerivations: Data { versionHash { !($0 is NSDerivedAttributeDescription) } }

  private func versionHash(where isIncluded: (NSPropertyDescription) -> Bool) -> Data {
    HashedEntity(
      name: name ?? "", isAbstract: isAbstract, superentity: superentity?.versionHash,
      properties: properties.filter(isIncluded).map(\.hashed),
      uniquenessConstraints: uniquenessConstraints.map { names(of: $0) }, modifier: versionHashModifier
    ).versionHash
  }
}

extension NSPropertyDescription {
  /// A SHA-256 hash, 32 bytes, over the parts of the property that shape the store's table: name, optionality,
  /// transience, hash modifier, and of its kind the type, or the destination, inverse, counts and order.
  public var versionHash: Data { hashed.versionHash }

  fileprivate var hashed: HashedProperty {
    HashedProperty(
      name: name, isOptional: isOptional, isTransient: isTransient, modifier: versionHashModifier, kind: hashedKind)
  }

  private var hashedKind: HashedProperty.Kind {
    switch self {
    case let attribute as NSAttributeDescription:
      if let derivation = (attribute as? NSDerivedAttributeDescription)?.hashedDerivation {
        return .derivation(derivation)
      }
      let elements = (attribute as? NSCompositeAttributeDescription)?.elements ?? []
      return .attribute(
        attribute.attributeType, isExternal: attribute.allowsExternalBinaryDataStorage,
        isPreserved: attribute.preservesValueInHistoryOnDeletion, elements: elements.map(\.hashed))
    case let relationship as NSRelationshipDescription:
      return .relationship(
        destination: relationship.destinationEntity?.name, inverse: relationship.inverseRelationship?.name,
        minCount: relationship.minCount, maxCount: relationship.maxCount,
        isOrdered: relationship.isOrdered)
    default: return .other
    }
  }
}

extension NSDerivedAttributeDescription {
  /// The derivation as Apple hashes it; nil for none.
  fileprivate var hashedDerivation: String? {
    guard let derivationExpression else { return nil }
    guard derivationExpression.expressionType == .keyPath else { return derivationExpression.description }
    return HashedProperty.derivation(ofKeyPath: derivationExpression.keyPath)
  }

  /// Whether the hash of this kind of derivation was compared with Apple's.
  var hasKnownVersionHash: Bool {
    derivationExpression?.function == "count:"
      || derivationExpression?.expressionType == .keyPath && derivationExpression?.keyPath.hasSuffix(".@count") == true
  }
}

extension NSManagedObjectModel {
  /// The `versionHash` of every entity, by name: what a store's metadata keeps under `NSStoreModelVersionHashesKey`.
  public var entityVersionHashesByName: [String: Data] { entitiesByName.mapValues(\.versionHash) }

  /// A checksum over all version hashes, base64 text: two models with the same checksum can open the same stores.
  /// Stages of a migration name versions by it.
  public var versionChecksum: String { Self.checksum(of: entityVersionHashesByName) }

  /// The checksums of all versions in a `.xcdatamodeld` or `.momd`, by version name.
  ///
  /// - Throws: `ManagedObjectModelError` if a version cannot be read.
  public class func checksumsForVersionedModel(at url: URL) throws -> [String: String] {
    try versions(at: url).mapValues(\.versionChecksum)
  }

  /// base64(SHA-256(all hashes in the order of the entities' names)).
  static func checksum(of hashes: [String: Data]) -> String {
    var hasher = SHA256()
    for (_, hash) in hashes.sorted(onBytes: { $0.key }) {
      hasher.append(hash)
    }
    return hasher.finish().base64EncodedString()
  }

  /// base64(SHA-512(each name followed by its hash, in the order of the names)): "NSStoreModelVersionHashesDigest".
  static func digest(of hashes: [String: Data]) -> String {
    var hasher = SHA512()
    for (name, hash) in hashes.sorted(onBytes: { $0.key }) {
      hasher.append(name.utf8)
      hasher.append(hash)
    }
    return hasher.finish().base64EncodedString()
  }
}
