/// The methods of Apple's classes that predicates and mapping models call, each with the result that the Objective-C
/// method gives. The groups are those of the classes: NSString, its path methods and NSURL, NSNumber, NSDecimalNumber,
/// NSDate, the collections, and what is left.
///
/// To add one, write its selector, the kinds, and a closure from the values in the order receiver, arguments. It is
/// then available in formats, in memory and in SQLite. The closure must not trap for any value of its kinds, must give
/// the same result each time except for the clock, and must not depend on a locale.
extension PredicateMethod {
  /// All methods, in the order in which `method(_:of:)` searches them.
  static let all: [PredicateMethod] = texts + paths + numbers + decimals + dates + collections + others

  /// A value as the type that its kind promises. The fallbacks are never reached, since kinds are checked before.
  private static func text(_ value: Any) -> String {
    if case .string(let text) = PredicateValue(value) { text } else { "" }
  }

  /// For the path methods, which Swift's String does not have.
  private static func foundation(_ value: Any) -> NSString { NSString(string: text(value)) }

  /// An index. A fraction is cut, and a number beyond 64 bits is 0.
  private static func integer(_ value: Any) -> Int { PredicateArithmetic.integer(value).map(Int.init) ?? 0 }

  private static func seconds(_ value: Any) -> Double {
    if case .date(let seconds) = PredicateValue(value) { seconds } else { 0 }
  }

  private static func date(_ seconds: Double) -> Date { Date(timeIntervalSinceReferenceDate: seconds) }

  /// -1, 0 or 1 for two numbers or two dates, as `NSComparisonResult` has them; nil for NaN.
  private static func order(_ one: Any, _ other: Any) -> Int? {
    PredicateValue(one).order(to: PredicateValue(other))?.rawValue
  }

  /// -1, 0 or 1, as `ComparisonResult`.
  private static func order(_ ordering: StringOrdering) -> @Sendable ([Any]) -> Any? {
    { ordering.compare(text($0[0]), text($0[1])).rawValue }
  }

