/// Finds the model that a store was made with: among the models in use, then among all versions of the models in the
/// program's bundles.
enum SourceModels {
  /// - Throws: 134130 (`migrationMissingSourceModel`) if no model has the store's version hashes.
  static func model(for metadata: [String: Any], path: String) throws -> [NSEntityDescription] {
    let hashes = metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]
    if let found = LoadedModels.newest({ entities(of: $0, hashes) }) { return found }
    for model in modelsInBundles() {
      if let found = entities(of: model, hashes) { return found }
    }
    throw CoreDataErrors.error(
      .migrationMissingSourceModel,
      "\(path) has to be migrated, and the model that it was made with is neither in a bundle of this program nor in "
        + "use.",
      ["metadata": metadata])
  }

  /// The entities of the model that the store holds, which may be those of one configuration only.
  private static func entities(of model: NSManagedObjectModel, _ hashes: [String: Data]) -> [NSEntityDescription]? {
    let entities = model.entities.filter { hashes[$0.name ?? ""] != nil }
    return NSManagedObjectModel.incompatibleEntityNames(entities, hashes: hashes).isEmpty ? entities : nil
  }

  private static func modelsInBundles() -> [NSManagedObjectModel] {
    ([Bundle.main] + Bundle.allBundles).flatMap { bundle in
      ["momd", "xcdatamodeld", "mom", "xcdatamodel"].flatMap { type in
        (bundle.urls(forResourcesWithExtension: type, subdirectory: nil) ?? []).flatMap { url in
          (try? NSManagedObjectModel.versions(at: url as URL)).map { Array($0.values) } ?? []
        }
      }
    }
  }
}
