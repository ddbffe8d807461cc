/// A place in the history of one or more stores: each store's UUID, with the number of a transaction.
///
/// Archives of Apple's framework are read, once the program has a model or a coordinator. Those written here have the same content
/// under this class's own name: Foundation on Linux does not heed the names that `NSKeyedArchiver` is told.
///
/// Source: Apple's documentation of `NSPersistentHistoryToken`; the archive as a store of Apple's holds one.
public final class NSPersistentHistoryToken: NSObject, NSCopying, NSSecureCoding, Codable, Sendable {
  /// The number of the last transaction that lies before the place, by store identifier.
  let numbers: [String: Int64]

  private static let key = "NSPersistentHistoryTokenDictionary"
  /// Apple's token is of a class below.
  private static let archivedName = "_NSPersistentHistoryToken"
  private static let isRegistered: Void = {
    NSKeyedUnarchiver.setClass(NSPersistentHistoryToken.self, forClassName: archivedName)
    NSQueryGenerationToken.registerNames()
  }()

  /// Lets archives under Apple's names be read. Called when a model or a coordinator is made.
  static func register() { _ = isRegistered }

  init(_ numbers: [String: Int64]) {
    self.numbers = numbers
    super.init()
  }

  public static var supportsSecureCoding: Bool { true }

  public func encode(with coder: NSCoder) {
    coder.encode(numbers.mapValues { NSNumber(value: $0) } as NSDictionary, forKey: Self.key)
  }

  public required convenience init?(coder: NSCoder) {
    let classes: [AnyClass] = [NSDictionary.self, NSString.self, NSNumber.self]
    guard let dictionary = coder.decodeObject(of: classes, forKey: Self.key) as? [String: NSNumber] else { return nil }
    self.init(dictionary.mapValues(\.int64Value))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(numbers)
  }

  public convenience init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode([String: Int64].self))
  }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override var hash: Int { numbers.hashValue }

  public override func isEqual(_ object: Any?) -> Bool { (object as? NSPersistentHistoryToken)?.numbers == numbers }

  public override var description: String {
    "<NSPersistentHistoryToken \(numbers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", "))>"
  }
}
