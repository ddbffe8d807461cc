/// A method that a predicate may call on a value: `FUNCTION(name, "uppercaseString")`.
///
/// Linux has no Objective-C methods, so each one that exists is listed here, by Apple's selector. A value of nil
/// answers with nil, as in Objective-C. An argument that the method cannot use, such as an index outside of the text,
/// gives nil too, where Apple's raises an exception.
///
/// A method is the same in memory and in SQLite, where it is called as `cd_method(?, ?, t0.ZNAME)` with the texts
/// "uppercaseString" and "t" bound: the second one has the kinds of the values, since SQLite hands a date over as a
/// number and a UUID as bytes. The kinds of receiver and arguments are checked before `body` runs, so it may take them
/// for granted.
///
/// The list is closed, and the parser checks it: text from a user cannot run other code.
struct PredicateMethod: Sendable {
  /// The kind of a receiver, an argument or a result. Raw values name the kind in SQL.
  ///
  /// `number` accepts `integer` and `decimal` too, and `any` accepts everything.
  enum Kind: Character, Sendable {
    case text = "t"
    case number = "n"
    case integer = "i"
    case decimal = "d"
    case date = "s"
    case data = "b"
    case uuid = "u"
    case url = "l"
    case collection = "c"
    case any = "a"
  }

  /// Apple's name with its colons. Several methods may share it: `length` is one of texts and one of data.
  let selector: String
  /// The kind of value that has the method.
  let receiver: Kind
  /// One for each colon.
  let arguments: [Kind]
  /// SQL needs it to compare the result. A method that gives a collection or `any` can be called in memory only.
  let result: Kind
  /// Computes the result from the receiver and the arguments, which are of the right kinds.
  let body: @Sendable ([Any]) -> Any?

  init(
    _ selector: String, of receiver: Kind, _ arguments: [Kind] = [], gives result: Kind,
    _ body: @escaping @Sendable ([Any]) -> Any?
  ) {
    self.selector = selector
    self.receiver = receiver
    self.arguments = arguments
    self.result = result
    self.body = body
  }

  /// The methods by selector: one for each kind of receiver that has it.
  ///
  /// Built at the first use; the list does not change.
  private static let bySelector = Dictionary(grouping: all, by: \.selector)

  /// Whether any value has a method of the name.
  static func exists(_ selector: String) -> Bool { bySelector[selector] != nil || keyPathSelectors.contains(selector) }

  /// Whether the value of an expression may have a method of the name. What a variable will hold is not known before:
  /// the manager of a migration and its policies have methods of their own.
  static func exists(_ selector: String, of receiver: NSExpression) -> Bool {
    if case .variable = receiver.node { true } else { exists(selector) }
  }

  /// The method of a receiver; nil if values of this kind do not have it.
  ///
  /// A method of the exact kind goes before one that only accepts it: `description` of `any` is the last resort.
  static func method(_ selector: String, of receiver: Kind) -> PredicateMethod? {
    let methods = bySelector[selector] ?? []
    return methods.first { $0.receiver == receiver } ?? methods.first { $0.receiver.accepts(receiver) }
  }

  /// The selectors that read a key path: `FUNCTION(author, "valueForKeyPath:", "name")`.
  static let keyPathSelectors: Set<String> = ["valueForKey:", "valueForKeyPath:"]

  /// The result for a receiver that may be nil. Traps if the receiver does not have the method, as Apple's raises an
  /// exception.
  ///
  /// - Parameter values: the receiver, then the arguments.
  static func call(_ selector: String, _ values: [Any?]) -> Any? {
    guard let receiver = values.first ?? nil, let kind = Kind(of: receiver) else { return nil }
    guard let method = method(selector, of: kind) else {
      fatalError("FUNCTION: a value of the type \(type(of: receiver)) has no method \"\(selector)\".")
    }
    return method.value(values)
  }

  /// The result; nil if a value is nil or of another kind.
  ///
  /// - Parameter values: the receiver, then the arguments, as many as the method has.
  func value(_ values: [Any?]) -> Any? {
    let kinds = [receiver] + arguments
    let present = values.compactMap { $0.flatMap(KeyValueReading.unwrapped) }
    guard present.count == kinds.count,
      zip(kinds, present).allSatisfy({ kind, value in Kind(of: value).map(kind.accepts) ?? false })
    else { return nil }
    return body(present)
  }
}

extension PredicateMethod.Kind {
  /// The kind of a value; nil for nil.
  ///
  /// It follows `PredicateValue`, so an `NSNumber` and an `Int64` are of one kind.
  init?(of value: Any) {
    switch PredicateValue(value) {
    case .null: return nil
    case .integer: self = .integer
    case .real: self = .number
    case .decimal: self = .decimal
    case .string: self = .text
    case .date: self = .date
    case .data: self = .data
    case .uuid: self = .uuid
    case .url: self = .url
    case .collection: self = .collection
    case .object, .opaque: self = .any
    }
  }

  /// Whether a value of the other kind may stand where this kind is wanted.
  func accepts(_ other: PredicateMethod.Kind) -> Bool {
    switch self {
    case .any: true
    case .number: other == .number || other == .integer || other == .decimal
    default: self == other
    }
  }
}
