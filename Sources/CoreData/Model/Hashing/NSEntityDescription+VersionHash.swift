extension NSEntityDescription {
  /// A SHA-256 hash, 32 bytes, over the parts of the entity that shape its table. A store's metadata keeps it to
  /// recognise its model.
  ///
  /// Names, types, optionality, transience, relationships, uniqueness constraints, the hierarchy and hash modifiers
  /// count; class names, defaults, delete rules, validation, indexes and user info do not. Of a derived attribute only
  /// the derivation counts. The hashes equal Apple's in all stores compared so far; of derivations only
  /// `relationship.@count` was among them.
  ///
  /// Complexity: proportional to the number of properties; computed at each call.
  public var versionHash: Data { versionHash { _ in true } }

  /// The hash that the entity had before it got its derived attributes.
  var versionHashWithoutDerivations: Data { versionHash { !($0 is NSDerivedAttributeDescription) } }

  private func versionHash(where isIncluded: (NSPropertyDescription) -> Bool) -> Data {
    var hasher = SHA256()
    hasher.append((name ?? "").utf8)
    hasher.append([isAbstract ? 1 : 0])
    if let superentity { hasher.append(superentity.versionHash) }
    for property in properties.sorted(by: { $0.name.precedesByBytes($1.name) })
    where property.countsInEntityHash && isIncluded(property) {
      hasher.append(property.versionHash)
    }
    for constraint in uniquenessConstraints {
      hasher.append(names(of: constraint).joined(separator: ".").utf8)
    }
    hasher.append((versionHashModifier ?? "").utf8)
    return hasher.finish()
  }
}

extension NSPropertyDescription {
  /// A SHA-256 hash, 32 bytes, over the parts of the property that shape the store's table.
  public var versionHash: Data {
    var hasher = SHA256()
    if let derivation = (self as? NSDerivedAttributeDescription)?.hashedDerivation {
      hasher.append(derivation.utf8)
      return hasher.finish()
    }
    hasher.append(basicVersionHash)
    appendVersionHash(to: &hasher)
    return hasher.finish()
  }

  /// Whether the property's hash is part of its entity's.
  fileprivate var countsInEntityHash: Bool {
    !isTransient && (self is NSAttributeDescription || self is NSRelationshipDescription)
  }

  /// The hash of the settings that all kinds of properties have.
  private var basicVersionHash: Data {
    var hasher = SHA256()
    hasher.append(name.utf8)
    hasher.append([isOptional ? 1 : 0, isTransient ? 1 : 0])
    hasher.append((versionHashModifier ?? "").utf8)
    return hasher.finish()
  }

  private func appendVersionHash(to hasher: inout SHA256) {
    switch self {
    case let attribute as NSAttributeDescription:
      hasher.append(littleEndian(Int(attribute.attributeType.rawValue)))
      if attribute.allowsExternalBinaryDataStorage { hasher.append([1]) }
      if attribute.preservesValueInHistoryOnDeletion { hasher.append([1]) }
      // No store of Apple's with a composite was available to compare. The elements are hashed so that changing them is
      // noticed.
      let elements = (attribute as? NSCompositeAttributeDescription)?.elements ?? []
      for element in elements.sorted(by: { $0.name.precedesByBytes($1.name) }) { hasher.append(element.versionHash) }
    case let relationship as NSRelationshipDescription:
      hasher.append((relationship.destinationEntity?.name ?? "").utf8)
      hasher.append((relationship.inverseRelationship?.name ?? "").utf8)
      hasher.append(littleEndian(relationship.maxCount))
      hasher.append(littleEndian(relationship.minCount))
      if relationship.isOrdered { hasher.append([1, 0]) }
    default: break
    }
  }

  private func littleEndian(_ number: Int) -> [UInt8] {
    let bits = UInt32(truncatingIfNeeded: number)
    return (0..<4).map { UInt8(truncatingIfNeeded: bits >> (8 * UInt32($0))) }
  }
}

extension NSDerivedAttributeDescription {
  /// The derivation as Apple hashes it: `pages.@count` is written `count:(pages)`.
  fileprivate var hashedDerivation: String? {
    guard let derivationExpression else { return nil }
    guard derivationExpression.expressionType == .keyPath else { return derivationExpression.description }
    let parts = derivationExpression.keyPath.components(separatedBy: ".@")
    return parts.count == 2 ? "\(parts[1]):(\(parts[0]))" : derivationExpression.keyPath
  }

  /// Whether the hash of this kind of derivation was compared with Apple's.
  var hasKnownVersionHash: Bool {
    derivationExpression?.function == "count:"
      || derivationExpression?.expressionType == .keyPath && derivationExpression?.keyPath.hasSuffix(".@count") == true
  }
}

extension NSManagedObjectModel {
  /// The version hash of every entity, by name.
  public var entityVersionHashesByName: [String: Data] { entitiesByName.mapValues(\.versionHash) }

  /// A checksum over all version hashes, base64 text: two models with the same checksum can open the same stores.
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
    for (_, hash) in hashes.sorted(by: { $0.key.precedesByBytes($1.key) }) {
      hasher.append(hash)
    }
    return hasher.finish().base64EncodedString()
  }

  /// base64(SHA-512(each name followed by its hash, in the order of the names)): "NSStoreModelVersionHashesDigest".
  static func digest(of hashes: [String: Data]) -> String {
    var hasher = SHA512()
    for (name, hash) in hashes.sorted(by: { $0.key.precedesByBytes($1.key) }) {
      hasher.append(name.utf8)
      hasher.append(hash)
    }
    return hasher.finish().base64EncodedString()
  }
}

extension String {
  /// Orders names as Apple's hashes and columns do: by bytes, upper case before lower.
  func precedesByBytes(_ other: String) -> Bool {
    utf8.lexicographicallyPrecedes(other.utf8)
  }
}
