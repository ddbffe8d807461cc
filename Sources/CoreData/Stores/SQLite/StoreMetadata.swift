/// What a store's file says of itself, apart from its rows: the property list in the metadata table.
///
/// Keys and their meaning were read off files that Apple's frameworks wrote. An app's own keys lie beside them.
enum StoreMetadata {
  /// Keys of the property list.
  enum Key {
    static let storeType = "NSStoreType"
    /// Not in the list: the store's identifier has a column of its own.
    static let storeUUID = "NSStoreUUID"
    static let frameworkVersion = "NSPersistenceFrameworkVersion"
    static let versionHashes = "NSStoreModelVersionHashes"
    static let hashesVersion = "NSStoreModelVersionHashesVersion"
    static let hashesDigest = "NSStoreModelVersionHashesDigest"
    static let checksum = "NSStoreModelVersionChecksumKey"
    static let identifiers = "NSStoreModelVersionIdentifiers"
    static let autoVacuumLevel = "_NSAutoVacuumLevel"
  }

  /// The framework that a new file claims to be from: the newest seen whose files have exactly the keys and tables that
  /// are written here (those of 1513 and later also name a newest framework that may open them).
  static let frameworkVersion = 1344

  /// The way in which version hashes are computed.
  static let hashesVersion = 3

  /// The metadata of a new store for the given entities.
  ///
  /// - Parameter identifiers: the model's version identifiers.
  static func new(
    entities: [NSEntityDescription], identifiers: Set<AnyHashable>, type: String = "SQLite"
  ) -> [String: Any] {
    var metadata: [String: Any] = [
      Key.storeType: type, Key.frameworkVersion: frameworkVersion, Key.autoVacuumLevel: "2",
    ]
    setModel(entities: entities, identifiers: identifiers, in: &metadata)
    return metadata
  }

  /// Replaces what the metadata says of the model, after a migration.
  static func setModel(
    entities: [NSEntityDescription], identifiers: Set<AnyHashable>, in metadata: inout [String: Any]
  ) {
    let hashes = Dictionary(
      entities.map { ($0.name ?? "", $0.versionHash) }, uniquingKeysWith: { first, _ in first })
    let names = identifiers.compactMap { $0.base as? String }.sorted()
    metadata[Key.versionHashes] = hashes
    metadata[Key.hashesVersion] = hashesVersion
    metadata[Key.hashesDigest] = NSManagedObjectModel.digest(of: hashes)
    metadata[Key.checksum] = NSManagedObjectModel.checksum(of: hashes)
    metadata[Key.identifiers] = names.isEmpty ? [""] : names
  }

  static func prefix(_ options: [AnyHashable: Any]?) -> String {
    options?[NSPersistentStoreTablePrefixOption] as? String ?? "Z"
  }

  /// The binary property list for the metadata table. The store's identifier is left out: it has its own column.
  ///
  /// - Throws: an error of Foundation where a value is none that a property list can hold.
  static func encode(_ metadata: [String: Any]) throws -> Data {
    var list = metadata
    list[Key.storeUUID] = nil
    return try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
  }

  /// The metadata in a property list, with the store's identifier from its own column.
  static func decode(_ data: Data, uuid: String) throws -> [String: Any] {
    let list = try PropertyListSerialization.propertyList(from: data, format: nil)
    guard var metadata = list as? [String: Any] else {
      throw StoreSchemaError("the file's metadata is not a dictionary")
    }
    metadata[Key.storeUUID] = uuid
    return metadata
  }
}
