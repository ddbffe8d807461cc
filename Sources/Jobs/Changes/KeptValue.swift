import CoreData

/// The values of a property as JSON from which the same values can be read again.
///
/// | attribute or relationship | JSON |
/// |---|---|
/// | String, UUID, URI | a string |
/// | Integer 16, 32, 64 | a number |
/// | Boolean | true or false |
/// | Double, Float | a number; "inf", "-inf" and "nan" as strings |
/// | Decimal | a string, so that no digit is lost |
/// | Date | a number of seconds since 2001 |
/// | Binary Data | a string in base64 |
/// | to one | the URI of the object, or null |
/// | to many | an array of URIs, sorted |
///
/// Transformable, composite and object ID attributes are not kept, nor are ordered relationships of many objects to
/// many. Transient and derived attributes have nothing to keep.
enum KeptValue {
  /// Whether a property is part of what a save writes for its object. A to-many relationship whose inverse is to-one is
  /// not: the objects at its other end are changed.
  static func isWritten(_ property: NSPropertyDescription) -> Bool {
    switch property {
    case is NSDerivedAttributeDescription: false
    case let attribute as NSAttributeDescription: !attribute.isTransient
    case let relationship as NSRelationshipDescription: !relationship.isToMany || isManyToMany(relationship)
    default: false
    }
  }

  /// Whether a relationship has rows of its own: to many objects, whose inverse leads to many, too, or is missing.
  static func isManyToMany(_ relationship: NSRelationshipDescription) -> Bool {
    relationship.isToMany && relationship.inverseRelationship?.isToMany ?? true
  }

  /// A value as JSON. Nil for a value that cannot be kept: then the change says so, and cannot be undone.
  ///
  /// - Parameter value: an attribute's value, the object of a relationship, or its set of objects.
  static func json(_ value: Any?, of property: NSPropertyDescription) -> JSONValue? {
    if let relationship = property as? NSRelationshipDescription {
      guard relationship.isToMany else { return .optional((value as? NSManagedObject)?.objectID.uriString) }
      if relationship.isOrdered, isManyToMany(relationship) { return nil }
      return .array(uris(value).sorted().map(JSONValue.string))
    }
    guard let attribute = property as? NSAttributeDescription, isKept(attribute.attributeType) else { return nil }
    switch value {
    case nil, is NSNull: return .null
    case let text as String: return .string(text)
    case let date as Date: return number(date.timeIntervalSinceReferenceDate)
    case let data as Data: return .string(data.base64EncodedString())
    case let uuid as UUID: return .string(uuid.uuidString)
    case let url as URL: return .string(url.absoluteString)
    case let number as NSDecimalNumber: return .string(number.description)
    case let number as NSNumber:
      switch attribute.attributeType {
      case .booleanAttributeType: return .bool(number.boolValue)
      case .floatAttributeType, .doubleAttributeType: return self.number(number.doubleValue)
      default: return .number(number.int64Value)
      }
    default: return nil
    }
  }

  /// The value of an attribute, as `json(_:of:)` has written it. Nil for null, and for JSON of another type.
  static func value(_ json: JSONValue, of attribute: NSAttributeDescription) -> Any? {
    if json == .null { return nil }
    let text = json.stringValue ?? ""
    switch attribute.attributeType {
    case .booleanAttributeType: return json.boolValue
    case .floatAttributeType: return double(json).map { Float($0) }
    case .doubleAttributeType: return double(json)
    case .dateAttributeType: return double(json).map { Date(timeIntervalSinceReferenceDate: $0) }
    case .decimalAttributeType: return NSDecimalNumber(string: text)
    case .binaryDataAttributeType: return Data(base64Encoded: text)
    case .UUIDAttributeType: return UUID(uuidString: text)
    case .URIAttributeType: return URL(string: text)
    case .stringAttributeType: return text
    default: return json.intValue
    }
  }

  /// The URIs of a to-many relationship's objects.
  static func uris(_ value: Any?) -> [String] {
    let objects = (value as? NSOrderedSet)?.array ?? (value as? NSSet)?.allObjects ?? []
    return objects.compactMap { ($0 as? NSManagedObject)?.objectID.uriString }
  }

