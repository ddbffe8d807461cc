/// Maps the entities and properties of one model to those of another, for a migration.
///
/// It comes from a file of Xcode's (`.xcmappingmodel`), from its compiled form (`.cdm`), from code, or from two models
/// by inference.
///
/// Lightweight migration infers one. Write a mapping model for changes that renaming identifiers cannot express: one
/// attribute becomes two, a text becomes a relationship, entities are merged.
///
/// It may be changed until a migration begins, and is not `Sendable`: use it on one thread.
///
/// Source: Apple's documentation of `NSMappingModel`.
open class NSMappingModel: NSObject {
  /// What the migration does with each entity, in this order. Default: none.
  ///
  /// An inferred mapping model is carried out object by object once this was set.
  open var entityMappings: [NSEntityMapping]! = [] {
    didSet { isInferred = false }
  }

  /// The entity mappings by their names, such as "PersonToPerson". Of two with one name the first is here.
  ///
  /// Made anew at each access.
  open var entityMappingsByName: [String: NSEntityMapping] {
    Dictionary((entityMappings ?? []).map { ($0.name ?? "", $0) }, uniquingKeysWith: { first, _ in first })
  }

  private var isInferred = false
  /// The version hashes of all entities of both models, if the file held the models.
  private(set) var modelHashes: (source: [String: Data], destination: [String: Data])?

  /// Whether the mapping is as it was inferred, so that the migration can be done in the store's file.
  ///
  /// That keeps the objects' keys and needs little memory, so it is preferred where the result is the same.
  var isLightweight: Bool { isInferred && (entityMappings ?? []).allSatisfy { !$0.isEdited } }

  /// A mapping model without mappings.
  public override init() { super.init() }

  /// The mapping model between two models among the files of bundles, found by the version hashes that a file has.
  /// Nil if there is none.
  ///
  /// ```swift
  /// let newer = NSManagedObjectModel(contentsOf: URL(fileURLWithPath: "Library 2.xcdatamodel")) ?? model
  /// let written = NSMappingModel(from: nil, forSourceModel: model, destinationModel: newer)
  /// let inferred = try NSMappingModel.inferredMappingModel(forSourceModel: model, destinationModel: newer)
  /// print((written ?? inferred).entityMappingsByName.keys.sorted())
  /// ```
  ///
  /// It reads all mapping model files of the bundles, compiled ones first; the first that fits is taken. Opening a
  /// store with `NSMigratePersistentStoresAutomaticallyOption` calls it.
  ///
  /// - Parameter bundles: where to search; nil for the bundles of the program.
  public convenience init?(
    from bundles: [Bundle]?, forSourceModel source: NSManagedObjectModel?, destinationModel: NSManagedObjectModel?
  ) {
    guard let source, let destinationModel,
      let mappingModel = MappingModelFiles.find(in: bundles ?? Bundle.ofProgram, from: source, to: destinationModel)
    else { return nil }
    self.init()
    entityMappings = mappingModel.entityMappings
    modelHashes = mappingModel.modelHashes
  }

  /// Reads a `.cdm`, or a `.xcmappingmodel`. Nil if the file cannot be read.
  ///
  /// A `.xcmappingmodel` lacks the values that Xcode generates. They follow from the two models that the file holds or,
  /// if these cannot be read, from the models of `init?(from:forSourceModel:destinationModel:)` and of the migration.
  ///
  /// - Parameter url: a file URL that ends in `.cdm` or `.xcmappingmodel`; nil gives nil.
  public convenience init?(contentsOf url: URL?) {
    guard let url, let contents = MappingModelFiles.contents(at: url) else { return nil }
    self.init()
    entityMappings = contents.mappings
    guard let models = contents.models else { return }
    resolve(models.source, models.destination)
    modelHashes = (models.source.entityVersionHashesByName, models.destination.entityVersionHashesByName)
  }

  /// The mapping that lightweight migration uses between two models. Throws 134190 if none can be inferred, naming the
  /// entity and the property.
  ///
  /// ```swift
  /// let newer = NSManagedObjectModel(contentsOf: URL(fileURLWithPath: "Library 2.xcdatamodel")) ?? model
  /// do {
  ///   let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: model, destinationModel: newer)
  ///   for entity in mapping.entityMappings { print(entity.name ?? "", entity.mappingType) }
  /// } catch {
  ///   print(error)  // 134190: the entity and property that need a mapping model
  /// }
  /// ```
  ///
  /// Use it before you open a store, to find out whether the migration needs a mapping model. It compares the models
  /// and reads no store.
  ///
  /// - Parameters:
  ///   - source: the model of the store.
  ///   - destination: the model that the store is to have.
  /// - Returns: a mapping for each entity of the new model, then one for each entity that is removed.
  ///
  /// Source: https://developer.apple.com/documentation/coredata/migrating-your-data-model-automatically
  public class func inferredMappingModel(
    forSourceModel source: NSManagedObjectModel, destinationModel destination: NSManagedObjectModel
  ) throws -> NSMappingModel {
    let mapping = try InferredMapping(from: source.entities, to: destination.entities)
    let kept = Set(mapping.entities.compactMap { $0.source?.name })
    let removed = source.entities.filter { !kept.contains($0.name ?? "") }
    let model = NSMappingModel()
    model.entityMappings = mapping.entities.map(NSEntityMapping.init) + removed.map(NSEntityMapping.init(removed:))
    model.isInferred = true
    return model
  }

  /// Mapping models are equal if their mappings are, in their order.
  open override func isEqual(_ object: Any?) -> Bool {
    (object as? NSMappingModel).map { $0.entityMappings == entityMappings } ?? false
  }

  open override var hash: Int { (entityMappings ?? []).map(\.name).hashValue }

  /// Sets the values that Xcode generates, now that both models are known.
  func resolve(_ source: NSManagedObjectModel, _ destination: NSManagedObjectModel) {
    let wasInferred = isInferred
    for mapping in entityMappings ?? [] { mapping.resolve(source, destination, among: entityMappings) }
    isInferred = wasInferred
  }
}
