/// The metadata of a store.
///
/// Keys and their meaning were learnt from files that Apple's frameworks wrote. A program's own keys are beside them.
///
/// ```text
/// NSStoreModelVersionHashes          a SHA-256 for each entity: is the store of this model?
/// NSStoreModelVersionHashesDigest    base 64 of SHA-512 over names and hashes, for a quick comparison
/// NSStoreModelVersionChecksumKey     base 64 of SHA-256 over the hashes
/// NSStoreModelVersionIdentifiers     names that the program gave to the model's version
/// NSStoreType, NSStoreUUID           "SQLite", and the host of the URIs of its objects
/// NSPersistenceFrameworkVersion      1344: Apple's framework of that time wrote files of this form
/// _NSAutoVacuumLevel                 "2", SQLite only
/// _NSContentIdentifier               SQLite only, after a migration by a mapping model: `SQLiteStore+Replacing.swift`
/// ```
///
/// Other keys are a program's own, such as a date of the last import. `NSPersistentStore.merging` keeps the store's own
/// ones when a program sets all metadata at once.
package enum StoreMetadata {
  /// Keys of the dictionary.
  enum Key {
    static let storeType = "NSStoreType"
    static let storeUUID = "NSStoreUUID"
    static let frameworkVersion = "NSPersistenceFrameworkVersion"
    static let versionHashes = "NSStoreModelVersionHashes"
    static let hashesVersion = "NSStoreModelVersionHashesVersion"
    static let hashesDigest = "NSStoreModelVersionHashesDigest"
    static let checksum = "NSStoreModelVersionChecksumKey"
    static let identifiers = "NSStoreModelVersionIdentifiers"
    static let autoVacuumLevel = "_NSAutoVacuumLevel"
  }

  /// The framework version of new files: the newest one seen whose files have exactly the keys and tables that are
  /// written here. Files of 1513 and later also name the newest framework that may open them.
  static let frameworkVersion = 1344

  /// The version of the algorithm for version hashes.
  static let hashesVersion = 3

  /// The metadata of a new store for the given entities.
  ///
  /// - Parameter identifiers: the model's version identifiers.
  package static func new(entities: [NSEntityDescription], identifiers: Set<AnyHashable>, type: String) -> [String: Any]
  {
    var metadata: [String: Any] = [Key.storeType: type, Key.frameworkVersion: frameworkVersion]
    setModel(entities: entities, identifiers: identifiers, in: &metadata)
    return metadata
  }

  /// The metadata of a new store that keeps its UUID in them.
  static func new(_ opening: StoreOpening, identifier: String) -> [String: Any] {
    var metadata = new(
      entities: opening.entities, identifiers: opening.model.versionIdentifiers, type: opening.type)
    metadata[NSStoreUUIDKey] = identifier
    return metadata
  }

  /// Replaces the model's entries, after a migration.
  package static func setModel(
    entities: [NSEntityDescription], identifiers: Set<AnyHashable>, in metadata: inout [String: Any]
  ) {
    let hashes = Dictionary(
      entities.map { ($0.name ?? "", $0.versionHash) }, uniquingKeysWith: { first, _ in first })
    let names = identifiers.compactMap { $0.base as? String }.sorted()
    metadata[Key.versionHashes] = hashes
    metadata[Key.hashesVersion] = hashesVersion
    metadata[Key.hashesDigest] = NSManagedObjectModel.digest(of: hashes)
    metadata[StoredVersionHashes.ownDigest] = StoredVersionHashes.ownDigest(of: hashes, entities)
    metadata[Key.checksum] = NSManagedObjectModel.checksum(of: hashes)
    metadata[Key.identifiers] = names.isEmpty ? [""] : names
  }

  /// Throws 134100 if a store's metadata have other version hashes for the entities, unless the options skip the check.
  package static func checkVersion(
    of metadata: [String: Any], for entities: [NSEntityDescription], options: [AnyHashable: Any]?, place: String
  ) throws {
    if (options?[NSIgnorePersistentStoreVersioningOption] as? NSNumber)?.boolValue == true { return }
    guard let changed = StoredVersionHashes(metadata)?.differences(from: entities), !changed.isEmpty else { return }
    throw CoreDataErrors.error(
      .persistentStoreIncompatibleVersionHash,
      "The model is not the one that \(place) was made with; they differ in \(changed.joined(separator: ", ")).",
      ["metadata": metadata])
  }
}
