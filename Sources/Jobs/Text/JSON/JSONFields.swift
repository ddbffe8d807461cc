/// Reads the members of a JSON object that a person wrote, and says clearly what is wrong with them.
///
/// ```swift
/// var fields = try JSONFields(try JSONParser.parse(#"{"path": "/data", "limit": 5}"#), named: "the parameters")
/// let path = try fields.requiredPath("path")
/// let limit = try fields.int("limit", in: 1...100) ?? 10
/// try fields.finish()
/// print(path, limit)
/// ```
///
/// Each member is taken once by name; ``finish()`` then refuses the members that were not taken, and names the nearest
/// known ones. So a mistyped name is an error and not a default:
///
/// ```text
/// {"path": "/data", "limt": 5}     the parameters have no "limt"; did you mean "limit"?
/// {"path": "data"}                 "path" in the parameters must begin with /
/// {"path": "/data", "limit": "5"}  "limit" in the parameters must be a whole number from 1 to 100, not a string
/// ```
public struct JSONFields {
  private let members: [JSONMember]
  private let objectName: String
  private var askedNames: [String] = []

  /// - Parameter objectName: what errors call the object, at the beginning of a sentence: "the parameters".
  /// - Throws: ``JSONFieldError`` when the value is not an object.
  public init(_ value: JSONValue, named objectName: String) throws(JSONFieldError) {
    guard case .object(let members) = value else {
      throw JSONFieldError("\(objectName) must be a JSON object, not \(value.kindDescription)")
    }
    self.members = members
    self.objectName = objectName
  }

  /// The names of the members, in their order.
  public var names: [String] { members.map(\.name) }

  /// The member with this name; nil if it is missing or null: `{"limit": null}` is the default, as `{}` is.
  public mutating func value(_ name: String) -> JSONValue? {
    askedNames.append(name)
    guard let value = members.first(where: { $0.name == name })?.value, value != .null else { return nil }
    return value
  }

  /// The string with this name; nil if it is missing or null.
  ///
  /// - Throws: ``JSONFieldError`` for another type.
  public mutating func string(_ name: String) throws(JSONFieldError) -> String? {
    guard let value = value(name) else { return nil }
    guard let text = value.stringValue else { throw wrong(name, "a string", value) }
    return text
  }

  /// The string with this name, which is not empty.
  ///
  /// - Throws: ``JSONFieldError`` if it is missing, null, empty or of another type.
  public mutating func requiredString(_ name: String) throws(JSONFieldError) -> String {
    guard let text = try string(name), !text.isEmpty else { throw missing(name) }
    return text
  }

  /// The absolute path with this name; nil if it is missing or null. What a relative path leads to would depend on
  /// where the pool was started.
  ///
  /// - Throws: ``JSONFieldError`` for another type, for a relative path, and for one with a zero byte.
  public mutating func path(_ name: String) throws(JSONFieldError) -> String? {
    guard let path = try string(name) else { return nil }
    guard path.hasPrefix("/") else { throw JSONFieldError("\"\(name)\" in \(objectName) must begin with /") }
    guard !path.utf8.contains(0) else { throw JSONFieldError("\"\(name)\" in \(objectName) cannot have a zero byte") }
    return path
  }

  /// The absolute path with this name.
  ///
  /// - Throws: ``JSONFieldError`` if it is missing, null, relative or of another type, and for one with a zero byte.
  public mutating func requiredPath(_ name: String) throws(JSONFieldError) -> String {
    guard let path = try path(name) else { throw missing(name) }
    return path
  }

  /// The member's value as one of a type's few words.
  ///
  /// - Throws: ``JSONFieldError`` if it is missing or null, and for another word.
  public mutating func requiredChoice<Choice: RawRepresentable & CaseIterable>(
    _ name: String, _ type: Choice.Type = Choice.self
  ) throws(JSONFieldError) -> Choice where Choice.RawValue == String {
    guard let choice = try choice(name, type) else { throw missing(name) }
    return choice
  }

  /// What is wrong when a member is missing: most likely it is there under a mistyped name, which is then named
  /// instead.
  private func missing(_ name: String) -> JSONFieldError {
    let strangers = names.filter { !askedNames.contains($0) }
    guard let stranger = strangers.first(where: { Spelling.nearest(to: $0, among: [name]) != nil }) else {
      return JSONFieldError("\"\(name)\" is missing in \(objectName)")
    }
    return JSONFieldError("\(objectName) have no \"\(stranger)\"\(Spelling.hint(name, .quotes))")
  }

