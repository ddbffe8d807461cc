import CoreData

/// Short ways to describe a model in a test.
package enum Build {
  package static func attribute(
    _ name: String, _ type: NSAttributeType = .stringAttributeType, optional: Bool = true
  ) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    attribute.isOptional = optional
    return attribute
  }

  package static func entity(_ name: String, _ properties: NSPropertyDescription...) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    entity.properties = properties
    return entity
  }

  /// A relationship and its inverse, added to their entities.
  @discardableResult package static func relate(
    _ entity: NSEntityDescription, _ name: String, toMany: Bool, ordered: Bool = false,
    to other: NSEntityDescription, inverse inverseName: String, inverseToMany: Bool, inverseOrdered: Bool = false
  ) -> NSRelationshipDescription {
    let relationship = NSRelationshipDescription()
    relationship.name = name
    relationship.maxCount = toMany ? 0 : 1
    relationship.isOrdered = ordered
    relationship.destinationEntity = other
    let inverse = NSRelationshipDescription()
    inverse.name = inverseName
    inverse.maxCount = inverseToMany ? 0 : 1
    inverse.isOrdered = inverseOrdered
    inverse.destinationEntity = entity
    entity.properties.append(relationship)
    other.properties.append(inverse)
    relationship.inverseRelationship = inverse
    inverse.inverseRelationship = relationship
    return relationship
  }

  package static func model(_ entities: NSEntityDescription...) -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    model.entities = entities
    return model
  }
}