  /// Whether values of the type can be kept exactly.
  private static func isKept(_ type: NSAttributeType) -> Bool {
    switch type {
    case .stringAttributeType, .integer16AttributeType, .integer32AttributeType, .integer64AttributeType,
      .booleanAttributeType, .floatAttributeType, .doubleAttributeType, .dateAttributeType, .decimalAttributeType,
      .binaryDataAttributeType, .UUIDAttributeType, .URIAttributeType:
      true
    default: false
    }
  }

  /// JSON has no numbers for infinity and NaN.
  private static func number(_ value: Double) -> JSONValue {
    value.isFinite ? .number("\(value)") : .string("\(value)")
  }

  /// Whether a kept value is not a number. SQLite keeps NaN as NULL, so it comes back as null, and counts as
  /// unchanged.
  static func isNaN(_ json: JSONValue, of property: NSPropertyDescription) -> Bool {
    let type = (property as? NSAttributeDescription)?.attributeType
    return (type == .floatAttributeType || type == .doubleAttributeType) && double(json)?.isNaN == true
  }

  private static func double(_ json: JSONValue) -> Double? { json.doubleValue ?? json.stringValue.flatMap(Double.init) }
}

extension ObjectChange {
  /// What the next save of a context does to objects of a store. New objects get their permanent IDs. A worker calls it
  /// before it saves, where its pool keeps the changes of the kind.
  ///
  /// It reads the values of deleted objects and of relationships that are not in memory yet.
  ///
  /// - Parameter store: the store's identifier.
  package static func pending(in context: NSManagedObjectContext, of store: String) throws -> [ObjectChange] {
    context.processPendingChanges()
    try context.obtainPermanentIDs(for: context.insertedObjects.filter { $0.objectID.isTemporaryID })
    func own(_ objects: Set<NSManagedObject>) -> [NSManagedObject] {
      objects.filter { $0.objectID.objectURI?.store == store }
        .sorted { ($0.entity.name ?? "", $0.objectID.key ?? 0) < ($1.entity.name ?? "", $1.objectID.key ?? 0) }
    }
    return own(context.insertedObjects).map(ObjectChange.init(inserted:))
      + own(context.updatedObjects).compactMap(ObjectChange.init(updated:))
      + own(context.deletedObjects).map(ObjectChange.init(deleted:))
  }

  /// An insertion: all values, since only an object that is still the same in all of them may be deleted again.
  private init(inserted object: NSManagedObject) {
    self.init(.inserted, object.objectID.uriString)
    for (name, property) in object.entity.propertiesByName
    where KeptValue.isWritten(property) || property is NSRelationshipDescription {
      if let json = KeptValue.json(object.value(forKey: name), of: property) { after[name] = json }
    }
  }

  /// An update: the properties that have changed, with their values before and after. Nil where the object's row does
  /// not change. Of relationships to many, what was removed and what was added.
  private init?(updated object: NSManagedObject) {
    let changed = object.changedValues().keys.filter { name in
      object.entity.propertiesByName[name].map(KeptValue.isWritten) == true
    }
    guard !changed.isEmpty else { return nil }
    self.init(.updated, object.objectID.uriString, properties: changed.sorted())
    let committed = object.committedValues(forKeys: Array(changed))
    for name in properties {
      guard let property = object.entity.propertiesByName[name] else { continue }
      let value = object.value(forKey: name)
      if let relationship = property as? NSRelationshipDescription, relationship.isToMany {
        guard !relationship.isOrdered else {
          unkept.append(name)
          continue
        }
        let (old, new) = (Set(KeptValue.uris(committed[name])), Set(KeptValue.uris(value)))
        before[name] = .array(old.subtracting(new).sorted().map(JSONValue.string))
        after[name] = .array(new.subtracting(old).sorted().map(JSONValue.string))
      } else if let old = KeptValue.json(committed[name], of: property), let new = KeptValue.json(value, of: property) {
        before[name] = old
        after[name] = new
      } else {
        unkept.append(name)
      }
    }
  }

  /// A deletion: the values that the store had, not those that the object got before it was deleted.
  private init(deleted object: NSManagedObject) {
    self.init(.deleted, object.objectID.uriString)
    let names = object.entity.propertiesByName.filter { KeptValue.isWritten($0.value) }.map(\.key)
    let committed = object.committedValues(forKeys: names)
    for name in names.sorted() {
      guard let property = object.entity.propertiesByName[name] else { continue }
      if let json = KeptValue.json(committed[name], of: property) {
        before[name] = json
      } else {
        unkept.append(name)
      }
    }
  }
}
