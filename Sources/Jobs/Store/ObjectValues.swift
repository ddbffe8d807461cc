import CoreData

/// The values of an object's properties as JSON: exact, and the same in `workerpool fetch` and in exports.
///
/// ```swift
/// let values = try ObjectValues(entity: book.entity)
/// print(values.names.joined(separator: ","))
/// print(values.values(of: book).map(\.text).joined(separator: ","))
/// ```
///
/// Numbers keep their digits, dates become RFC 3339 (or seconds since 2001), UUIDs and URIs their text, binary data
/// base64, a to-one relationship the URI of its object. A number or a date that JSON or RFC 3339 cannot write, such as
/// NaN or the year 12000, becomes null. To-many relationships and transient attributes are left out. A transformable
/// value is its transformer's business and is left out, too.
public struct ObjectValues {
  /// How dates are written.
  public enum DateStyle: String, CaseIterable, Sendable {
    /// RFC 3339 in UTC with as many digits as the date has.
    case iso8601
    /// Seconds since 2001-01-01 00:00 UTC, as in Core Data's SQLite files.
    case seconds
  }

  /// The names of the properties, in the order of their values.
  public var names: [String] { columns.map(\.name) }
  private let columns: [Column]
  private let dates: DateStyle

  private struct Column {
    let name: String
    /// Nil for a to-one relationship.
    let type: NSAttributeType?
  }

  /// Writes the properties of objects of this entity: attributes by name, then to-one relationships by name.
  ///
  /// ```swift
  /// let values = try ObjectValues(entity: book.entity, properties: ["title", "author"], dates: .seconds)
  /// print(values.values(of: book).map(\.text))  // ["\"Emma\"", "\"x-coredata://…/Author/p1\""]
  /// ```
  ///
  /// - Parameters:
  ///   - properties: only these, in this order; nil for all.
  ///   - dates: how dates are written. Default: RFC 3339.
  /// - Throws: ``UnknownPropertyError`` for a name that the entity does not have, or that cannot be written.
  public init(
    entity: NSEntityDescription, properties: [String]? = nil, dates: DateStyle = .iso8601
  ) throws(UnknownPropertyError) {
    let attributes = entity.attributesByName.filter { Self.isWritable($0.value) }
      .map { Column(name: $0.key, type: $0.value.attributeType) }.sorted { $0.name < $1.name }
    let relationships = entity.relationshipsByName.filter { !$0.value.isToMany }
      .map { Column(name: $0.key, type: nil) }.sorted { $0.name < $1.name }
    let available = attributes + relationships
    self.dates = dates
    guard let properties else {
      columns = available
      return
    }
    var chosen: [Column] = []
    for name in properties {
      guard let column = available.first(where: { $0.name == name }) else {
        throw UnknownPropertyError(entity: entity.name ?? "", property: name, known: available.map(\.name))
      }
      chosen.append(column)
    }
    columns = chosen
  }

  /// Whether an attribute's value is part of what is written.
  private static func isWritable(_ attribute: NSAttributeDescription) -> Bool {
    !attribute.isTransient && attribute.attributeType != .transformableAttributeType
      && attribute.attributeType != .undefinedAttributeType
  }

  /// The object's values in the order of ``names``; nil becomes null. Called on the queue of the object's context.
  public func values(of object: NSManagedObject) -> [JSONValue] {
    columns.map { column in
      guard let type = column.type else {
        let destination = object.value(forKey: column.name) as? NSManagedObject
        return .optional(destination?.objectID.uriString)
      }
      return json(object.value(forKey: column.name), type)
    }
  }

  private func json(_ value: Any?, _ type: NSAttributeType) -> JSONValue {
    switch value {
    case nil: .null
    case let text as String: .string(text)
    case let date as Date: json(date)
    case let data as Data: .string(data.base64EncodedString())
    case let uuid as UUID: .string(uuid.uuidString)
    case let url as URL: .string(url.absoluteString)
    case let number as NSDecimalNumber: number.decimalValue.isNaN ? .null : .number(number.description)
    case let number as NSNumber: Self.json(number, type)
    case .some(let other): .string("\(other)")
    }
  }

  private func json(_ date: Date) -> JSONValue {
    let seconds = date.timeIntervalSinceReferenceDate
    switch dates {
    case .iso8601: return Timestamp.canWrite(date) ? .string(Timestamp.text(date)) : .null
    case .seconds: return seconds.isFinite ? .number(String(seconds)) : .null
    }
  }

  /// A number in the shortest form that reads back as the same one; a Float as a Float, so that 0.1 is not
  /// 0.10000000149.
  private static func json(_ number: NSNumber, _ type: NSAttributeType) -> JSONValue {
    switch type {
    case .booleanAttributeType: .bool(number.boolValue)
    case .floatAttributeType: number.floatValue.isFinite ? .number(number.floatValue.description) : .null
    case .doubleAttributeType: number.doubleValue.isFinite ? .number(number.doubleValue.description) : .null
    default: .number(number.int64Value)
    }
  }
}

/// A name that an entity has no property of.
public struct UnknownPropertyError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the entity.
  public let entity: String
  /// The name that was asked for.
  public let property: String
  /// The names that can be used.
  public let known: [String]

  /// An error about a property of an entity.
  public init(entity: String, property: String, known: [String]) {
    self.entity = entity
    self.property = property
    self.known = known
  }

  /// A sentence that names the nearest property, or all.
  public var description: String {
    let hint = Spelling.hint(to: property, among: known, otherwise: "it has \(known.joined(separator: ", "))")
    return "\(entity) has no property \(property) that can be used here\(hint)"
  }
}
