/// Writes a model as a keyed archive with the classes and keys of Apple's.
///
/// As in the copies that Apple's framework keeps in stores, each subentity repeats the properties that it inherits.
/// `ArchivedModel` has the form as an example.
///
/// Three things are made with it: the copy of its model that each store keeps (`KeptModel`), from which a later program
/// migrates the store; archives by `NSKeyedArchiver` (`ModelCoding`); and the bytes of single descriptions in tests.
/// The model compiler writes `.mom` files as XML instead.
///
/// Invariant: what `ArchivedModel` reads from it is equal to the model, and has equal version hashes.
struct ModelArchive {
  private let writer = KeyedArchiveWriter()

  /// The archive of a model with all entities, configurations and templates. Entities are sorted by name, so that equal
  /// models give equal bytes, user info of several keys included.
  static func data(of model: NSManagedObjectModel) -> Data {
    let archive = ModelArchive()
    return archive.writer.archive { archive.model(model) }
  }

  /// The archive of an entity, with the entities to which it leads.
  static func data(of entity: NSEntityDescription) -> Data {
    let archive = ModelArchive()
    return archive.writer.archive { archive.entity(entity) }
  }

  /// The archive of a property, with its entity and those to which it leads.
  static func data(of property: NSPropertyDescription) -> Data {
    let archive = ModelArchive()
    return archive.writer.archive { archive.property(property, in: property.owner) }
  }

  /// The archive of a fetch index.
  static func data(of index: NSFetchIndexDescription) -> Data {
    let archive = ModelArchive()
    return archive.writer.archive { archive.index(index) }
  }

  /// A model, once. Entities come to it through their own reference, `NSManagedObjectModel`.
  private func model(_ model: NSManagedObjectModel?) -> PropertyListValue {
    guard let model else { return KeyedArchiveWriter.null }
    return writer.once(ObjectIdentifier(model), ["NSManagedObjectModel"]) {
      let byName = model.entitiesByName
      var fields: KeyedArchiveWriter.Fields = [
        "NSEntities": entities(byName.sorted(on: { $0.key }).map { ($0.key, entity($0.value)) }),
        "NSFetchRequestTemplates": model.fetchRequestTemplates.isEmpty
          ? KeyedArchiveWriter.null
          : writer.dictionary(
            model.fetchRequestTemplates.sorted(on: { $0.key }).map { ($0.key, fetchRequest($0.value)) },
            mutable: true),
        "NSVersionIdentifiers": writer.value(model.versionIdentifiers),
      ]
      // The default configuration is all entities, and no archive has it.
      let configurations = model.configurations.filter { $0 != NSManagedObjectModel.defaultConfigurationName }
      if !configurations.isEmpty {
        fields["NSConfigurations"] = writer.dictionary(
          configurations.map { name in
            (name, writer.set((model.entities(forConfigurationName: name) ?? []).map(entity)))
          }, mutable: true)
      }
      return fields
    }
  }

  /// The dictionary of a model's entities: values in the order of a table of keys.
  ///
  /// It is a class of Apple's with keys that are known beforehand: the keys stand in a mapping strategy, the values in
  /// an array, and a token marks places without a value, of which there are none here.
  private func entities(_ entries: [(key: String, value: PropertyListValue)]) -> PropertyListValue {
    let table = writer.object(
      ["NSKnownKeysMappingStrategy1", "NSKnownKeysMappingStrategy"],
      [
        "keys": writer.array(entries.map { writer.string($0.key) }), "length": .integer(Int64(entries.count)),
        "version": .integer(1),
      ])
    return writer.object(
      ["NSKnownKeysDictionary1", "NSKnownKeysDictionary", "NSMutableDictionary", "NSDictionary"],
      [
        "searchMapping": table, "values": writer.array(entries.map(\.value)), "version": .integer(1),
        "emptyToken": writer.string(ArchivedNames.emptySlot),
      ])
  }

