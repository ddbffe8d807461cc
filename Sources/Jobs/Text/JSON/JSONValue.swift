/// A JSON value as it was written: numbers keep their digits and objects the order of their members.
///
/// ```swift
/// let parameters: JSONValue = ["path": "photos.csv", "limit": 100]
/// print(parameters["path"]?.stringValue ?? "", parameters["limit"]?.intValue ?? 0)
/// ```
///
/// Two values are equal if they are written alike: 1 and 1.0 are different numbers here, and two objects with the same
/// members in another order are different objects. `==` therefore suits texts that are kept, and not what they mean.
///
/// Source: RFC 8259. Values are read by ``JSONParser`` and written by ``text``.
public enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  /// A number in the digits of its source, so that no precision is lost on the way.
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([JSONMember])

  /// The member with this name, nil if this is not an object, or has no such member.
  ///
  /// ```swift
  /// let value = try JSONParser.parse(#"{"smtp": {"port": 25}}"#)
  /// print(value["smtp"]?["port"]?.intValue ?? 0)  // 25
  /// ```
  ///
  /// Costs a comparison with each name before it.
  public subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  /// What kind of value this is, in a form that fits into a sentence: "a string".
  public var kindDescription: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// The text of a string value; nil for everything else.
  public var stringValue: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// The value of a whole number within the range of `Int`; nil for everything else.
  public var intValue: Int? {
    guard case .number(let digits) = self else { return nil }
    if let value = Int(digits) { return value }
    return Double(digits).flatMap(Int.init(exactly:))
  }

  /// The value of a number; nil for everything else.
  public var doubleValue: Double? {
    if case .number(let digits) = self { Double(digits) } else { nil }
  }

  /// The value of `true` and `false`; nil for everything else.
  public var boolValue: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The elements of an array; nil for everything else.
  public var arrayValue: [JSONValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// The members of an object in their order; nil for everything else.
  public var objectValue: [JSONMember]? {
    if case .object(let members) = self { members } else { nil }
  }
}

/// One name and its value in a JSON object.
public struct JSONMember: Hashable, Sendable {
  /// The member's name, not escaped.
  public var name: String
  /// The value.
  public var value: JSONValue

  /// A member with this name and value.
  public init(_ name: String, _ value: JSONValue) {
    self.name = name
    self.value = value
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// A string.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A whole number.
  public init(integerLiteral value: Int) { self = .number(String(value)) }
  /// `true` or `false`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// `null`.
  public init(nilLiteral: ()) { self = .null }
  /// An array of these values.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// An object of these members, in this order.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { JSONMember($0.0, $0.1) })
  }

  /// A whole number.
  public static func number(_ value: some BinaryInteger) -> JSONValue { .number(String(value)) }

  /// A number, or null where JSON has no way to write it (infinities and NaN). A whole number is written without a
  /// point.
  public static func number(_ value: Double) -> JSONValue {
    guard value.isFinite else { return .null }
    return .number(Int(exactly: value).map(String.init) ?? String(value))
  }

  /// The string, or null without one.
  public static func optional(_ value: String?) -> JSONValue { value.map(JSONValue.string) ?? .null }
}
