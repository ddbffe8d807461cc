import CoreData

private func models(_ model: NSManagedObjectModel, _ url: URL, _ request: NSFetchRequest<any NSFetchRequestResult>)
  throws
{
  _ = NSManagedObjectModel()
  let _: NSManagedObjectModel? = NSManagedObjectModel(contentsOf: url)
  let _: [NSEntityDescription] = model.entities
  model.entities = []
  let _: [String: NSEntityDescription] = model.entitiesByName
  let _: [String] = model.configurations
  let _: [NSEntityDescription]? = model.entities(forConfigurationName: nil)
  model.setEntities([], forConfigurationName: "C")
  let _: NSManagedObjectModel? = NSManagedObjectModel.mergedModel(from: nil)
  let _: NSManagedObjectModel? = NSManagedObjectModel(byMerging: [model])
  let _: NSManagedObjectModel? = NSManagedObjectModel.mergedModel(from: nil, forStoreMetadata: [:])
  let _: NSManagedObjectModel? = NSManagedObjectModel(byMerging: [model], forStoreMetadata: [:])
  let _: Bool = model.isConfiguration(withName: nil, compatibleWithStoreMetadata: [:])
  let _: [String: Data] = model.entityVersionHashesByName
  let _: Set<AnyHashable> = model.versionIdentifiers
  model.versionIdentifiers = ["1"]
  let _: String = model.versionChecksum
  let _: [String: String] = try NSManagedObjectModel.checksumsForVersionedModel(at: url)
  let _: NSFetchRequest<any NSFetchRequestResult>? = model.fetchRequestTemplate(forName: "a")
  let _: NSFetchRequest<any NSFetchRequestResult>? = model.fetchRequestFromTemplate(
    withName: "a", substitutionVariables: ["b": 1])
  model.setFetchRequestTemplate(request, forName: "a")
  let _: [String: NSFetchRequest<any NSFetchRequestResult>] = model.fetchRequestTemplatesByName
  let _: [String: String]? = model.localizationDictionary
  model.localizationDictionary = [:]
  let _: any NSCopying = model
  for entity in model { let _: NSEntityDescription = entity }
}

private func entities(_ entity: NSEntityDescription, _ context: NSManagedObjectContext) {
  let _: NSEntityDescription? = NSEntityDescription.entity(forEntityName: "A", in: context)
  let _: NSManagedObject = NSEntityDescription.insertNewObject(forEntityName: "A", into: context)
  let _: String? = entity.name
  entity.name = "A"
  let _: String? = entity.managedObjectClassName
  entity.managedObjectClassName = "A"
  let _: NSManagedObjectModel = entity.managedObjectModel
  entity.isAbstract = !entity.isAbstract
  let _: [NSEntityDescription] = entity.subentities
  entity.subentities = []
  let _: [String: NSEntityDescription] = entity.subentitiesByName
  let _: NSEntityDescription? = entity.superentity
  let _: [NSPropertyDescription] = entity.properties
  entity.properties = []
  let _: [String: NSPropertyDescription] = entity.propertiesByName
  let _: [String: NSAttributeDescription] = entity.attributesByName
  let _: [String: NSRelationshipDescription] = entity.relationshipsByName
  let _: [NSRelationshipDescription] = entity.relationships(forDestination: entity)
  let _: Bool = entity.isKindOf(entity: entity)
  let _: [AnyHashable: Any]? = entity.userInfo
  entity.userInfo = [:]
  let _: Data = entity.versionHash
  let _: String? = entity.versionHashModifier
  entity.versionHashModifier = "1"
  let _: String? = entity.renamingIdentifier
  entity.renamingIdentifier = "B"
  let _: [NSFetchIndexDescription] = entity.indexes
  entity.indexes = []
  let _: [[Any]] = entity.uniquenessConstraints
  entity.uniquenessConstraints = [["a"]]
  let _: [[Any]] = entity.compoundIndexes
  let _: any NSCopying = entity
}

