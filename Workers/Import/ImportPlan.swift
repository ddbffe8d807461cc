import CoreData
import Jobs

/// The parameters of an import, checked against the model: which field goes into which property.
struct ImportPlan {
  struct Column {
    let field: String
    let conversion: AttributeReader
    var attribute: String { conversion.attribute.name }
  }

  struct Link {
    let relationship: ImportParameters.Relationship
    let destination: NSEntityDescription
    let key: AttributeReader
    /// Names the objects that the link leads to.
    let index: ObjectIndex
  }

  /// An entity and the attribute by which its objects are found.
  struct ObjectIndex: Hashable {
    let entity: String
    let attribute: String
  }

  let entity: NSEntityDescription
  let key: AttributeReader
  /// The field that holds the key.
  let keyField: String
  /// All columns but the key's.
  let columns: [Column]
  let links: [Link]
  let index: ObjectIndex

  /// - Throws: ``UnknownPropertyError`` and `JSONFieldError` for names that the model does not have.
  init(_ parameters: ImportParameters, model: NSManagedObjectModel) throws {
    let entity = try ObjectQuery(entity: parameters.entity).entityDescription(in: model)
    if entity.isAbstract {
      throw JSONFieldError("the entity \(parameters.entity) is abstract and has no objects of its own")
    }
    let key = try Self.attribute(parameters.key, of: entity)
    let map =
      parameters.map
      ?? entity.attributesByName.values.filter { !$0.isTransient }.map { ($0.name, $0.name) }.sorted { $0.0 < $1.0 }
    var columns: [Column] = []
    var keyField = parameters.key
    for (field, name) in map {
      let attribute = try Self.attribute(name, of: entity)
      if name == parameters.key {
        keyField = field
      } else {
        columns.append(
          Column(field: field, conversion: AttributeReader(attribute: attribute, dates: parameters.dates)))
      }
    }
    self.entity = entity
    self.key = AttributeReader(attribute: key, dates: parameters.dates)
    self.keyField = keyField
    self.columns = columns
    self.index = ObjectIndex(entity: parameters.entity, attribute: parameters.key)
    self.links = try parameters.relationships.map { relationship in
      guard let description = entity.relationshipsByName[relationship.name], !description.isToMany,
        let destination = description.destinationEntity
      else {
        throw UnknownPropertyError(
          entity: parameters.entity, property: relationship.name,
          known: entity.relationshipsByName.filter { !$0.value.isToMany }.keys.sorted())
      }
      let attribute = try Self.attribute(relationship.key, of: destination)
      return Link(
        relationship: relationship, destination: destination,
        key: AttributeReader(attribute: attribute, dates: parameters.dates),
        index: ObjectIndex(entity: destination.name ?? "", attribute: relationship.key))
    }
  }

  private static func attribute(_ name: String, of entity: NSEntityDescription) throws -> NSAttributeDescription {
    guard let attribute = entity.attributesByName[name], !attribute.isTransient else {
      throw UnknownPropertyError(
        entity: entity.name ?? "", property: name, known: entity.attributesByName.keys.sorted())
    }
    return attribute
  }
}