  /// NSString. Lengths and indexes count UTF-16 units; an index in the middle of a character gives half of it, which
  /// becomes the replacement character, since a Swift text cannot hold it. The localized variants use no locale.
  private static let texts: [PredicateMethod] = [
    PredicateMethod("length", of: .text, gives: .integer) { text($0[0]).utf16.count },
    PredicateMethod("uppercaseString", of: .text, gives: .text) { text($0[0]).uppercased() },
    PredicateMethod("lowercaseString", of: .text, gives: .text) { text($0[0]).lowercased() },
    PredicateMethod("localizedUppercaseString", of: .text, gives: .text) { text($0[0]).uppercased() },
    PredicateMethod("localizedLowercaseString", of: .text, gives: .text) { text($0[0]).lowercased() },
    PredicateMethod("capitalizedString", of: .text, gives: .text) { text($0[0]).capitalized },
    PredicateMethod("substringToIndex:", of: .text, [.number], gives: .text) {
      let (units, end) = (text($0[0]).utf16, integer($0[1]))
      return (0...units.count).contains(end) ? String(decoding: units.prefix(end), as: UTF16.self) : nil
    },
    PredicateMethod("substringFromIndex:", of: .text, [.number], gives: .text) {
      let (units, start) = (text($0[0]).utf16, integer($0[1]))
      return (0...units.count).contains(start) ? String(decoding: units.dropFirst(start), as: UTF16.self) : nil
    },
    PredicateMethod("stringByAppendingString:", of: .text, [.text], gives: .text) { text($0[0]) + text($0[1]) },
    PredicateMethod("stringByReplacingOccurrencesOfString:withString:", of: .text, [.text, .text], gives: .text) {
      text($0[0]).replacingOccurrences(of: text($0[1]), with: text($0[2]))
    },
    PredicateMethod("componentsSeparatedByString:", of: .text, [.text], gives: .collection) {
      text($0[0]).components(separatedBy: text($0[1]))
    },
    PredicateMethod("hasPrefix:", of: .text, [.text], gives: .integer) {
      StringMatching.begins(text($0[0]), with: text($0[1]))
    },
    PredicateMethod("hasSuffix:", of: .text, [.text], gives: .integer) {
      StringMatching.ends(text($0[0]), with: text($0[1]))
    },
    PredicateMethod("containsString:", of: .text, [.text], gives: .integer) {
      StringMatching.contains(text($0[0]), text($0[1]))
    },
    PredicateMethod("isEqualToString:", of: .text, [.text], gives: .integer) {
      StringMatching.isIdentical(text($0[0]), text($0[1]))
    },
    PredicateMethod("compare:", of: .text, [.text], gives: .integer, order(.binary)),
    PredicateMethod("caseInsensitiveCompare:", of: .text, [.text], gives: .integer, order(.caseInsensitive)),
    PredicateMethod("localizedCompare:", of: .text, [.text], gives: .integer, order(.localized)),
    PredicateMethod(
      "localizedCaseInsensitiveCompare:", of: .text, [.text], gives: .integer, order(.localizedCaseInsensitive)),
    PredicateMethod("localizedStandardCompare:", of: .text, [.text], gives: .integer, order(.localizedStandard)),
    PredicateMethod("intValue", of: .text, gives: .integer) {
      Int(Int32(clamping: LeadingNumber(text($0[0])).integer))
    },
    PredicateMethod("integerValue", of: .text, gives: .integer) { LeadingNumber(text($0[0])).integer },
    PredicateMethod("longLongValue", of: .text, gives: .integer) { LeadingNumber(text($0[0])).integer },
    PredicateMethod("floatValue", of: .text, gives: .number) { Double(Float(LeadingNumber(text($0[0])).double)) },
    PredicateMethod("doubleValue", of: .text, gives: .number) { LeadingNumber(text($0[0])).double },
    PredicateMethod("boolValue", of: .text, gives: .integer) { LeadingNumber(text($0[0])).boolean },
  ]

  /// NSString's path methods and NSURL. A URL that has no host or scheme gives nil.
  private static let paths: [PredicateMethod] = [
    PredicateMethod("lastPathComponent", of: .text, gives: .text) { foundation($0[0]).lastPathComponent },
    PredicateMethod("pathExtension", of: .text, gives: .text) { foundation($0[0]).pathExtension },
    PredicateMethod("stringByDeletingPathExtension", of: .text, gives: .text) {
      foundation($0[0]).deletingPathExtension
    },
    PredicateMethod("stringByDeletingLastPathComponent", of: .text, gives: .text) {
      foundation($0[0]).deletingLastPathComponent
    },
    PredicateMethod("stringByAppendingPathComponent:", of: .text, [.text], gives: .text) {
      foundation($0[0]).appendingPathComponent(text($0[1]))
    },
    PredicateMethod("absoluteString", of: .url, gives: .text) { ($0[0] as? URL)?.absoluteString },
    PredicateMethod("host", of: .url, gives: .text) { ($0[0] as? URL)?.host },
    PredicateMethod("path", of: .url, gives: .text) { ($0[0] as? URL)?.path },
    PredicateMethod("scheme", of: .url, gives: .text) { ($0[0] as? URL)?.scheme },
    PredicateMethod("lastPathComponent", of: .url, gives: .text) { ($0[0] as? URL)?.lastPathComponent },
    PredicateMethod("pathExtension", of: .url, gives: .text) { ($0[0] as? URL)?.pathExtension },
  ]

