/// Which entity and property of one model becomes which of another.
///
/// Only mapping models that are inferred exist here: files of mapping models are not read.
///
/// Source: Apple's documentation of `NSMappingModel`.
open class NSMappingModel: NSObject {
  open private(set) var entityMappings: [NSEntityMapping]! = []

  /// The mappings by their names.
  open var entityMappingsByName: [String: NSEntityMapping] {
    Dictionary((entityMappings ?? []).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  private init(_ mappings: [NSEntityMapping]) {
    entityMappings = mappings
    super.init()
  }

  /// Nil: no bundle has a mapping model that can be read here.
  public init?(
    from bundles: [Bundle]?, forSourceModel source: NSManagedObjectModel?, destinationModel: NSManagedObjectModel?
  ) {
    nil
  }

  /// Nil: files of mapping models cannot be read here.
  public init?(contentsOf url: URL?) { nil }

  /// What lightweight migration makes of the two models. Throws 134190 where it can make nothing.
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

/// What happens to the objects of an entity. Raw values are Apple's.
public enum NSEntityMappingType: UInt, Sendable {
  case undefinedEntityMappingType = 0
  case customEntityMappingType = 1
  case addEntityMappingType = 2
  case removeEntityMappingType = 3
  case copyEntityMappingType = 4
  case transformEntityMappingType = 5
}

/// Which entity becomes which.
open class NSEntityMapping: NSObject {
  public let name: String
  public let mappingType: NSEntityMappingType
  public let sourceEntityName: String?
  public let destinationEntityName: String?
  public let sourceEntityVersionHash: Data?
  public let destinationEntityVersionHash: Data?
  public let attributeMappings: [NSPropertyMapping]?
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

/// Where a property of the new object gets its value from.
open class NSPropertyMapping: NSObject {
  public let name: String?
  /// The property of the old object; nil for a new property, which gets its default value.
  public let valueExpression: NSExpression?

  fileprivate init(name: String, source: String?) {
    self.name = name
    valueExpression = source.map { NSExpression(forKeyPath: "source.\($0)") }
  }
}
