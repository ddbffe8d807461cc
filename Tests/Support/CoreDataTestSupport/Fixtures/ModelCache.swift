import CoreData

/// A model as `modelcache.json` describes it, with the hashes that Apple recorded.
package struct ModelCache {
  package let model = NSManagedObjectModel()
  /// Recorded version hashes by entity name, in hexadecimal.
  package let versionHashes: [String: String]

  private struct Entity: Decodable {
    let abstract: Bool
    let parent: String?
    let properties: [Property]
    let uniqueness: [[String]]?
    let versionHash: String?
    let versionHashModifier: String?
  }

  private struct Property: Decodable {
    let kind: String
    let name: String
    let optional: Bool
    let transient: Bool
    let versionHashModifier: String?
    let type: String?
    let flags: Int?
    let transformer: String?
    let destination: String?
    let inverse: String?
    let maxCount: Int?
    let minCount: Int?
    let ordered: Bool?
    let deleteRule: UInt?
  }

  private static let types: [String: NSAttributeType] = [
    "Int16": .integer16AttributeType, "Int32": .integer32AttributeType, "Int64": .integer64AttributeType,
    "Bool": .booleanAttributeType, "Float": .floatAttributeType, "Double": .doubleAttributeType,
    "Decimal": .decimalAttributeType, "Date": .dateAttributeType, "String": .stringAttributeType,
    "Binary": .binaryDataAttributeType, "UUID": .UUIDAttributeType, "URI": .URIAttributeType,
    "Transformable": .transformableAttributeType,
  ]

  package init(_ data: Data) throws {
    let described = try JSONDecoder().decode([String: Entity].self, from: data)
    versionHashes = described.compactMapValues(\.versionHash)
    var entities: [String: NSEntityDescription] = [:]
    for (name, source) in described {
      let entity = NSEntityDescription()
      entity.name = name
      entity.isAbstract = source.abstract
      entity.versionHashModifier = source.versionHashModifier
      entity.uniquenessConstraints = source.uniqueness ?? []
      entities[name] = entity
    }
    for (parent, children) in Dictionary(grouping: described.keys, by: { described[$0]?.parent }) {
      guard let parent else { continue }
      entities[parent]?.subentities = children.sorted().compactMap { entities[$0] }
    }
    for (name, source) in described {
      // The cache lists inherited properties again under every subentity.
      let inherited = Set(
        sequence(first: source.parent, next: { $0.flatMap { described[$0]?.parent } }).prefix { $0 != nil }
          .flatMap { $0.flatMap { described[$0] }?.properties.map(\.name) ?? [] })
      entities[name]?.properties = source.properties.filter { !inherited.contains($0.name) }.map(Self.property)
    }
    for (name, source) in described {
      for property in source.properties {
        guard let relationship = entities[name]?.relationshipsByName[property.name] else { continue }
        relationship.destinationEntity = property.destination.flatMap { entities[$0] }
        relationship.inverseRelationship = property.inverse.flatMap {
          relationship.destinationEntity?.relationshipsByName[$0]
        }
      }
    }
    model.entities = entities.values.sorted { ($0.name ?? "") < ($1.name ?? "") }
  }

  private static func property(_ source: Property) -> NSPropertyDescription {
    let property: NSPropertyDescription
    switch source.kind {
    case "Relationship":
      let relationship = NSRelationshipDescription()
      relationship.maxCount = source.maxCount ?? 0
      relationship.minCount = source.minCount ?? 0
      relationship.isOrdered = source.ordered ?? false
      relationship.deleteRule = source.deleteRule.flatMap(NSDeleteRule.init) ?? .nullifyDeleteRule
      property = relationship
    case "FetchedProperty":
      property = NSFetchedPropertyDescription()
    default:
      let attribute = source.kind == "DerivedAttribute" ? NSDerivedAttributeDescription() : NSAttributeDescription()
      attribute.attributeType = source.type.flatMap { types[$0] } ?? .undefinedAttributeType
      attribute.valueTransformerName = source.transformer
      let flags = source.flags ?? 0
      attribute.preservesValueInHistoryOnDeletion = flags & 16 != 0
      property = attribute
    }
    property.name = source.name
    property.isOptional = source.optional
    property.isTransient = source.transient
    property.versionHashModifier = source.versionHashModifier
    return property
  }
}