private func properties(_ property: NSPropertyDescription) {
  let _: NSEntityDescription = property.entity
  let _: String = property.name
  property.name = "a"
  property.isOptional = !property.isOptional
  property.isTransient = !property.isTransient
  property.isIndexed = !property.isIndexed
  let _: [NSPredicate] = property.validationPredicates
  let _: [Any] = property.validationWarnings
  property.setValidationPredicates([NSPredicate(value: true)], withValidationWarnings: [1])
  let _: [AnyHashable: Any]? = property.userInfo
  property.userInfo = [:]
  let _: Data = property.versionHash
  let _: (String?, String?) = (property.versionHashModifier, property.renamingIdentifier)
  property.versionHashModifier = "1"
  property.renamingIdentifier = "b"
  let _: any NSCopying = property
}

private func attributes(_ attribute: NSAttributeDescription) {
  let _: [NSAttributeType] = [
    .undefinedAttributeType, .integer16AttributeType, .integer32AttributeType, .integer64AttributeType,
    .decimalAttributeType, .doubleAttributeType, .floatAttributeType, .stringAttributeType, .booleanAttributeType,
    .dateAttributeType, .binaryDataAttributeType, .UUIDAttributeType, .URIAttributeType, .transformableAttributeType,
    .objectIDAttributeType, .compositeAttributeType, attribute.attributeType,
  ]
  attribute.attributeType = .stringAttributeType
  let _: [NSAttributeDescription.AttributeType] = [
    .undefined, .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binaryData,
    .uuid, .uri, .transformable, .objectID, .composite, attribute.type,
  ]
  attribute.type = .string
  let _: String? = attribute.attributeValueClassName
  attribute.attributeValueClassName = "A"
  let _: Any? = attribute.defaultValue
  attribute.defaultValue = 1
  let _: String? = attribute.valueTransformerName
  attribute.valueTransformerName = "A"
  attribute.allowsExternalBinaryDataStorage = !attribute.allowsExternalBinaryDataStorage
  attribute.preservesValueInHistoryOnDeletion = !attribute.preservesValueInHistoryOnDeletion
  let derived = NSDerivedAttributeDescription()
  let _: CoreData.NSExpression? = derived.derivationExpression
  derived.derivationExpression = CoreData.NSExpression(forKeyPath: "as.@count")
  let composite = NSCompositeAttributeDescription()
  let elements: [NSAttributeDescription] = composite.elements
  composite.elements = elements
  let _: [NSAttributeDescription] = [NSAttributeDescription(), derived, composite]
}

private func otherProperties(_ entity: NSEntityDescription) {
  let relationship = NSRelationshipDescription()
  let _: NSEntityDescription? = relationship.destinationEntity
  relationship.destinationEntity = entity
  let _: NSRelationshipDescription? = relationship.inverseRelationship
  relationship.inverseRelationship = nil
  relationship.maxCount = relationship.minCount
  relationship.minCount = relationship.maxCount
  let _: [NSDeleteRule] = [
    relationship.deleteRule, .noActionDeleteRule, .nullifyDeleteRule, .cascadeDeleteRule, .denyDeleteRule,
  ]
  relationship.deleteRule = .cascadeDeleteRule
  let _: Bool = relationship.isToMany
  relationship.isOrdered = !relationship.isOrdered

  let fetched = NSFetchedPropertyDescription()
  let _: NSFetchRequest<any NSFetchRequestResult>? = fetched.fetchRequest
  fetched.fetchRequest = NSFetchRequest(entityName: "A")

  let column = NSExpressionDescription()
  let _: CoreData.NSExpression? = column.expression
  column.expression = CoreData.NSExpression(forKeyPath: "a")
  column.expressionResultType = .integer64AttributeType
  column.resultType = .integer64
  let _: (NSAttributeType, NSAttributeDescription.AttributeType) = (column.expressionResultType, column.resultType)

  let element = NSFetchIndexElementDescription(property: column, collationType: .binary)
  let _: [NSFetchIndexElementType] = [.binary, .rTree, element.collationType]
  let _: (NSPropertyDescription?, String?) = (element.property, element.propertyName)
  element.isAscending = !element.isAscending
  let _: NSFetchIndexDescription? = element.indexDescription
  let index = NSFetchIndexDescription(name: "i", elements: [element])
  let _: (String, [NSFetchIndexElementDescription]) = (index.name, index.elements)
  let _: (NSEntityDescription?, NSPredicate?) = (index.entity, index.partialIndexPredicate)
  index.partialIndexPredicate = nil
}
