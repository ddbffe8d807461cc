import CoreData
import Jobs

/// Turns a field of a file into the value of an attribute.
struct AttributeValue {
  let attribute: NSAttributeDescription
  let dates: ImportParameters.Dates

  /// The value, nil for null.
  ///
  /// - Throws: ``RowError`` when the field cannot be a value of the attribute's type. It names the type, not the value.
  func value(_ json: JSONValue) throws(RowError) -> Any? {
    switch json {
    case .null: return nil
    case .array, .object: throw wrong(json.kindDescription)
    default: break
    }
    switch attribute.attributeType {
    case .stringAttributeType: return try string(json)
    case .integer16AttributeType: return try integer(json, Int16.self)
    case .integer32AttributeType: return try integer(json, Int32.self)
    case .integer64AttributeType: return try integer(json, Int64.self)
    case .booleanAttributeType: return try boolean(json)
    case .doubleAttributeType: return NSNumber(value: try double(json))
    case .floatAttributeType: return NSNumber(value: Float(try double(json)))
    case .decimalAttributeType: return try decimal(json)
    case .dateAttributeType: return try date(json)
    case .UUIDAttributeType: return try text(json) { UUID(uuidString: $0) }
    case .URIAttributeType: return try text(json) { URL(string: $0) }
    case .binaryDataAttributeType: return try text(json) { Data(base64Encoded: $0) }
    default: throw RowError(reason: "the attribute \(attribute.name) is of a type that cannot be imported")
    }
  }

  private func string(_ json: JSONValue) throws(RowError) -> String {
    switch json {
    case .string(let text): return text
    case .number(let digits): return digits
    default: throw wrong(json.kindDescription)
    }
  }

  /// The digits of a number, or the text of a string, which CSV has for everything.
  private func plain(_ json: JSONValue) throws(RowError) -> String {
    switch json {
    case .string(let text): return text.trimmingCharacters(in: .whitespaces)
    case .number(let digits): return digits
    default: throw wrong(json.kindDescription)
    }
  }

  private func integer<Number: FixedWidthInteger>(_ json: JSONValue, _: Number.Type) throws(RowError) -> NSNumber {
    let text = try plain(json)
    if let number = Number(text) { return NSNumber(value: Int64(number)) }
    if let double = Double(text), let number = Number(exactly: double) { return NSNumber(value: Int64(number)) }
    throw wrong("something else or out of range")
  }

  private func boolean(_ json: JSONValue) throws(RowError) -> NSNumber {
    if case .bool(let value) = json { return NSNumber(value: value) }
    switch try plain(json).lowercased() {
    case "true", "yes", "1": return NSNumber(value: true)
    case "false", "no", "0": return NSNumber(value: false)
    default: throw wrong("something else")
    }
  }

  private func double(_ json: JSONValue) throws(RowError) -> Double {
    guard let number = Double(try plain(json)) else { throw wrong("something else") }
    return number
  }

  private func decimal(_ json: JSONValue) throws(RowError) -> NSDecimalNumber {
    guard let number = Decimal(string: try plain(json), locale: Locale(identifier: "en_US_POSIX")) else {
      throw wrong("something else")
    }
    return NSDecimalNumber(decimal: number)
  }

  private func date(_ json: JSONValue) throws(RowError) -> Date {
    switch dates {
    case .iso8601: return try text(json, Timestamp.date)
    case .seconds: return Date(timeIntervalSinceReferenceDate: try double(json))
    case .unix: return Date(timeIntervalSince1970: try double(json))
    }
  }

  private func text<Value>(_ json: JSONValue, _ read: (String) -> Value?) throws(RowError) -> Value {
    guard let text = json.stringValue, let value = read(text) else { throw wrong("something else") }
    return value
  }

  private func wrong(_ found: String) -> RowError {
    RowError(reason: "\(Self.name(attribute.attributeType)) is expected for \(attribute.name), but it is \(found)")
  }

  private static func name(_ type: NSAttributeType) -> String {
    switch type {
    case .stringAttributeType: "a string"
    case .integer16AttributeType: "a whole number of 16 bits"
    case .integer32AttributeType: "a whole number of 32 bits"
    case .integer64AttributeType: "a whole number of 64 bits"
    case .booleanAttributeType: "true or false"
    case .dateAttributeType: "a date"
    case .UUIDAttributeType: "a UUID"
    case .URIAttributeType: "a URI"
    case .binaryDataAttributeType: "data in base64"
    default: "a number"
    }
  }
}