  /// An entity, once, with the model, the hierarchy and all its properties. Keys that Apple's archives leave out for a
  /// default are left out here.
  private func entity(_ entity: NSEntityDescription?) -> PropertyListValue {
    guard let entity else { return KeyedArchiveWriter.null }
    return writer.once(ObjectIdentifier(entity), ["NSEntityDescription"]) {
      let name = writer.string(entity.name)
      let userInfo = entity.userInfo ?? [:]
      var fields: KeyedArchiveWriter.Fields = [
        "NSEntityName": name,
        "NSClassNameForEntity": writer.string(
          entity.managedObjectClassName == "NSManagedObject" ? nil : entity.managedObjectClassName),
        "NSManagedObjectModel": model(entity.model), "NSSuperentity": self.entity(entity.superentity),
        "NSSubentities": writer.dictionary(
          entity.subentities.compactMap { subentity in subentity.name.map { ($0, self.entity(subentity)) } },
          mutable: true),
        "NSProperties": writer.dictionary(
          entity.properties.map { ($0.name, property($0, in: entity)) }, mutable: true),
        "NSUserInfo": writer.value(userInfo), "NSVersionHashModifier": writer.string(entity.versionHashModifier),
        "NSRenamingIdentifier": writer.string(entity.renamingIdentifier),
      ]
      if entity.isAbstract { fields["NSIsAbstract"] = .bool(true) }
      if !entity.uniquenessConstraints.isEmpty {
        fields["NSUniqueTuples"] = tuples(entity.uniquenessConstraints.map(entity.names(of:)))
      }
      if !entity.indexes.isEmpty || !entity.compoundIndexes.isEmpty {
        fields["NSFetchIndexDescriptions"] = writer.array(entity.indexes.map(index), mutable: true)
        fields["NSCompoundIndexes"] = tuples(entity.compoundIndexes.map(entity.names(of:)))
      }
      return fields
    }
  }

  /// Groups of names: uniqueness constraints and compound indexes.
  private func tuples(_ names: [[String]]) -> PropertyListValue {
    writer.array(names.map { writer.array($0.map(writer.string), mutable: true) }, mutable: true)
  }

  // MARK: Properties

  /// What tells archived properties apart: an inherited property has an object for each entity that has it, so the
  /// property alone does not suffice.
  private struct PropertyPlace: Hashable {
    let property: ObjectIdentifier
    let entity: ObjectIdentifier?
  }

  /// A property as an entity has it, which may have inherited it.
  ///
  /// - Parameter owner: the entity among whose properties it stands, which may be a subentity of the one that declares
  ///   it; nil for the property of an expression in an index.
  private func property(_ property: NSPropertyDescription, in owner: NSEntityDescription?) -> PropertyListValue {
    let place = PropertyPlace(property: ObjectIdentifier(property), entity: owner.map(ObjectIdentifier.init))
    return writer.once(place, Self.classNames(of: property)) {
      var fields = common(property, owner)
      switch property {
      case let attribute as NSAttributeDescription: addAttribute(attribute, to: &fields)
      case let relationship as NSRelationshipDescription: addRelationship(relationship, to: &fields)
      case let fetched as NSFetchedPropertyDescription:
        fields["NSFetchRequest"] = fetched.fetchRequest.map(fetchRequest) ?? KeyedArchiveWriter.null
        fields["_NSFetchRequestEntityName"] = writer.string(fetched.fetchRequest?.entityName)
      case let computed as NSExpressionDescription:
        fields["NSExpression"] = writer.expression(computed.expression)
        fields["NSExpressionResultType"] = .integer(Int64(computed.expressionResultType.rawValue))
      default: break
      }
      return fields
    }
  }

  /// The class and its superclasses without `NSObject`. Subclasses go before the class that they inherit from.
  private static func classNames(of property: NSPropertyDescription) -> [String] {
    switch property {
    case is NSDerivedAttributeDescription:
      ["NSDerivedAttributeDescription", "NSAttributeDescription", "NSPropertyDescription"]
    case is NSCompositeAttributeDescription:
      ["NSCompositeAttributeDescription", "NSAttributeDescription", "NSPropertyDescription"]
    case is NSAttributeDescription: ["NSAttributeDescription", "NSPropertyDescription"]
    case is NSRelationshipDescription: ["NSRelationshipDescription", "NSPropertyDescription"]
    case is NSFetchedPropertyDescription: ["NSFetchedPropertyDescription", "NSPropertyDescription"]
    case is NSExpressionDescription: ["NSExpressionDescription", "NSPropertyDescription"]
    default: ["NSPropertyDescription"]
    }
  }

