/// A place in the history of one or more stores: the number of a transaction for each store's UUID.
///
/// Keep it between runs of the program, archived or through `Codable`, to fetch only newer history.
///
/// Archives of Apple's framework can be read once the program has a model or a coordinator. Archives written here have
/// the same content under this class's own name, since Foundation on Linux ignores
/// `NSKeyedArchiver.setClassName(_:for:)`.
///
/// ```swift
/// if let token = coordinator.currentPersistentHistoryToken(fromStores: nil) {
///   try JSONEncoder().encode(token).write(to: url)
///   lastToken = try JSONDecoder().decode(NSPersistentHistoryToken.self, from: Data(contentsOf: url))
/// }
/// ```
///
/// It refers to stores by their UUIDs, so it means nothing for a store that `migratePersistentStore` has made, which
/// has another UUID.
///
/// Immutable and `Sendable`: any thread. Two tokens are equal if they name the same stores with the same numbers. It
/// has no order of its own in Swift; a predicate can compare tokens.
///
/// What happens otherwise: a program that writes the token before it has handled the transactions loses them in a
/// crash. A token that is older than the deleted history makes the next reading throw 134301.
///
/// Source: Apple's documentation of `NSPersistentHistoryToken`; the archive as a store of Apple's holds one.
public final class NSPersistentHistoryToken: NSObject, NSCopying, NSSecureCoding, Codable, Sendable {
  /// The number of the last transaction before the place, by store identifier.
  ///
  /// A store that it does not name is read from its beginning.
  package let numbers: [String: Int64]

  /// The archive is that of Apple's private class: a dictionary of NSString and NSNumber under this key.
  private static let key = "NSPersistentHistoryTokenDictionary"
  /// The class name in Apple's archives.
  private static let archivedName = "_NSPersistentHistoryToken"
  private static let isRegistered: Void = {
    NSKeyedUnarchiver.setClass(NSPersistentHistoryToken.self, forClassName: archivedName)
    NSQueryGenerationToken.registerNames()
  }()

  /// Makes archives under Apple's class names readable. Called when a model or a coordinator is made.
  ///
  /// `NSKeyedUnarchiver` knows classes by name only, and a name that no class has makes it fail. Once for the process,
  /// by a lazy constant.
  static func register() { _ = isRegistered }

  init(_ numbers: [String: Int64]) {
    self.numbers = numbers
    super.init()
  }

  /// True: archives hold strings and numbers only.
  public static var supportsSecureCoding: Bool { true }

  /// Archives the numbers of all stores.
  ///
  /// Call `NSKeyedArchiver.archivedData(withRootObject:requiringSecureCoding:)`, which calls it.
  public func encode(with coder: NSCoder) {
    coder.encode(numbers.mapValues { NSNumber(value: $0) } as NSDictionary, forKey: Self.key)
  }

  /// Reads an archive; nil if it holds no token.
  ///
  /// Only dictionaries, strings and numbers are read, so that a file from elsewhere makes no other objects.
  public required convenience init?(coder: NSCoder) {
    let classes: [AnyClass] = [NSDictionary.self, NSString.self, NSNumber.self]
    guard let dictionary = coder.decodeObject(of: classes, forKey: Self.key) as? [String: NSNumber] else { return nil }
    self.init(dictionary.mapValues(\.int64Value))
  }

  /// Encodes the numbers as a dictionary by store identifier.
  ///
  /// For JSON and property lists: `{"8B2F…": 42}`. Shorter than an archive, and readable by programs in other
  /// languages.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(numbers)
  }

  /// Decodes what `encode(to:)` wrote; throws the decoder's errors.
  ///
  /// A file without a dictionary of numbers throws `DecodingError`: begin at nil then.
  public convenience init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode([String: Int64].self))
  }

  /// The token itself: it is immutable.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override var hash: Int { numbers.hashValue }

  /// By content: a token that was kept in a file equals the one that was written.
  public override func isEqual(_ object: Any?) -> Bool { (object as? NSPersistentHistoryToken)?.numbers == numbers }

  public override var description: String {
    let places = numbers.sorted(on: { $0.key }).map { "\($0.key): \($0.value)" }
    return "<NSPersistentHistoryToken \(places.joined(separator: ", "))>"
  }
}

/// Predicates about history compare tokens: `token > %@`.
extension NSPersistentHistoryToken: OrderedValue {
  /// The order of two places in the histories of the stores that both name; nil if there are none, or if one token is
  /// ahead in one store and behind in another.
  ///
  /// Two clocks of two stores give only a partial order: nil means that neither place is behind the other, and a
  /// predicate with such a pair is false.
  func order(to other: AnyObject) -> ComparisonResult? {
    guard let other = other as? NSPersistentHistoryToken else { return nil }
    let pairs = numbers.compactMap { store, number in other.numbers[store].map { (number, $0) } }
    if pairs.isEmpty { return nil }
    if pairs.allSatisfy({ $0 == $1 }) { return .orderedSame }
    if pairs.allSatisfy({ $0 <= $1 }) { return .orderedAscending }
    return pairs.allSatisfy({ $0 >= $1 }) ? .orderedDescending : nil
  }
}
