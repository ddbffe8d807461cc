/// Lightweight migration of a file that is read and written as a whole.
///
/// The rows are mapped in memory. The new file takes the old one's place in one step, so an error or a killed process
/// leaves the old one. Rows keep their keys and the store its UUID, so objects keep their IDs except for the names of
/// renamed entities.
extension FileStore {
  /// For `NSMigrationManager` and `migratePersistentStore` from file to file: the source stays as it is.
  class func migrate(
    _ source: StoreFile, _ old: NSManagedObjectModel, to destination: StoreFile, _ new: NSManagedObjectModel
  ) throws -> Bool {
    let data = try source.reporting(.migrationManagerSourceStore) {
      let data = try existing(source.url)
      _ = try translating(source.url) { try format.metadata(in: data) }
      return data
    }
    let migrated = try migrated(
      data, of: source.url, in: format, from: old.entities, to: new.entities, new.versionIdentifiers)
    try destination.reporting(.migrationManagerDestinationStore) { try write(migrated, to: destination.url) }
    return true
  }

  /// The content of a file for other entities.
  ///
  /// ```text
  /// data of the old file ──decode──▶ MemoryStore of the old model
  ///                                    StoreCopy, with a RowMapping; keys stay
  ///                                  MemoryStore of the new model ──encode──▶ data of the new file
  /// ```
  ///
  /// The metadata are taken over, with the new model's hashes and the old UUID.
  static func migrated(
    _ data: Data, of url: URL, in format: any StoreFormat.Type, from old: [NSEntityDescription],
    to new: [NSEntityDescription],
    _ identifiers: Set<AnyHashable>
  ) throws -> Data {
    let mapping = try RowMapping(from: old, to: new)
    let (source, destination) = (MemoryStore(holding: old), MemoryStore(holding: new))
    try translating(url) { try source.memory.load { try format.decode(data, into: MemoryLoader($0)) } }
    var copy = StoreCopy(source, to: destination, mapping: mapping, keepsKeys: true)
    try CoreDataErrors.reportingNewConstraints { try copy.run() }
    var metadata = try format.metadata(in: data)
    StoreMetadata.setModel(entities: new, identifiers: identifiers, in: &metadata)
    return try format.encode(destination.memory, metadata)
  }
}
