/// The version hashes that a store's metadata has, of the entities that it holds.
///
/// ```text
/// metadata["NSStoreModelVersionHashes"]  { "Author": 32 bytes, "Book": 32 bytes }
/// ```
///
/// All code that decides about opening and migrating asks this type, which alone knows the exception for derived
/// attributes.
struct StoredVersionHashes {
  /// The hashes by the entities' names.
  let byName: [String: Data]
  /// Whether this framework computed them, so that equal entities have equal ones. Apple's hash of derived attributes
  /// other than counts is unknown.
  private let areOurs: Bool

  /// The entry of the metadata that tells whose the hashes are: their digest, as this framework wrote it. It no longer
  /// fits when another framework has replaced the hashes. Only stores that have such derived attributes have it.
  static let ownDigest = "_NSOwnVersionHashesDigest"

  /// Nil for metadata without hashes.
  init?(_ metadata: [String: Any]) {
    guard let hashes = metadata[NSStoreModelVersionHashesKey] as? [String: Data] else { return nil }
    byName = hashes
    areOurs = (metadata[Self.ownDigest] as? String).map { $0 == NSManagedObjectModel.digest(of: hashes) } ?? false
  }

  /// What metadata has under `ownDigest`.
  static func ownDigest(of hashes: [String: Data], _ entities: [NSEntityDescription]) -> String? {
    entities.contains(where: \.hasUnknownHash) ? NSManagedObjectModel.digest(of: hashes) : nil
  }

  /// Whether the store has this version of the entity.
  ///
  /// How Apple's framework hashes some derivations is unknown, so a different hash of an Apple store does not mean a
  /// different entity:
  ///
  /// ```text
  /// stored hash        whose   entity has an unknown derivation   fits
  /// equal              any     any                                yes
  /// differs            ours    any                                no
  /// differs            Apple   no                                 no
  /// differs            Apple   yes                                yes, unless it is the hash without derivations
  /// ```
  @inline(never)
  func fit(_ entity: NSEntityDescription) -> Bool {
    guard let hash = byName[entity.name ?? ""] else { return false }
    if hash == entity.versionHash { return true }
    return !areOurs && entity.hasUnknownHash && hash != entity.versionHashWithoutDerivations
  }

  /// Whether the store has exactly these entities, in these versions.
  func fit(_ entities: [NSEntityDescription]) -> Bool { differences(from: entities).isEmpty }

  /// The names of entities whose hash in the store differs, or that only one side has, sorted.
  ///
  /// Errors name these entities, so that the developer knows what to compare.
  func differences(from entities: [NSEntityDescription]) -> [String] {
    let names = Set(entities.compactMap(\.name))
    let different = entities.filter { !fit($0) }.compactMap(\.name)
    return (different + byName.keys.filter { !names.contains($0) }).sorted()
  }
}

extension NSEntityDescription {
  /// An inherited derived attribute counts as well: it is part of this entity's hash.
  fileprivate var hasUnknownHash: Bool {
    properties.contains { ($0 as? NSDerivedAttributeDescription)?.hasKnownVersionHash == false }
  }
}
