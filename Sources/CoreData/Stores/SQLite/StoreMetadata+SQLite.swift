/// The metadata table of a SQLite store: a property list, and the store's identifier in a column of its own.
extension StoreMetadata {
  /// The metadata of a new SQLite file.
  ///
  /// ```text
  /// NSStoreType                        "SQLite"
  /// NSPersistenceFrameworkVersion      1344
  /// NSStoreModelVersionHashes          Author: 6b2b449e…, Book: cd8627f7…    32 bytes for each entity
  /// NSStoreModelVersionHashesVersion   3
  /// NSStoreModelVersionHashesDigest    "NNIqwD9jDhi1pOJZ…"      base 64 of a SHA-512 over all hashes
  /// NSStoreModelVersionChecksumKey     "92hYqXSILHLq1vQA…"      base 64 of a SHA-256
  /// NSStoreModelVersionIdentifiers     [""]
  /// _NSAutoVacuumLevel                 "2"                      incremental, as the file's pragma says
  /// ```
  static func newFile(
    entities: [NSEntityDescription], identifiers: Set<AnyHashable>, type: String = NSSQLiteStoreType
  ) -> [String: Any] {
    var metadata = new(entities: entities, identifiers: identifiers, type: type)
    metadata[Key.autoVacuumLevel] = "2"
    return metadata
  }

  static func prefix(_ options: [AnyHashable: Any]?) -> String {
    options?[NSPersistentStoreTablePrefixOption] as? String ?? "Z"
  }

  /// The binary property list for the metadata table, without the store's identifier, which has its own column.
  ///
  /// - Throws: an error of Foundation for a value that a property list cannot hold.
  static func encode(_ metadata: [String: Any]) throws -> Data {
    var list = metadata
    list[Key.storeUUID] = nil
    return try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
  }

  /// The metadata in a property list, with the store's identifier from its own column.
  static func decode(_ data: Data, uuid: String) throws -> [String: Any] {
    let list = try StoredPropertyList.read(data)
    guard var metadata = list as? [String: Any] else {
      throw StoreSchemaError("the file's metadata is not a dictionary")
    }
    metadata[Key.storeUUID] = uuid
    return metadata
  }
}
