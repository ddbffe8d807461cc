/// The parts of an entity that its version hash covers, as a model file or a description has them.
package struct HashedEntity {
  private let name: String
  private let isAbstract: Bool
  private let superentity: Data?
  private let properties: [HashedProperty]
  private let uniquenessConstraints: [[String]]
  private let modifier: String?

  /// - Parameters:
  ///   - superentity: the superentity's version hash.
  ///   - properties: the entity's own properties and those that it inherits, in any order.
  package init(
    name: String, isAbstract: Bool, superentity: Data?, properties: [HashedProperty], uniquenessConstraints: [[String]],
    modifier: String?
  ) {
    self.name = name
    self.isAbstract = isAbstract
    self.superentity = superentity
    self.properties = properties
    self.uniquenessConstraints = uniquenessConstraints
    self.modifier = modifier
  }

  package var versionHash: Data {
    var hasher = SHA256()
    hasher.append(name.utf8)
    hasher.append([isAbstract ? 1 : 0])
    if let superentity { hasher.append(superentity) }
    for property in properties.sorted(onBytes: { $0.name }) where property.countsInEntityHash {
      hasher.append(property.versionHash)
    }
    for constraint in uniquenessConstraints { hasher.append(constraint.joined(separator: ".").utf8) }
    hasher.append((modifier ?? "").utf8)
    return hasher.finish()
  }
}

/// The parts of a property that its version hash covers.
package struct HashedProperty {
  package enum Kind {
    case attribute(NSAttributeType, isExternal: Bool, isPreserved: Bool, elements: [HashedProperty])
    /// A derived attribute, by its derivation as Apple hashes it.
    case derivation(String)
    case relationship(destination: String?, inverse: String?, minCount: Int, maxCount: Int, isOrdered: Bool)
    case other
  }

  fileprivate let name: String
  private let isOptional: Bool
  private let isTransient: Bool
  private let modifier: String?
  private let kind: Kind

  package init(name: String, isOptional: Bool, isTransient: Bool, modifier: String?, kind: Kind) {
    self.name = name
    self.isOptional = isOptional
    self.isTransient = isTransient
    self.modifier = modifier
    self.kind = kind
  }

  /// How Apple hashes a derivation that is a key path: `pages.@count` is written `count:(pages)`.
  package static func derivation(ofKeyPath keyPath: String) -> String {
    let parts = keyPath.components(separatedBy: ".@")
    return parts.count == 2 ? "\(parts[1]):(\(parts[0]))" : keyPath
  }

  /// Whether the hash is part of the entity's.
  fileprivate var countsInEntityHash: Bool {
    if case .other = kind { false } else { !isTransient }
  }

  package var versionHash: Data {
    var hasher = SHA256()
    if case .derivation(let derivation) = kind {
      hasher.append(derivation.utf8)
      return hasher.finish()
    }
    hasher.append(basicHash)
    switch kind {
    case .attribute(let type, let isExternal, let isPreserved, let elements):
      hasher.append(littleEndian(Int(type.rawValue)))
      if isExternal { hasher.append([1]) }
      if isPreserved { hasher.append([1]) }
      // No store of Apple's with a composite was available to compare. The elements are hashed so that changing them is
      // noticed.
      for element in elements.sorted(onBytes: { $0.name }) { hasher.append(element.versionHash) }
    case .relationship(let destination, let inverse, let minCount, let maxCount, let isOrdered):
      hasher.append((destination ?? "").utf8)
      hasher.append((inverse ?? "").utf8)
      hasher.append(littleEndian(maxCount))
      hasher.append(littleEndian(minCount))
      if isOrdered { hasher.append([1, 0]) }
    case .derivation, .other: break
    }
    return hasher.finish()
  }

  /// The hash of the settings that all kinds of properties have.
  private var basicHash: Data {
    var hasher = SHA256()
    hasher.append(name.utf8)
    hasher.append([isOptional ? 1 : 0, isTransient ? 1 : 0])
    hasher.append((modifier ?? "").utf8)
    return hasher.finish()
  }

  private func littleEndian(_ number: Int) -> [UInt8] {
    let bits = UInt32(truncatingIfNeeded: number)
    return (0..<4).map { UInt8(truncatingIfNeeded: bits >> (8 * UInt32($0))) }
  }
}

extension ModelDocument {
  /// The version hash of each entity, by name. Nil for a model with a derivation other than a count: Apple's hash of it
  /// is not known.
  package var versionHashes: [String: Data]? {
    var hashes: [String: Data] = [:]
    for entity in entities {
      for ancestor in line(of: entity).reversed() where hashes[ancestor.name] == nil {
        guard let hash = versionHash(of: ancestor, superentity: ancestor.parentName.flatMap { hashes[$0] }) else {
          return nil
        }
        hashes[ancestor.name] = hash
      }
    }
    return hashes
  }

  private func versionHash(of entity: ModelEntity, superentity: Data?) -> Data? {
    var properties: [HashedProperty] = []
    for property in line(of: entity).flatMap(\.properties) {
      guard let hashed = hashed(property) else { return nil }
      properties.append(hashed)
    }
    return HashedEntity(
      name: entity.name, isAbstract: entity.isAbstract, superentity: superentity, properties: properties,
      uniquenessConstraints: entity.lists.uniquenessConstraints,
      modifier: entity.node.attributes["versionHashModifier"]
    ).versionHash
  }

  private func hashed(_ property: ModelProperty) -> HashedProperty? {
    let kind: HashedProperty.Kind
    switch property.kind {
    case .attribute(let attribute):
      if attribute.isDerived, let derivation = attribute.derivation {
        guard derivation.hasSuffix(".@count") else { return nil }
        kind = .derivation(HashedProperty.derivation(ofKeyPath: derivation))
      } else {
        kind = .attribute(
          attribute.type, isExternal: attribute.node.flag("allowsExternalBinaryDataStorage"),
          isPreserved: attribute.node.flag("preserveAfterDeletion"), elements: attribute.elements.compactMap(hashed))
      }
    case .relationship(let relationship):
      kind = .relationship(
        destination: relationship.destinationName, inverse: relationship.inverseName, minCount: relationship.minCount,
        maxCount: relationship.maxCount, isOrdered: relationship.isOrdered)
    case .fetched: kind = .other
    }
    return HashedProperty(
      name: property.name, isOptional: property.isOptional, isTransient: property.isTransient,
      modifier: property.node.attributes["versionHashModifier"], kind: kind)
  }
}

extension String {
  /// Orders names as Apple's hashes and columns do: by bytes, upper case before lower.
  package func precedesByBytes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}