  /// What all kinds of properties have. Apple keeps the flags twice, as keys and as the bits of `_P`; which of them its
  /// framework reads is not known, so both are written.
  private func common(
    _ property: NSPropertyDescription, _ owner: NSEntityDescription?
  ) -> KeyedArchiveWriter.Fields {
    let isReadOnly = property is NSDerivedAttributeDescription || property is NSFetchedPropertyDescription
    let isOrdered = (property as? NSRelationshipDescription)?.isOrdered ?? false
    let userInfo = property.userInfo ?? [:]
    var fields: KeyedArchiveWriter.Fields = [
      "NSPropertyName": writer.string(property.name), "NSEntity": entity(owner),
      "NSRenamingIdentifier": writer.string(property.renamingIdentifier),
    ]
    for (key, isSet) in [
      ("NSIsOptional", property.isOptional), ("NSIsTransient", property.isTransient), ("NSIsReadOnly", isReadOnly),
      ("NSIsIndexed", property.isIndexed), ("NSIndexedBySpotlight", property.isIndexedBySpotlight),
      ("NSIsOrdered", isOrdered), (ArchivedNames.externalRecord, property.isStoredInExternalRecord),
    ] where isSet { fields[key] = .bool(true) }
    if !userInfo.isEmpty { fields["NSUserInfo"] = writer.value(userInfo) }
    if !property.validationPredicates.isEmpty {
      fields["NSValidationPredicates"] = writer.array(
        property.validationPredicates.map { writer.predicate($0) }, mutable: true)
      fields["NSValidationWarnings"] = writer.array(property.validationWarnings.map { writer.value($0) }, mutable: true)
    }
    if let modifier = property.versionHashModifier { fields["NSVersionHashModifier"] = writer.string(modifier) }
    // The same settings as bits. Four of them say that something is missing.
    var bits: Int64 = 1
    for (bit, isSet) in [
      (2, property.isOptional), (4, isReadOnly), (8, property.isTransient),
      (16 + 32, property.validationPredicates.isEmpty), (64, userInfo.isEmpty),
      (128, property.versionHashModifier == nil), (256, property.isIndexedBySpotlight),
      (512, property.isStoredInExternalRecord), (1024, isOrdered),
    ] as [(Int64, Bool)] where isSet { bits |= bit }
    fields["_P"] = .integer(bits)
    return fields
  }

  /// What attributes have, and of derived and composite ones their own.
  private func addAttribute(_ attribute: NSAttributeDescription, to fields: inout KeyedArchiveWriter.Fields) {
    var flags: AttributeFlags = []
    if attribute.allowsExternalBinaryDataStorage { flags.insert(.external) }
    if attribute.preservesValueInHistoryOnDeletion { flags.insert(.preserved) }
    fields["NSFlagsKey"] = .integer(Int64(flags.rawValue))
    fields["NSAttributeType"] = .integer(Int64(attribute.attributeType.rawValue))
    fields["NSAttributeValueClassName"] = writer.string(attribute.attributeValueClassName)
    fields["NSValueTransformerName"] = writer.string(attribute.valueTransformerName)
    fields["NSDefaultValue"] = defaultValue(of: attribute)
    if let derived = attribute as? NSDerivedAttributeDescription {
      fields["NSDerivationExpression"] = writer.expression(derived.derivationExpression)
      fields["NSFilteringPredicate"] = KeyedArchiveWriter.null
    }
    if let composite = attribute as? NSCompositeAttributeDescription {
      fields["NSElements"] = writer.array(composite.elements.map { property($0, in: $0.owner) })
    }
  }

  /// A number is written as the attribute's type, whatever its own.
  ///
  /// A default of 0 that a program set as `Int` would otherwise come back as an integer for a Double attribute, and
  /// equal models would have unequal archives.
  private func defaultValue(of attribute: NSAttributeDescription) -> PropertyListValue {
    guard let number = attribute.defaultValue as? NSNumber else { return writer.value(attribute.defaultValue) }
    switch attribute.attributeType {
    case .booleanAttributeType: return writer.scalar(.bool(number.boolValue))
    case .doubleAttributeType, .floatAttributeType: return writer.scalar(.real(number.doubleValue))
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
      return writer.scalar(.integer(number.int64Value))
    default: return writer.value(number)
    }
  }

