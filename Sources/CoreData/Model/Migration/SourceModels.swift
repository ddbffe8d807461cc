/// Finds the model that a store was made with: the copy that the store keeps, else a model in use, else a version of a
/// model in the program's bundles.
///
/// Lightweight migration compares the model that a store was made with and the one that opens it. Apple's framework
/// looks in the program's bundles, so a program must keep all its old versions. Stores of this package and newer files
/// of Apple's have a copy, which makes that unnecessary; the search helps for files without one.
///
/// A model is the right one if the version hashes of its entities are those in the store's metadata: names and
/// checksums of versions do not matter.
package enum SourceModels {
  /// A model, and those of its entities that the store holds: all of them, or those of one configuration. The model is
  /// part of it because entities do not keep their model alive.
  package typealias Source = (model: NSManagedObjectModel, entities: [NSEntityDescription])

  /// Runs a body with the model of the store, which is kept until the body has ended.
  ///
  /// - Parameters:
  ///   - metadata: that of the store, with its version hashes.
  ///   - path: the store's place, for the error.
  ///   - kept: reads the copy that the store keeps; nil for none.
  ///   - body: gets the model and those of its entities that the store has.
  /// - Throws: 134130 (`migrationMissingSourceModel`) if no model has the store's version hashes; what the body throws.
  package static func withModel<T>(
    for metadata: [String: Any], path: String, kept: () throws -> NSManagedObjectModel? = { nil },
    _ body: (Source) throws -> T
  ) throws -> T {
    if let source = try find(for: metadata, kept: kept) {
      return try withExtendedLifetime(source.model) { try body(source) }
    }
    throw CoreDataErrors.error(
      .migrationMissingSourceModel,
      "\(path) has to be migrated, and the model that it was made with is nowhere: the store keeps no copy of it, and "
        + "it is neither in a bundle of this program nor in use.",
      ["metadata": metadata])
  }

  /// The model of the store; nil if none is known.
  ///
  /// The copy in the store goes first: it is certain to have all entities. Bundles are read last, since that reads
  /// files.
  ///
  /// - Throws: what `kept` throws, except that the copy is damaged.
  package static func find(
    for metadata: [String: Any], kept: () throws -> NSManagedObjectModel?
  ) throws -> Source? {
    guard let hashes = StoredVersionHashes(metadata) else { return nil }
    func source(_ model: NSManagedObjectModel) -> Source? {
      let entities = model.entities.filter { hashes.byName[$0.name ?? ""] != nil }
      return hashes.fit(entities) ? (model, entities) : nil
    }
    return try undamaged(kept).flatMap(source) ?? LoadedModels.newest(source)
      ?? versions(in: [Bundle.main] + Bundle.allBundles).lazy.compactMap(source).first
  }

  /// Nil for a damaged copy: the search for the model goes on elsewhere.
  private static func undamaged(_ kept: () throws -> NSManagedObjectModel?) throws -> NSManagedObjectModel? {
    do {
      return try kept()
    } catch let error as NSError where error.code == NSPersistentStoreIncompatibleSchemaError {
      return nil
    }
  }

  /// All versions of all models in bundles, or those of a name.
  ///
  /// Each call reads all the files. The name is that of a version, "Library 2", for references of staged migrations.
  static func versions(in bundles: [Bundle], named name: String? = nil) -> [NSManagedObjectModel] {
    bundles.flatMap { bundle in
      NSManagedObjectModel.fileTypes.flatMap { type in
        (bundle.urls(forResourcesWithExtension: type, subdirectory: nil) ?? []).flatMap { url in
          let versions =
            // A file that cannot be read is no source for a migration.
            (try? NSManagedObjectModel.versions(at: url as URL))
            ?? NSManagedObjectModel(contentsOf: url as URL).map {
              [(url as URL).deletingPathExtension().lastPathComponent: $0]
            } ?? [:]
          return versions.filter { name == nil || $0.key == name }.map(\.value)
        }
      }
    }
  }
}
