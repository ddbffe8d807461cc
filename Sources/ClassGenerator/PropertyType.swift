import ModelFiles

/// The Swift type of a property: that of the model's notes, else that of Xcode's rules, which is a scalar if the model
/// asks for it and otherwise an optional object, even for mandatory properties.
struct PropertyType {
  /// The type of the property.
  let swiftName: String
  let isHashable: Bool
  /// The type with which the property's slot is read and written.
  let storedName: String
  /// The suffixes that convert the stored value to the property's and back; empty if both are equal.
  private let reading: String
  private let writing: String

  init(
    _ property: ModelProperty, _ notes: SwiftNotes, of entity: ModelEntity, in document: ModelDocument
  ) throws(ManagedObjectModelError) {
    switch property.kind {
    case .attribute(let attribute):
      let type = Self.name(of: attribute)
      if let typeNote = notes.type {
        do {
          self = try NotedType(attribute.type).type(typeNote, default: notes.fallback)
        } catch {
          throw document.error(property.node, entity: entity.name, property: property.name, error.reason)
        }
      } else if let fallback = notes.fallback {
        guard type.name.hasSuffix("?") else {
          throw document.error(
            property.node, entity: entity.name, property: property.name,
            "has a swift.default, but its type \(type.name) has no nil")
        }
        self.init(
          String(type.name.dropLast()), storedName: type.name, isHashable: type.isHashable, reading: " ?? \(fallback)")
      } else {
        self.init(type.name, isHashable: type.isHashable)
      }
    case .relationship(let relationship):
      let destination = document.className(ofEntity: relationship.destinationName)
      let collection = relationship.isOrdered ? "Foundation.NSOrderedSet" : "Foundation.NSSet"
      self.init(relationship.isToMany ? "\(collection)?" : "\(destination)?")
    case .fetched(let request): self.init("[\(document.className(ofEntity: request?.entityName))]?")
    }
  }

  init(
    _ swiftName: String, storedName: String? = nil, isHashable: Bool = true, reading: String = "", writing: String = ""
  ) {
    self.swiftName = swiftName
    self.storedName = storedName ?? swiftName
    self.isHashable = isHashable
    self.reading = reading
    self.writing = writing
  }

  /// The expression of the property's value, from one of the stored value.
  func value(of stored: String) -> String { stored + reading }

  /// The expression of the stored value, from one of the property's.
  func stored(_ value: String) -> String { value + writing }

  private static func name(of attribute: ModelAttribute) -> (name: String, isHashable: Bool) {
    let scalar = attribute.usesScalarValueType
    return switch attribute.type {
    case .integer16AttributeType: (scalar ? "Swift.Int16" : "Foundation.NSNumber?", true)
    case .integer32AttributeType: (scalar ? "Swift.Int32" : "Foundation.NSNumber?", true)
    case .integer64AttributeType: (scalar ? "Swift.Int64" : "Foundation.NSNumber?", true)
    case .doubleAttributeType: (scalar ? "Swift.Double" : "Foundation.NSNumber?", true)
    case .floatAttributeType: (scalar ? "Swift.Float" : "Foundation.NSNumber?", true)
    case .booleanAttributeType: (scalar ? "Swift.Bool" : "Foundation.NSNumber?", true)
    case .dateAttributeType: (scalar ? "Foundation.TimeInterval" : "Foundation.Date?", true)
    case .stringAttributeType: ("Swift.String?", true)
    case .binaryDataAttributeType: ("Foundation.Data?", true)
    case .UUIDAttributeType: ("Foundation.UUID?", true)
    case .URIAttributeType: ("Foundation.URL?", true)
    case .decimalAttributeType: ("Foundation.NSDecimalNumber?", true)
    case .objectIDAttributeType: ("CoreData.NSManagedObjectID?", true)
    case .compositeAttributeType: ("[Swift.String: Any]?", false)
    case .transformableAttributeType, .undefinedAttributeType:
      ("\(attribute.customClassName ?? "Foundation.NSObject")?", attribute.customClassName == nil)
    }
  }
}

/// The types that a note may give an attribute of one kind: those with which its slot can be read, and enumerations
/// with raw values of one of them.
private struct NotedType {
  /// The types with which the attribute's slot can be read. The first is the raw type of enumerations.
  private let readable: [String]

  init(_ type: NSAttributeType) {
    readable =
      switch type {
      case .integer16AttributeType: ["Int16", "Int", "Int32", "Int64"]
      case .integer32AttributeType: ["Int32", "Int", "Int64"]
      case .integer64AttributeType: ["Int64", "Int"]
      case .booleanAttributeType: ["Bool"]
      case .doubleAttributeType: ["Double"]
      case .floatAttributeType: ["Float"]
      case .stringAttributeType: ["String"]
      case .dateAttributeType: ["Date"]
      case .binaryDataAttributeType: ["Data"]
      case .UUIDAttributeType: ["UUID"]
      case .URIAttributeType: ["URL"]
      case .decimalAttributeType: ["Decimal"]
      default: []
      }
  }

  func type(_ typeNote: String, default fallback: String?) throws(UnsuitableType) -> PropertyType {
    let isOptional = typeNote.hasSuffix("?")
    let base = isOptional ? String(typeNote.dropLast()) : typeNote
    guard let raw = readable.first else {
      throw UnsuitableType("has a swift.type, which attributes of its type cannot")
    }
    guard !isOptional || fallback == nil else {
      throw UnsuitableType("has a swift.default, but its swift.type \(typeNote) is optional")
    }
    let reading = fallback.map { " ?? \($0)" } ?? ""
    if readable.contains(base) {
      return PropertyType(typeNote, storedName: fallback == nil ? typeNote : "\(base)?", reading: reading)
    }
    guard !Self.foreign.contains(base) else {
      throw UnsuitableType(
        "has the swift.type \(typeNote); it can be \(readable.joined(separator: ", ")) or an enumeration of \(raw)")
    }
    guard isOptional || fallback != nil else {
      throw UnsuitableType("has the swift.type \(typeNote): it needs a swift.default, or must be optional")
    }
    return PropertyType(
      typeNote, storedName: "\(raw)?", reading: ".flatMap(\(base).init(rawValue:))" + reading,
      writing: isOptional ? "?.rawValue" : ".rawValue")
  }

  /// Names that cannot be those of an enumeration.
  private static let foreign: Set = [
    "Int", "Int16", "Int32", "Int64", "Bool", "Double", "Float", "String", "Date", "Data", "UUID", "URL", "Decimal",
  ]
}

/// The reason why an attribute cannot have the type of its notes, as the rest of a sentence that begins with its name.
private struct UnsuitableType: Error {
  let reason: String
  init(_ reason: String) { self.reason = reason }
}
