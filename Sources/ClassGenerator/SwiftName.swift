/// A name in Swift's syntax.
struct SwiftName: CustomStringConvertible {
  let plain: String

  /// Nil if the text is not an identifier.
  init?(_ text: String) {
    guard let first = text.first, first.isLetter || first == "_",
      text.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
    else { return nil }
    plain = text
  }

  /// The name, in backticks if it is a keyword.
  var description: String { Self.keywords.contains(plain) ? "`\(plain)`" : plain }

  /// The name after a prefix: `addTo` and `friends` give `addToFriends`.
  func behind(_ prefix: String) -> String { prefix + plain.prefix(1).uppercased() + plain.dropFirst() }

  private static let keywords: Set<String> = [
    "associatedtype", "class", "deinit", "enum", "extension", "fileprivate", "func", "import", "init", "inout",
    "internal", "let", "open", "operator", "private", "precedencegroup", "protocol", "public", "rethrows", "static",
    "struct", "subscript", "typealias", "var", "break", "case", "catch", "continue", "default", "defer", "do", "else",
    "fallthrough", "for", "guard", "if", "in", "repeat", "return", "throw", "switch", "where", "while", "Any", "as",
    "await", "false", "is", "nil", "self", "Self", "super", "throws", "true", "try", "Type", "Protocol", "_",
  ]

  /// The names of members of `NSObject` and `NSManagedObject`, which no property can have. Xcode refuses them too.
  ///
  /// Source: Apple's documentation of `NSPropertyDescription`.
  static let reserved: Set<String> = [
    "self", "Self", "init", "class", "superclass", "description", "debugDescription", "hash", "hashValue", "copy",
    "mutableCopy", "isEqual", "isProxy", "zone", "entity", "objectID", "managedObjectContext", "isInserted",
    "isUpdated",
    "isDeleted", "isFault", "hasChanges", "hasPersistentChangedValues", "faultingState", "objectWillChange",
    "awakeFromInsert", "awakeFromFetch", "willSave", "didSave", "willTurnIntoFault", "didTurnIntoFault",
    "prepareForDeletion", "validateForInsert", "validateForUpdate", "validateForDelete", "changedValues",
    "changedValuesForCurrentEvent", "observationInfo",
  ]
}

extension String {
  /// The text as a string literal in Swift.
  var swiftLiteral: String {
    "\"\(replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\""))\""
  }

  /// The text as a literal in Swift, with its lines unchanged.
  var rawSwiftLiteral: String {
    var mark = "#"
    while contains("\\\(mark)") || contains("\"\"\"\(mark)") { mark += "#" }
    return "\(mark)\"\"\"\n\(self)\n\"\"\"\(mark)"
  }
}
