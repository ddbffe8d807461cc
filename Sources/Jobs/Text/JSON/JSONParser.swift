/// Reads JSON values one after another from bytes, strictly, and reports the line at which it stopped.
///
/// Strict means RFC 8259 and no more: no comments, no trailing commas, no member twice in one object, valid UTF-8 only.
/// The parser can enter arrays and objects step by step, so that a long array is read element by element:
///
/// ```swift
/// var parser = JSONParser(Array("[1, 2, 3]".utf8))
/// try parser.enterArray()
/// while try parser.nextElement() { print(try parser.value()) }
/// ```
///
/// Job files, parameters, periodic entries and the texts in rows are read by it. `JSONSerialization` is not used: it
/// rounds numbers that a double cannot hold, takes a member that stands twice, and forgets the members' order.
///
/// After an error the parser is of no further use. It is a value: a copy reads on by itself.
public struct JSONParser {
  let bytes: [UInt8]
  /// How many bytes are read.
  public internal(set) var position = 0
  private var isFirst = false

  /// How deep arrays and objects may lie in each other: keeps hostile input from exhausting the stack.
  public static let maximumDepth = 128

  /// A parser at the beginning of a text in UTF-8.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The one value that the text holds.
  ///
  /// ```swift
  /// let value = try JSONParser.parse(#"{"size": 3, "tags": ["a"]}"#)
  /// print(value["size"]?.intValue ?? 0, value["tags"]?.arrayValue?.count ?? 0)
  /// ```
  ///
  /// - Throws: ``JSONError``, also if something follows the value.
  public static func parse(_ text: String) throws(JSONError) -> JSONValue {
    var parser = JSONParser(Array(text.utf8))
    let value = try parser.value()
    guard parser.isAtEnd else { throw parser.error("nothing may follow the value") }
    return value
  }

  /// Whether only white space is left.
  public var isAtEnd: Bool {
    mutating get {
      skipSpace()
      return position == bytes.count
    }
  }

  /// The next value, whole: with all that is in it in memory. White space before it is passed over.
  ///
  /// - Throws: ``JSONError`` if the text ends or what comes is no value.
  public mutating func value() throws(JSONError) -> JSONValue { try value(depth: 0) }

  /// Steps into the array that comes next; ``nextElement()`` then leads from element to element.
  ///
  /// - Throws: ``JSONError`` if something other than an array comes.
  public mutating func enterArray() throws(JSONError) {
    try expect("[", "an array")
    isFirst = true
  }

  /// Moves to the next element of the entered array; false at its end. Read each element, by ``value()`` or by stepping
  /// into it, before the next one.
  public mutating func nextElement() throws(JSONError) -> Bool {
    try next(closing: UInt8(ascii: "]"), "the array")
  }

  /// Steps into the object that comes next; ``nextName()`` then leads from member to member.
  ///
  /// ```swift
  /// var parser = JSONParser(Array(#"{"kind": "index", "priority": 5}"#.utf8))
  /// try parser.enterObject()
  /// while let name = try parser.nextName() { print(name, try parser.value()) }
  /// ```
  ///
  /// Stepping gives a member that stands twice two times; ``value()`` refuses it.
  ///
  /// - Throws: ``JSONError`` if something other than an object comes.
  public mutating func enterObject() throws(JSONError) {
    try expect("{", "an object")
    isFirst = true
  }

  /// Moves to the next member of the entered object and reads its name; nil at the object's end. Read the member's
  /// value before the next name.
  public mutating func nextName() throws(JSONError) -> String? {
    guard try next(closing: UInt8(ascii: "}"), "the object") else { return nil }
    return try name()
  }

  /// An error at the present position. It counts the lines up to there, so it costs a pass over what was read; there is
  /// one for each text at most.
  func error(_ reason: String) -> JSONError {
    let end = min(position, bytes.count)
    let line = bytes[..<end].count { $0 == UInt8(ascii: "\n") } + 1
    let start = bytes[..<end].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return JSONError(line: line, column: end - start + 1, reason: reason)
  }
}

/// Why a text is not JSON, and where.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// From 1.
  public let line: Int
  /// In bytes, from 1.
  public let column: Int
  /// What is wrong there.
  public let reason: String

  /// The location and the reason.
  public var description: String { "line \(line), column \(column): \(reason)" }
}

extension JSONParser {
  /// One value. Its first byte says which kind it is, and every kind reads up to the byte behind its end.
  private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
    guard depth < Self.maximumDepth else {
      throw error("arrays and objects lie deeper than \(Self.maximumDepth) in each other")
    }
    skipSpace()
    guard position < bytes.count else { throw error("a value is expected, but the text ends") }
    switch bytes[position] {
    case UInt8(ascii: "{"): return .object(try object(depth: depth))
    case UInt8(ascii: "["): return .array(try array(depth: depth))
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
    default: throw error("a value is expected")
    }
  }

  /// The members of an object. Up to eight names are compared with each other; more go into a set, so that an object
  /// with a hundred thousand members takes no time that grows with their square.
  private mutating func object(depth: Int) throws(JSONError) -> [JSONMember] {
    try enterObject()
    var members: [JSONMember] = []
    var names: Set<String> = []
    while let name = try nextName() {
      // Most objects have few members.
      let isNew = members.count < 8 ? !members.contains { $0.name == name } : !names.contains(name)
      guard isNew else { throw error("\"\(name)\" stands twice in one object") }
      if members.count == 7 { names = Set(members.map(\.name)) }
      if members.count >= 7 { names.insert(name) }
      // An array that grows from one member to the next is copied each time.
      if members.isEmpty { members.reserveCapacity(4) }
      members.append(JSONMember(name, try value(depth: depth + 1)))
    }
    return members
  }

  private mutating func array(depth: Int) throws(JSONError) -> [JSONValue] {
    try enterArray()
    var elements: [JSONValue] = []
    while try nextElement() { elements.append(try value(depth: depth + 1)) }
    return elements
  }

  /// Moves to the next element or member: passes the comma before it, except before the first. False at the end, behind
  /// which it stands then.
  private mutating func next(closing: UInt8, _ what: String) throws(JSONError) -> Bool {
    skipSpace()
    guard position < bytes.count else { throw error("\(what) has no end") }
    if bytes[position] == closing {
      position += 1
      isFirst = false
      return false
    }
    if !isFirst {
      guard bytes[position] == UInt8(ascii: ",") else { throw error("a comma or the end of \(what) is expected") }
      position += 1
    }
    isFirst = false
    return true
  }

  private mutating func name() throws(JSONError) -> String {
    skipSpace()
    guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
      throw error("a name in double quotes is expected")
    }
    let name = try string()
    try expect(":", "a colon")
    return name
  }

  private mutating func expect(_ character: Unicode.Scalar, _ what: String) throws(JSONError) {
    skipSpace()
    guard position < bytes.count, bytes[position] == UInt8(ascii: character) else {
      throw error("\(what) is expected")
    }
    position += 1
  }

  /// `true`, `false` or `null`. The caller refuses what follows, such as the `x` of `nullx`.
  private mutating func word(_ text: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
    let end = position + text.utf8CodeUnitCount
    let matches = text.withUTF8Buffer { word in
      end <= bytes.count && bytes[position..<end].elementsEqual(word)
    }
    guard matches else { throw error("a value is expected") }
    position = end
    return value
  }

  /// Passes over the white space of RFC 8259: space, tab, newline and carriage return.
  mutating func skipSpace() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: return
      }
    }
  }
}
