extension NSManagedObjectModel {
  /// One model made of all models among the resources of some bundles. Nil if there are none, or if two of them have
  /// different versions of an entity, where Apple's framework raises an exception.
  ///
  /// It reads every model file there at each call: keep the result.
  ///
  /// Use it for a program whose entities are spread over several targets, each with a model of its own; a program with
  /// one model names it, by `NSPersistentContainer(name:)`.
  ///
  /// ```swift
  /// guard let model = NSManagedObjectModel.mergedModel(from: [Bundle.main]) else {
  ///   fatalError("The program's models are missing, or contradict each other.")
  /// }
  /// let container = NSPersistentContainer(name: "Library", managedObjectModel: model)
  /// ```
  ///
  /// Files that cannot be read are skipped.
  ///
  /// - Parameter bundles: where to look; nil means the main bundle and the resource bundles that SwiftPM puts beside
  ///   it: those of the program's package, or of the packages that it uses if these have no model.
  public class func mergedModel(from bundles: [Bundle]?) -> NSManagedObjectModel? {
    let models = models(in: bundles)
    return models.isEmpty ? nil : NSManagedObjectModel(byMerging: models)
  }

  /// The model that a store with the given metadata was made with, put together from the models in some bundles as
  /// `init?(byMerging:forStoreMetadata:)` does; nil if they lack an entity.
  ///
  /// It reads all model files of the bundles. Call it before you make a coordinator, to open a store with the version
  /// that it has:
  ///
  /// ```swift
  /// let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
  /// let model = NSManagedObjectModel.mergedModel(from: nil, forStoreMetadata: metadata)
  /// ```
  ///
  /// - Parameters:
  ///   - bundles: where to look; nil means the main bundle and the resource bundles beside it.
  ///   - metadata: the store's, with its version hashes; nil is the result for metadata without them.
  public class func mergedModel(
    from bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]
  ) -> NSManagedObjectModel? {
    NSManagedObjectModel(byMerging: models(in: bundles), forStoreMetadata: metadata)
  }

  /// One model made of several: copies of all their entities, configurations and fetch request templates.
  ///
  /// Several models may have the same version of an entity. Nil if two entities of one name have different version
  /// hashes.
  ///
  /// Entities of different models may inherit from each other and be related only if each model declares both.
  ///
  /// The copies are new entities: use classes and requests with the merged model only. The order of entities is that of
  /// the models. A configuration or template of a name that several models have is that of the first, with the others'
  /// entities added to the configuration.
  ///
  /// - Parameter models: nil gives a model without entities.
  public convenience init?(byMerging models: [NSManagedObjectModel]?) {
    var chosen: [NSEntityDescription] = []
    var hashes: [String: Data] = [:]
    for entity in (models ?? []).flatMap(\.entities) {
      let name = entity.name ?? ""
      if let versionHash = hashes[name] {
        guard versionHash == entity.versionHash else { return nil }
        continue
      }
      hashes[name] = entity.versionHash
      chosen.append(entity)
    }
    self.init()
    fill(with: chosen, from: models ?? [])
  }

  /// The model that a store with the given metadata was made with: for each entity in the metadata, the version that
  /// has its hash. Nil if the models lack one of them.
  ///
  /// ```swift
  /// let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
  /// let older = NSManagedObjectModel(contentsOf: URL(fileURLWithPath: "Library.mom")) ?? model
  /// if let fitting = NSManagedObjectModel(byMerging: [model, older], forStoreMetadata: metadata) {
  ///   print(fitting.entities.count, "entities, as the store has them")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - models: candidates; the first that has an entity's hash gives the entity.
  ///   - metadata: the store's; without version hashes the result is nil.
  public convenience init?(byMerging models: [NSManagedObjectModel], forStoreMetadata metadata: [String: Any]) {
    guard let hashes = StoredVersionHashes(metadata) else { return nil }
    var chosen: [NSEntityDescription] = []
    var matchedNames: Set<String> = []
    var sources: [NSManagedObjectModel] = []
    for model in models {
      let matching = model.entities.filter { !matchedNames.contains($0.name ?? "") && hashes.fit($0) }
      guard !matching.isEmpty else { continue }
      matchedNames.formUnion(matching.compactMap(\.name))
      chosen += matching
      sources.append(model)
    }
    guard matchedNames == Set(hashes.byName.keys) else { return nil }
    self.init()
    fill(with: chosen, from: sources)
  }

  /// Fills this model with copies of the chosen entities and the models' identifiers, templates and configurations.
  private func fill(with chosen: [NSEntityDescription], from models: [NSManagedObjectModel]) {
    entities = NSEntityDescription.copies(of: chosen)
    let byName = entitiesByName
    for model in models {
      versionIdentifiers.formUnion(model.versionIdentifiers)
      addFetchRequestTemplates(of: model)
      for configuration in model.configurations where configuration != Self.defaultConfigurationName {
        let presentEntities = entities(forConfigurationName: configuration) ?? []
        let added = (model.entities(forConfigurationName: configuration) ?? []).compactMap { byName[$0.name ?? ""] }
        let names = Set(presentEntities.compactMap(\.name))
        setEntities(
          presentEntities + added.filter { !names.contains($0.name ?? "") }, forConfigurationName: configuration)
      }
    }
  }

  /// The readable models among the bundles' resources. The main bundle includes the resource bundles beside the
  /// executable, where SwiftPM puts a package's models.
  private static func models(in bundles: [Bundle]?) -> [NSManagedObjectModel] {
    let chosenBundles = bundles ?? [Bundle.main]
    let bundledModels = chosenBundles.flatMap(readableModels)
    guard chosenBundles.contains(where: { $0.bundleURL == Bundle.main.bundleURL }) else { return bundledModels }
    return bundledModels + models(beside: ProgramBundles.beside(Bundle.main), exceptOthers: !bundledModels.isEmpty)
  }

  /// The models of the program's own package, or if there are none those of others.
  static func models(beside bundles: (own: [Bundle], others: [Bundle]), exceptOthers: Bool) -> [NSManagedObjectModel] {
    let ownModels = bundles.own.flatMap(readableModels)
    return ownModels.isEmpty && !exceptOthers ? bundles.others.flatMap(readableModels) : ownModels
  }

  /// In the order of the files' names, so that the result does not depend on the file system.
  private static func readableModels(in bundle: Bundle) -> [NSManagedObjectModel] {
    let folder = bundle.resourceURL ?? bundle.bundleURL
    // A folder that cannot be read has no models for this program.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.sorted().map { folder.appendingPathComponent($0) }.filter { fileTypes.contains($0.pathExtension) }
      .compactMap { NSManagedObjectModel(contentsOf: $0) }
  }

  /// The extensions of model files, the most complete form first.
  ///
  /// Each of them is tried in this order where one model is looked for by its name.
  static let fileTypes = ["momd", "mom", "xcdatamodeld", "xcdatamodel"]
}
