import CoreData
import Jobs

/// Turns a field of a file into the value of an attribute.
struct AttributeReader {
  let attribute: NSAttributeDescription
  let dates: ImportParameters.Dates

  /// The value, nil for null. A field is read as a whole, or not at all.
  ///
  /// - Throws: ``RowError`` that shows the field, shortened, and says what the attribute takes.
  func value(_ json: JSONValue) throws(RowError) -> Any? {
    switch json {
    case .null: return nil
    case .array, .object: throw wrong(json)
    default: break
    }
    switch attribute.attributeType {
    case .stringAttributeType:
      if case .bool = json { throw wrong(json) }
      return json.stringValue ?? json.text
    case .booleanAttributeType: return NSNumber(value: try boolean(json))
    case .integer16AttributeType: return try number(json) { $0.integer(Int16.self).map { NSNumber(value: $0) } }
    case .integer32AttributeType: return try number(json) { $0.integer(Int32.self).map { NSNumber(value: $0) } }
    case .integer64AttributeType: return try number(json) { $0.integer(Int64.self).map { NSNumber(value: $0) } }
    case .doubleAttributeType: return NSNumber(value: try number(json, \.double))
    case .floatAttributeType: return NSNumber(value: try number(json, \.float))
    case .decimalAttributeType: return NSDecimalNumber(decimal: try number(json, Self.storedDecimal))
    case .dateAttributeType: return try date(json)
    case .UUIDAttributeType: return try text(json) { UUID(uuidString: $0) }
    // Without the second argument Foundation would turn a text that is not a URI into one.
    case .URIAttributeType: return try text(json) { URL(string: $0, encodingInvalidCharacters: false) }
    case .binaryDataAttributeType: return try text(json) { Data(base64Encoded: $0) }
    default: throw RowError(reason: "the attribute \(attribute.name) is of a type that cannot be imported")
    }
  }

  /// The digits of a number, or the text of a string, which CSV has for everything; nil for true and false.
  private func plain(_ json: JSONValue) -> String? {
    switch json {
    case .string(let text): text.trimmingCharacters(in: .whitespaces)
    case .number(let digits): digits
    default: nil
    }
  }

  private func number<Number>(_ json: JSONValue, _ read: (NumberText) -> Number?) throws(RowError) -> Number {
    guard let text = plain(json), let number = NumberText(text).flatMap(read) else { throw wrong(json) }
    return number
  }

  /// The number, if an SQLite store keeps it as it is: whole numbers of 64 bits, and others as numbers of double
  /// precision.
  private static func storedDecimal(_ text: NumberText) -> Decimal? {
    guard let decimal = text.decimal else { return nil }
    if text.integer(Int64.self) != nil { return decimal }
    return text.double.flatMap { NumberText("\($0)")?.decimal } == decimal ? decimal : nil
  }

  private func boolean(_ json: JSONValue) throws(RowError) -> Bool {
    if case .bool(let value) = json { return value }
    switch plain(json)?.lowercased() {
    case "true", "yes", "1": return true
    case "false", "no", "0": return false
    default: throw wrong(json)
    }
  }

  private func date(_ json: JSONValue) throws(RowError) -> Date {
    switch dates {
    case .iso8601: try text(json, Timestamp.date)
    case .seconds: Date(timeIntervalSinceReferenceDate: try number(json, \.double))
    case .unix: Date(timeIntervalSince1970: try number(json, \.double))
    }
  }

  private func text<Value>(_ json: JSONValue, _ read: (String) -> Value?) throws(RowError) -> Value {
    guard let text = json.stringValue, let value = read(text) else { throw wrong(json) }
    return value
  }

  // MARK: What is wrong

  private func wrong(_ json: JSONValue) -> RowError {
    let form = form.map { "; write it like \($0)" } ?? ""
    return RowError(
      reason: "\(accepted) is expected for \(attribute.name), but it is \(Self.shown(json))\(form)")
  }

  /// Characters of a field that an error shows.
  private static let mostShown = 40

  /// The field as a person finds it in the file, shortened; arrays and objects by their kind alone.
  private static func shown(_ json: JSONValue) -> String {
    switch json {
    case .array, .object, .null: return json.kindDescription
    default:
      let text = json.text
      return text.count > mostShown ? "\(text.prefix(mostShown))…" : text
    }
  }

  /// What the attribute takes.
  private var accepted: String {
    switch attribute.attributeType {
    case .stringAttributeType: "a string"
    case .integer16AttributeType: "a whole number of 16 bits"
    case .integer32AttributeType: "a whole number of 32 bits"
    case .integer64AttributeType: "a whole number of 64 bits"
    case .decimalAttributeType: "a decimal number"
    case .booleanAttributeType: "true or false"
    case .dateAttributeType: "a date"
    case .UUIDAttributeType: "a UUID"
    case .URIAttributeType: "a URI"
    case .binaryDataAttributeType: "data in base64"
    default: "a number"
    }
  }

  /// Examples of what the attribute takes, where a person may need them.
  private var form: String? {
    switch attribute.attributeType {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType: "-1234"
    case .decimalAttributeType: "-1234.56 or 1.5e-3, with at most 15 digits or as a whole number of 64 bits"
    case .doubleAttributeType, .floatAttributeType: "-1234.56 or 1.5e-3"
    case .dateAttributeType:
      switch dates {
      case .iso8601: "2026-01-31 or 2026-01-31T08:00:00Z"
      case .seconds: "791539200, in seconds since 2001-01-01"
      case .unix: "1769846400, in seconds since 1970-01-01"
      }
    case .UUIDAttributeType: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
    default: nil
    }
  }
}