  /// The whole number with this name; nil if it is missing or null.
  ///
  /// - Throws: ``JSONFieldError`` for another type, and for a number out of the range.
  public mutating func int(_ name: String, in range: ClosedRange<Int>) throws(JSONFieldError) -> Int? {
    guard let value = value(name) else { return nil }
    guard let number = value.intValue, range.contains(number) else {
      throw wrong(name, "a whole number from \(range.lowerBound) to \(range.upperBound)", value)
    }
    return number
  }

  /// True or false; nil if the member is missing or null.
  ///
  /// - Throws: ``JSONFieldError`` for another type.
  public mutating func bool(_ name: String) throws(JSONFieldError) -> Bool? {
    guard let value = value(name) else { return nil }
    guard let flag = value.boolValue else { throw wrong(name, "true or false", value) }
    return flag
  }

  /// The strings in the array with this name; nil if it is missing or null.
  ///
  /// - Throws: ``JSONFieldError`` for another type of the member or of an element.
  public mutating func strings(_ name: String) throws(JSONFieldError) -> [String]? {
    guard let value = value(name) else { return nil }
    guard let elements = value.arrayValue else {
      throw wrong(name, "an array of strings, such as [\"a\", \"b\"]", value)
    }
    var strings: [String] = []
    for element in elements {
      guard let text = element.stringValue else {
        throw wrong(name, "an array of strings, such as [\"a\", \"b\"]", element)
      }
      strings.append(text)
    }
    return strings
  }

  /// The member's value as one of a type's few words, the raw values of its cases; nil if it is missing or null.
  ///
  /// ```swift
  /// enum Format: String, CaseIterable { case csv, json }
  /// var fields = try JSONFields(try JSONParser.parse(#"{"format": "cvs"}"#), named: "the parameters")
  /// do { print(try fields.choice("format", Format.self)?.rawValue ?? "none") } catch { print(error) }
  /// // "format" in the parameters is none of the known words; did you mean "csv"?
  /// ```
  ///
  /// - Throws: ``JSONFieldError`` for another type, and for another word.
  public mutating func choice<Choice: RawRepresentable & CaseIterable>(
    _ name: String, _ type: Choice.Type = Choice.self
  ) throws(JSONFieldError) -> Choice? where Choice.RawValue == String {
    guard let text = try string(name) else { return nil }
    if let choice = Choice(rawValue: text) { return choice }
    let words = Choice.allCases.map(\.rawValue)
    let hint = Spelling.hint(to: text, among: words, .quotes, otherwise: "it is \(words.joined(separator: " or "))")
    // Without the value: errors of jobs are kept and shown, and a value may be one that --redact hides.
    throw JSONFieldError("\"\(name)\" in \(objectName) is none of the known words\(hint)")
  }

  /// The format of a file: the member "format", or else the ending of the file's name.
  ///
  /// ```swift
  /// enum Format: String, CaseIterable { case csv, json }
  /// var fields = try JSONFields(try JSONParser.parse("{}"), named: "the parameters")
  /// print(try fields.format(of: "/data/books.CSV", Format.self))  // csv
  /// ```
  ///
  /// - Throws: ``JSONFieldError`` when neither is one of the type's few words.
  public mutating func format<Format: RawRepresentable & CaseIterable>(
    of file: String, _ type: Format.Type = Format.self
  ) throws(JSONFieldError) -> Format where Format.RawValue == String {
    if let format = try choice("format", Format.self) { return format }
    if let format = Format(rawValue: file.split(separator: ".").last.map { $0.lowercased() } ?? "") { return format }
    let endings = Format.allCases.map { ".\($0.rawValue)" }.joined(separator: " or ")
    throw JSONFieldError("\"format\" is missing: \(file) does not end in \(endings)")
  }

  /// Refuses the members that were not taken. Call it last.
  ///
  /// - Throws: ``JSONFieldError`` for a member that no caller asked for.
  public func finish() throws(JSONFieldError) {
    guard let stranger = names.first(where: { !askedNames.contains($0) }) else { return }
    let knownNames = "known are \(askedNames.sorted().joined(separator: ", "))"
    let hint = Spelling.hint(to: stranger, among: askedNames, .quotes, otherwise: knownNames)
    throw JSONFieldError("\(objectName) have no \"\(stranger)\"\(hint)")
  }

  /// The sentence for a value of another type or out of its range. Without the value, which may be a secret.
  private func wrong(_ name: String, _ expected: String, _ value: JSONValue) -> JSONFieldError {
    JSONFieldError("\"\(name)\" in \(objectName) must be \(expected), not \(value.kindDescription)")
  }
}

/// What is wrong with a JSON object that a person wrote.
public struct JSONFieldError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong: a sentence that names the member.
  public let description: String

  /// An error with that sentence.
  public init(_ description: String) { self.description = description }
}
