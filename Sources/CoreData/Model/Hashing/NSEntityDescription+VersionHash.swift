extension NSEntityDescription {
  /// A SHA-256 hash, 32 bytes, over the parts of the entity that shape its table. A store's metadata keeps it to
  /// recognise its model.
  ///
  /// Names, types, optionality, transience, relationships, uniqueness constraints, the hierarchy and hash modifiers
  /// count; class names, defaults, delete rules, validation, indexes and user info do not. Of a derived attribute only
  /// the derivation counts. The hashes equal Apple's in all stores compared so far; of derivations only
  /// `relationship.@count` was among them.
  ///
  /// ```swift
  /// for (name, entity) in model.entitiesByName.sorted(by: { $0.key < $1.key }) {
  ///   print(name, entity.versionHash.map { String($0, radix: 16) }.joined())
  /// }
  /// ```
  ///
  /// A store opens without a migration if the hashes of all its entities are equal to the model's.
  /// `versionHashModifier` makes them differ where only the meaning of values has changed.
  ///
  /// The bytes that are hashed:
  ///
  /// ```text
  /// entity     name, isAbstract as a byte, the superentity's hash if there is one,
  ///            the hashes of all stored properties, inherited ones included, sorted by name,
  ///            the names of each uniqueness constraint joined by ".", the hash modifier
  /// property   name, isOptional and isTransient as bytes, the hash modifier; all this hashed, then
  ///            attribute      the type's number (4 bytes, little-endian), 01 for external data,
  ///                           01 for preserved values, the hashes of a composite's elements, sorted by name
  ///            relationship   destination, inverse, maximum, minimum (4 bytes each), 01 00 if it is ordered
  /// derived    the derivation's text alone, `books.@count` as "count:(books)"
  /// ```
  ///
  /// Complexity: proportional to the number of properties; computed once when a coordinator uses the model, at each
  /// call before.
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
  ///
  /// Computed at each call. Apple's framework makes the same bytes.
  public var versionHash: Data { hashed.versionHash }

  fileprivate var hashed: HashedProperty {
    HashedProperty(
      name: name, isOptional: isOptional, isTransient: isTransient, modifier: versionHashModifier, kind: hashedKind)
  }

  /// The settings of one kind of property. Fetched properties and expression columns are no part of their entity's
  /// hash.
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
  ///
  /// A key path with an operator, `books.@count`, is hashed as the function that Apple's framework makes of it,
  /// `count:(books)`.
  fileprivate var hashedDerivation: String? {
    guard let derivationExpression else { return nil }
    guard derivationExpression.expressionType == .keyPath else { return derivationExpression.description }
    return HashedProperty.derivation(ofKeyPath: derivationExpression.keyPath)
  }

  /// Whether the hash of this kind of derivation was compared with Apple's.
  ///
  /// Where it is not known, a store of Apple's opens although the hashes differ: see `StoredVersionHashes`.
  var hasKnownVersionHash: Bool {
    derivationExpression?.function == "count:"
      || derivationExpression?.expressionType == .keyPath && derivationExpression?.keyPath.hasSuffix(".@count") == true
  }
}

extension NSManagedObjectModel {
  /// The `versionHash` of every entity, by name: what a store's metadata keeps under `NSStoreModelVersionHashesKey`.
  ///
  /// ```swift
  /// let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
  /// let stored = metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]
  /// let changed = model.entityVersionHashesByName.filter { stored[$0.key] != $0.value }.keys.sorted()
  /// print("entities that a migration would change: \(changed)")
  /// ```
  public var entityVersionHashesByName: [String: Data] { entitiesByName.mapValues(\.versionHash) }

  /// A checksum over all version hashes, base64 text: two models with the same checksum can open the same stores.
  /// Stages of a migration name versions by it.
  ///
  /// ```swift
  /// let reference = NSManagedObjectModelReference(model: model, versionChecksum: model.versionChecksum)
  /// ```
  ///
  /// A store's metadata has it, if a newer framework of Apple's or this one wrote it.
  public var versionChecksum: String { Self.checksum(of: entityVersionHashesByName) }

  /// The checksums of all versions in a `.xcdatamodeld` or `.momd`, by version name.
  ///
  /// The names are those of the versions' files without their ending: "Library 2". Each version is read and hashed, so
  /// call it where stages are set up and not for each store.
  ///
  /// - Throws: `ManagedObjectModelError` if a version cannot be read.
  public class func checksumsForVersionedModel(at url: URL) throws -> [String: String] {
    try versions(at: url).mapValues(\.versionChecksum)
  }

  /// base64(SHA-256(all hashes in the order of the entities' names)).
  ///
  /// The metadata of stores has it under "NSStoreModelVersionChecksumKey". Names are ordered by their bytes and are not
  /// part of it.
  static func checksum(of hashes: [String: Data]) -> String {
    var hasher = SHA256()
    for (_, hash) in hashes.sorted(onBytes: { $0.key }) {
      hasher.append(hash)
    }
    return hasher.finish().base64EncodedString()
  }

  /// base64(SHA-512(each name followed by its hash, in the order of the names)): "NSStoreModelVersionHashesDigest".
  ///
  /// Unlike the checksum it covers the names themselves.
  static func digest(of hashes: [String: Data]) -> String {
    var hasher = SHA512()
    for (name, hash) in hashes.sorted(onBytes: { $0.key }) {
      hasher.append(name.utf8)
      hasher.append(hash)
    }
    return hasher.finish().base64EncodedString()
  }
}
