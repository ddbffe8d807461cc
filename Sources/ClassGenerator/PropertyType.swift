import ModelFiles

/// The Swift type of a property, by Xcode's rules: scalars where the model says so, else optional objects, whether or not
/// the model lets the value be nil.
enum PropertyType {
  /// Has typed access through `ManagedProperty`.
  case typed(String, isHashable: Bool)
  /// A date as a number of seconds.
  case timeInterval
  /// An optional of this type, by name.
  case byName(String, isHashable: Bool)
  /// The objects of a fetched property, of this class.
  case fetched(String)

  init(_ property: ModelProperty, in document: ModelDocument) {
    switch property.kind {
    case .attribute(let attribute): self.init(attribute)
    case .relationship(let relationship):
      if relationship.isToMany {
        self = .byName(relationship.isOrdered ? "Foundation.NSOrderedSet" : "Foundation.NSSet", isHashable: true)
      } else {
        self = .typed("\(document.className(ofEntity: relationship.destinationName))?", isHashable: true)
      }
    case .fetched(let request): self = .fetched(document.className(ofEntity: request?.entityName))
    }
  }

  private init(_ attribute: ModelAttribute) {
    let scalar: String? =
      switch attribute.type {
      case .integer16AttributeType: "Swift.Int16"
      case .integer32AttributeType: "Swift.Int32"
      case .integer64AttributeType: "Swift.Int64"
      case .doubleAttributeType: "Swift.Double"
      case .floatAttributeType: "Swift.Float"
      case .booleanAttributeType: "Swift.Bool"
      default: nil
      }
    if let scalar {
      self =
        attribute.usesScalarValueType
        ? .typed(scalar, isHashable: true) : .byName("Foundation.NSNumber", isHashable: true)
      return
    }
    self =
      switch attribute.type {
      case .dateAttributeType:
        attribute.usesScalarValueType ? .timeInterval : .typed("Foundation.Date?", isHashable: true)
      case .stringAttributeType: .typed("Swift.String?", isHashable: true)
      case .binaryDataAttributeType: .typed("Foundation.Data?", isHashable: true)
      case .UUIDAttributeType: .typed("Foundation.UUID?", isHashable: true)
      case .URIAttributeType: .byName("Foundation.URL", isHashable: true)
      case .decimalAttributeType: .byName("Foundation.NSDecimalNumber", isHashable: true)
      case .objectIDAttributeType: .byName("CoreData.NSManagedObjectID", isHashable: true)
      case .compositeAttributeType: .byName("[Swift.String: Any]", isHashable: false)
      default:
        attribute.customClassName.map { .byName($0, isHashable: false) }
          ?? .byName("Foundation.NSObject", isHashable: true)
      }
  }

  var swiftName: String {
    switch self {
    case .typed(let name, _): name
    case .timeInterval: "Foundation.TimeInterval"
    case .byName(let name, _): "\(name)?"
    case .fetched(let className): "[\(className)]?"
    }
  }

  var isTyped: Bool { if case .typed = self { true } else { false } }

  var isHashable: Bool {
    switch self {
    case .typed(_, let isHashable), .byName(_, let isHashable): isHashable
    case .timeInterval, .fetched: true
    }
  }
}