  /// What relationships have. Destination and inverse are given as objects and by name; the names let Apple's reader
  /// resolve an entity that is not in the archive.
  private func addRelationship(
    _ relationship: NSRelationshipDescription, to fields: inout KeyedArchiveWriter.Fields
  ) {
    let inverse = relationship.inverseRelationship
    fields["NSDeleteRule"] = .integer(Int64(relationship.deleteRule.rawValue))
    fields["NSMaxCount"] = .integer(Int64(relationship.maxCount))
    fields["NSMinCount"] = .integer(Int64(relationship.minCount))
    fields["NSDestinationEntity"] = entity(relationship.destinationEntity)
    fields["_NSDestinationEntityName"] = writer.string(relationship.destinationEntity?.name)
    fields["NSInverseRelationship"] = inverse.map { property($0, in: $0.owner) } ?? KeyedArchiveWriter.null
    fields["_NSInverseRelationshipName"] = writer.string(inverse?.name)
  }

  // MARK: Indexes and requests

  /// A fetch index with its elements, which refer back to it. An element names its property; only a computed one has it
  /// as an object.
  private func index(_ index: NSFetchIndexDescription) -> PropertyListValue {
    writer.once(ObjectIdentifier(index), ["NSFetchIndexDescription"]) {
      [
        "NSIndexName": writer.string(index.name), "NSEntity": entity(index.entity),
        "NSPartialIndexPredicate": writer.predicate(index.partialIndexPredicate),
        "NSIndexElements": writer.array(
          index.elements.map { element in
            var fields: KeyedArchiveWriter.Fields = [
              "NSPropertyName": writer.string(element.propertyName),
              "NSFetchIndexElementType": .integer(Int64(element.collationType.rawValue)),
              "NSFetchIndexDescription": self.index(index), "NSAscending": .bool(element.isAscending),
            ]
            if let computed = element.property as? NSExpressionDescription {
              fields["NSProperty"] = property(computed, in: nil)
            }
            return writer.object(["NSFetchIndexElementDescription"], fields)
          }),
      ]
    }
  }

  /// A fetch request. Columns are given by name; computed columns of a dictionary fetch are therefore reduced to their
  /// names.
  private func fetchRequest(_ request: NSFetchRequest<any NSFetchRequestResult>) -> PropertyListValue {
    var flags: FetchFlags = []
    if request.returnsDistinctResults { flags.insert(.distinct) }
    if request.includesSubentities { flags.insert(.subentities) }
    if request.includesPropertyValues { flags.insert(.values) }
    if request.returnsObjectsAsFaults { flags.insert(.faults) }
    if request.includesPendingChanges { flags.insert(.pending) }
    func names(_ properties: [Any]?) -> PropertyListValue {
      guard let properties else { return KeyedArchiveWriter.null }
      let names = properties.compactMap { $0 as? String ?? ($0 as? NSPropertyDescription)?.name }
      return writer.array(names.map { writer.string($0) })
    }
    let order: PropertyListValue? = request.sortDescriptors.map { writer.array($0.map(writer.sortDescriptor)) }
    var fields: KeyedArchiveWriter.Fields = [
      "NSEntity": entity(request.entity), "NSPredicate": writer.predicate(request.predicate),
      "NSSortDescriptors": order ?? KeyedArchiveWriter.null,
      "NSFetchLimit": .integer(Int64(request.fetchLimit)), "NSFetchOffset": .integer(Int64(request.fetchOffset)),
      "NSBatchSize": .integer(Int64(request.fetchBatchSize)), "NSAllocationType": .integer(0),
      "NSResultType": .integer(Int64(request.resultType.rawValue)),
      "NSHasFetchRequestFlags": .bool(true), "NSFetchRequestFlags": .integer(Int64(flags.rawValue)),
      "NSHavingPredicate": writer.predicate(request.havingPredicate),
      "NSValuesToFetch": names(request.propertiesToFetch), "NSValuesToGroupBy": names(request.propertiesToGroupBy),
      "NSRelationshipKeyPathsForPrefetching": names(request.relationshipKeyPathsForPrefetching),
    ]
    if request.entity == nil { fields["NSEntityName"] = writer.string(request.entityName) }
    return writer.object(["NSFetchRequest", "NSPersistentStoreRequest"], fields)
  }
}
