/// Finds the model that a store was made with: among the models in use, then among all versions of the models in the
/// program's bundles.
package enum SourceModels {
  /// Runs a body with the model's entities that the store holds. They do not keep their model, and nobody else may have
  /// it any more, so it is kept until the body has ended.
  ///
  /// - Throws: 134130 (`migrationMissingSourceModel`) if no model has the store's version hashes; what the body throws.
  package static func withModel<T>(
    for metadata: [String: Any], path: String, _ body: (NSManagedObjectModel, [NSEntityDescription]) throws -> T
  ) throws -> T {
    if let hashes = StoredVersionHashes(metadata), let model = wholeModel(for: metadata),
      let found = entities(of: model, hashes)
    {
      return try withExtendedLifetime(model) { try body(model, found) }
    }
    throw CoreDataErrors.error(
      .migrationMissingSourceModel,
      "\(path) has to be migrated, and the model that it was made with is neither in a bundle of this program nor in "
        + "use.",
      ["metadata": metadata])
  }

  /// The entities of the model that the store holds, which may be those of one configuration only.
  private static func entities(of model: NSManagedObjectModel, _ hashes: StoredVersionHashes) -> [NSEntityDescription]?
  {
    let entities = model.entities.filter { hashes.byName[$0.name ?? ""] != nil }
    return hashes.fit(entities) ? entities : nil
  }

  private static func modelsInBundles() -> [NSManagedObjectModel] {
    versions(in: [Bundle.main] + Bundle.allBundles)
  }

  /// The model that a store was made with, all entities included; nil if none is known.
  static func wholeModel(for metadata: [String: Any]) -> NSManagedObjectModel? {
    guard let hashes = StoredVersionHashes(metadata) else { return nil }
    return LoadedModels.newest { entities(of: $0, hashes) == nil ? nil : $0 }
      ?? modelsInBundles().first { entities(of: $0, hashes) != nil }
  }

  /// All versions of all models in bundles, or those of a name.
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
