/// Maps the entities and properties of one model to those of another, for a migration.
///
/// Here only inferred mapping models exist: files of mapping models cannot be read. It is immutable.
///
/// Source: Apple's documentation of `NSMappingModel`.
open class NSMappingModel: NSObject {
  /// One mapping for each entity of the new model, then one for each removed entity.
  open private(set) var entityMappings: [NSEntityMapping]! = []

  /// The mappings by name: "IEM_Transform_Person".
  open var entityMappingsByName: [String: NSEntityMapping] {
    Dictionary((entityMappings ?? []).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  private init(_ mappings: [NSEntityMapping]) {
    entityMappings = mappings
    super.init()
  }

  /// Always nil: no mapping model in a bundle can be read here.
  public init?(
    from bundles: [Bundle]?, forSourceModel source: NSManagedObjectModel?, destinationModel: NSManagedObjectModel?
  ) {
    nil
  }

  /// Always nil: files of mapping models cannot be read here.
  public init?(contentsOf url: URL?) { nil }

  /// The mapping that lightweight migration uses between two models. Throws 134190 if none can be inferred, naming the
  /// entity and the property.
  public class func inferredMappingModel(
    forSourceModel source: NSManagedObjectModel, destinationModel destination: NSManagedObjectModel
  ) throws -> NSMappingModel {
    let mapping = try InferredMapping(from: source.entities, to: destination.entities)
    let kept = Set(mapping.entities.compactMap { $0.source?.name })
    let removed = source.entities.filter { !kept.contains($0.name ?? "") }
    return NSMappingModel(
      mapping.entities.map(NSEntityMapping.init) + removed.map(NSEntityMapping.init(removed:)))
  }
}

/// What a migration does with the objects of an entity. Raw values are Apple's. Inferred mappings add, remove, copy or
/// transform.
public enum NSEntityMappingType: UInt, Sendable {
  /// Unknown; never inferred.
  case undefinedEntityMappingType = 0
  /// A migration policy handles them; never inferred.
  case customEntityMappingType = 1
  /// The entity is new: there are none.
  case addEntityMappingType = 2
  /// The entity is gone: they are deleted.
  case removeEntityMappingType = 3
  /// The entity did not change: they are kept.
  case copyEntityMappingType = 4
  /// The entity changed: their values go to the new properties.
  case transformEntityMappingType = 5
}

/// Maps one entity to another. It is immutable.
open class NSEntityMapping: NSObject {
  /// The name, made of "IEM", the kind and the entity's name: "IEM_Add_Person".
  public let name: String
  /// What the migration does with the entity's objects.
  public let mappingType: NSEntityMappingType
  /// The name of the old entity; nil for a new one.
  public let sourceEntityName: String?
  /// The name of the new entity; nil for a removed one.
  public let destinationEntityName: String?
  /// The `versionHash` of the old entity; nil for a new one.
  public let sourceEntityVersionHash: Data?
  /// The `versionHash` of the new entity; nil for a removed one.
  public let destinationEntityVersionHash: Data?
  /// A mapping for each attribute of the new entity, sorted by name; nil for a removed entity.
  public let attributeMappings: [NSPropertyMapping]?
  /// A mapping for each relationship of the new entity, sorted by name; nil for a removed entity.
  public let relationshipMappings: [NSPropertyMapping]?

  fileprivate init(_ mapping: InferredMapping.Entity) {
    let destination = mapping.destination
    let destinationName = destination.name ?? ""
    sourceEntityName = mapping.source?.name
    destinationEntityName = destinationName
    sourceEntityVersionHash = mapping.source?.versionHash
    destinationEntityVersionHash = destination.versionHash
    if let source = mapping.source {
      mappingType = source.versionHash == destination.versionHash ? .copyEntityMappingType : .transformEntityMappingType
      name = "IEM_\(mappingType == .copyEntityMappingType ? "Copy" : "Transform")_\(destinationName)"
    } else {
      mappingType = .addEntityMappingType
      name = "IEM_Add_\(destinationName)"
    }
    attributeMappings = destination.attributesByName.keys.sorted().map { key in
      NSPropertyMapping(name: key, source: mapping.attributes[key]?.name)
    }
    relationshipMappings = destination.relationshipsByName.keys.sorted().map { key in
      NSPropertyMapping(name: key, source: mapping.relationships[key]?.name)
    }
  }

  fileprivate init(removed source: NSEntityDescription) {
    name = "IEM_Remove_\(source.name ?? "")"
    mappingType = .removeEntityMappingType
    sourceEntityName = source.name
    destinationEntityName = nil
    sourceEntityVersionHash = source.versionHash
    destinationEntityVersionHash = nil
    attributeMappings = nil
    relationshipMappings = nil
  }
}

/// Says where a property of a new object gets its value from. It is immutable.
open class NSPropertyMapping: NSObject {
  /// The name of the new property.
  public let name: String?
  /// The key path of the old property, "source.age"; nil for a new property, which gets its default value.
  public let valueExpression: NSExpression?

  fileprivate init(name: String, source: String?) {
    self.name = name
    valueExpression = source.map { NSExpression(forKeyPath: "source.\($0)") }
  }
}