  /// NSNumber. The integer methods cut fractions and do not wrap around: `shortValue` of 70000 is 70000, where C would
  /// give another number.
  private static let numbers: [PredicateMethod] =
    ["intValue", "integerValue", "longValue", "longLongValue", "shortValue", "charValue", "unsignedIntegerValue"].map {
      PredicateMethod($0, of: .number, gives: .integer) { PredicateArithmetic.integer($0[0]) }
    } + [
      PredicateMethod("floatValue", of: .number, gives: .number) { Double(Float(PredicateArithmetic.double($0[0]))) },
      PredicateMethod("doubleValue", of: .number, gives: .number) { PredicateArithmetic.double($0[0]) },
      PredicateMethod("boolValue", of: .number, gives: .integer) { PredicateArithmetic.double($0[0]) != 0 },
      PredicateMethod("stringValue", of: .number, gives: .text) { PredicateCast.cast($0[0], to: "NSString") },
      PredicateMethod("compare:", of: .number, [.number], gives: .integer) { order($0[0], $0[1]) },
      PredicateMethod("isEqualToNumber:", of: .number, [.number], gives: .integer) { order($0[0], $0[1]) == 0 },
    ]

  /// NSDecimalNumber: the same arithmetic as the operators, so 0.1 plus 0.2 is 0.3 if both are decimals.
  private static let decimals: [PredicateMethod] = [
    PredicateMethod("decimalNumberByAdding:", of: .number, [.number], gives: .number) {
      PredicateArithmetic.add($0[0], $0[1])
    },
    PredicateMethod("decimalNumberBySubtracting:", of: .number, [.number], gives: .number) {
      PredicateArithmetic.subtract($0[0], $0[1])
    },
    PredicateMethod("decimalNumberByMultiplyingBy:", of: .number, [.number], gives: .number) {
      PredicateArithmetic.multiply($0[0], $0[1])
    },
    PredicateMethod("decimalNumberByDividingBy:", of: .number, [.number], gives: .number) {
      PredicateArithmetic.divide($0[0], $0[1])
    },
  ]

  /// NSDate. `timeIntervalSinceNow` differs from call to call: compare the date itself with a constant where an index
  /// should serve.
  private static let dates: [PredicateMethod] = [
    PredicateMethod("dateByAddingTimeInterval:", of: .date, [.number], gives: .date) {
      date(seconds($0[0]) + PredicateArithmetic.double($0[1]))
    },
    PredicateMethod("timeIntervalSinceDate:", of: .date, [.date], gives: .number) { seconds($0[0]) - seconds($0[1]) },
    PredicateMethod("timeIntervalSinceReferenceDate", of: .date, gives: .number) { seconds($0[0]) },
    PredicateMethod("timeIntervalSince1970", of: .date, gives: .number) { date(seconds($0[0])).timeIntervalSince1970 },
    PredicateMethod("timeIntervalSinceNow", of: .date, gives: .number) { date(seconds($0[0])).timeIntervalSinceNow },
    PredicateMethod("earlierDate:", of: .date, [.date], gives: .date) { date(min(seconds($0[0]), seconds($0[1]))) },
    PredicateMethod("laterDate:", of: .date, [.date], gives: .date) { date(max(seconds($0[0]), seconds($0[1]))) },
    PredicateMethod("isEqualToDate:", of: .date, [.date], gives: .integer) { seconds($0[0]) == seconds($0[1]) },
    PredicateMethod("compare:", of: .date, [.date], gives: .integer) { order($0[0], $0[1]) },
  ]

