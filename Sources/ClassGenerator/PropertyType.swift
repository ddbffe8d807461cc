import ModelFiles

/// The Swift type of a property, by Xcode's rules: a scalar if the model asks for it, else an optional object, even for
/// mandatory properties.
struct PropertyType {
  let swiftName: String
  let isHashable: Bool

  init(_ property: ModelProperty, in document: ModelDocument) {
    switch property.kind {
    case .attribute(let attribute): self.init(attribute)
    case .relationship(let relationship):
      let destination = document.className(ofEntity: relationship.destinationName)
      let collection = relationship.isOrdered ? "Foundation.NSOrderedSet" : "Foundation.NSSet"
      self.init(relationship.isToMany ? "\(collection)?" : "\(destination)?")
    case .fetched(let request): self.init("[\(document.className(ofEntity: request?.entityName))]?")
    }
  }

  private init(_ swiftName: String, isHashable: Bool = true) {
    self.swiftName = swiftName
    self.isHashable = isHashable
  }

  private init(_ attribute: ModelAttribute) {
    let scalar = attribute.usesScalarValueType
    switch attribute.type {
    case .integer16AttributeType: self.init(scalar ? "Swift.Int16" : "Foundation.NSNumber?")
    case .integer32AttributeType: self.init(scalar ? "Swift.Int32" : "Foundation.NSNumber?")
    case .integer64AttributeType: self.init(scalar ? "Swift.Int64" : "Foundation.NSNumber?")
    case .doubleAttributeType: self.init(scalar ? "Swift.Double" : "Foundation.NSNumber?")
    case .floatAttributeType: self.init(scalar ? "Swift.Float" : "Foundation.NSNumber?")
    case .booleanAttributeType: self.init(scalar ? "Swift.Bool" : "Foundation.NSNumber?")
    case .dateAttributeType: self.init(scalar ? "Foundation.TimeInterval" : "Foundation.Date?")
    case .stringAttributeType: self.init("Swift.String?")
    case .binaryDataAttributeType: self.init("Foundation.Data?")
    case .UUIDAttributeType: self.init("Foundation.UUID?")
    case .URIAttributeType: self.init("Foundation.URL?")
    case .decimalAttributeType: self.init("Foundation.NSDecimalNumber?")
    case .objectIDAttributeType: self.init("CoreData.NSManagedObjectID?")
    case .compositeAttributeType: self.init("[Swift.String: Any]?", isHashable: false)
    case .transformableAttributeType, .undefinedAttributeType:
      let own = attribute.customClassName
      self.init("\(own ?? "Foundation.NSObject")?", isHashable: own == nil)
    }
  }
}