  /// NSArray, NSSet, NSOrderedSet and NSDictionary. `firstObject` and `anyObject` of a set give an arbitrary member.
  /// Members may be nil, which `componentsJoinedByString:` prints as `<null>`.
  private static let collections: [PredicateMethod] = [
    PredicateMethod("count", of: .collection, gives: .integer) { NSExpression.members(of: $0[0]).count },
    PredicateMethod("firstObject", of: .collection, gives: .any) { NSExpression.members(of: $0[0]).first ?? nil },
    PredicateMethod("lastObject", of: .collection, gives: .any) { NSExpression.members(of: $0[0]).last ?? nil },
    PredicateMethod("anyObject", of: .collection, gives: .any) { NSExpression.members(of: $0[0]).first ?? nil },
    PredicateMethod("allObjects", of: .collection, gives: .collection) { NSExpression.members(of: $0[0]) },
    PredicateMethod("array", of: .collection, gives: .collection) { NSExpression.members(of: $0[0]) },
    PredicateMethod("set", of: .collection, gives: .collection) {
      MemberValues(kind: .set, values: NSExpression.members(of: $0[0]))
    },
    PredicateMethod("objectAtIndex:", of: .collection, [.number], gives: .any) {
      let (members, index) = (NSExpression.members(of: $0[0]), integer($0[1]))
      return members.indices.contains(index) ? members[index] : nil
    },
    PredicateMethod("containsObject:", of: .collection, [.any], gives: .integer) {
      let member = PredicateValue($0[1])
      return NSExpression.members(of: $0[0]).contains { PredicateValue($0) == member }
    },
    PredicateMethod("componentsJoinedByString:", of: .collection, [.text], gives: .text) {
      NSExpression.members(of: $0[0]).map { member in
        PredicateCast.cast(member, to: "NSString") as? String ?? member.map { "\($0)" } ?? "<null>"
      }.joined(separator: text($0[1]))
    },
    PredicateMethod("objectForKey:", of: .collection, [.any], gives: .any) {
      PredicateFunction.element.value(of: [$0[0], $0[1]])
    },
    PredicateMethod("allKeys", of: .collection, gives: .collection) {
      ($0[0] as? [AnyHashable: Any]).map { $0.keys.map(\.base) }
    },
    PredicateMethod("allValues", of: .collection, gives: .collection) { NSExpression.members(of: $0[0]) },
  ]

  /// NSData, NSUUID and NSObject.
  private static let others: [PredicateMethod] = [
    PredicateMethod("length", of: .data, gives: .integer) { ($0[0] as? Data)?.count },
    PredicateMethod("UUIDString", of: .uuid, gives: .text) { ($0[0] as? UUID)?.uuidString },
    PredicateMethod("isEqual:", of: .any, [.any], gives: .integer) { PredicateValue($0[0]) == PredicateValue($0[1]) },
    PredicateMethod("self", of: .any, gives: .any) { $0[0] },
    PredicateMethod("description", of: .any, gives: .text) {
      PredicateCast.cast($0[0], to: "NSString") as? String ?? "\($0[0])"
    },
  ]
}

/// The number at the start of a text, as `NSString` reads one: 42 in " 42 km", 0 in "km".
///
/// Foundation's own methods trap on Linux if a text begins with a character outside of the Basic Multilingual Plane.
///
/// `intValue` and its kin never fail in Objective-C, so predicates with them must find a number in any text.
private struct LeadingNumber {
  private let sign: Substring
  private let unsignedText: Substring

  /// Skips whitespace and takes one sign. "--5" has a sign and no digits, so it is 0.
  init(_ text: String) {
    let trimmed = text.drop(while: \.isWhitespace)
    sign = trimmed.prefix { $0 == "-" || $0 == "+" }.prefix(1)
    unsignedText = trimmed.dropFirst(sign.count)
  }

  /// The nearest 64-bit integer.
  var integer: Int64 {
    let digits = unsignedText.prefix { ("0"..."9").contains($0) }
    if digits.isEmpty { return 0 }
    return Int64(sign + digits) ?? (sign == "-" ? .min : .max)
  }

  /// The longest beginning that is a number. The characters that may belong to one are collected first, and shortened
  /// until they are: "1e" is 1, "1.5.2" is 1.5.
  var double: Double {
    var end = unsignedText.prefix {
      ("0"..."9").contains($0) || $0 == "." || $0 == "e" || $0 == "E" || $0 == "-" || $0 == "+"
    }
    while !end.isEmpty {
      if let number = NumberText(String(sign + end))?.double { return number }
      end.removeLast()
    }
    return 0
  }

  /// Whether the first character is Y, T or a digit other than 0, after zeros.
  var boolean: Bool {
    unsignedText.drop { $0 == "0" }.first.map { "YyTt123456789".contains($0) } ?? false
  }
}
