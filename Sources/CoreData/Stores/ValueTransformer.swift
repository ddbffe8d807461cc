internal import Synchronization

/// Turns a transformable attribute's value into what is stored and back. Foundation on Linux has none, so this is ours, with
/// Apple's names.
open class ValueTransformer: NSObject {
  private static let transformers = Mutex<[String: Registered]>([:])

  /// `@unchecked Sendable`: transformers are registered once and used from any thread, as on Apple's platforms, where they
  /// have to be safe for that.
  private struct Registered: @unchecked Sendable { let transformer: ValueTransformer }

  public override init() { super.init() }

  /// Makes a transformer known by the name that models use, or with nil unknown.
  public class func setValueTransformer(_ transformer: ValueTransformer?, forName name: NSValueTransformerName) {
    let registered = transformer.map { Registered(transformer: $0) }
    transformers.withLock { $0[name.rawValue] = registered }
  }

  /// The names that are known, in no order.
  public class func valueTransformerNames() -> [NSValueTransformerName] {
    transformers.withLock { $0.keys.map { NSValueTransformerName($0) } }
  }

  static func named(_ name: String?) -> ValueTransformer? {
    guard let name, !name.isEmpty else { return nil }
    return transformers.withLock { $0[name] }?.transformer
  }

  /// What `transformedValue(_:)` gives; for documentation, nothing here depends on it.
  open class func transformedValueClass() -> AnyClass { NSObject.self }

  /// Whether `reverseTransformedValue(_:)` works; for documentation, nothing here depends on it.
  open class func allowsReverseTransformation() -> Bool { true }

  /// From the object to what is stored: Data, as a rule.
  open func transformedValue(_ value: Any?) -> Any? { value }

  /// From what is stored to the object.
  open func reverseTransformedValue(_ value: Any?) -> Any? { value }
}

/// Gives `ValueTransformer` the initialiser by name: one of a protocol may return an object that is there already.
public protocol ValueTransformerLookup {}

extension ValueTransformer: ValueTransformerLookup {}

extension ValueTransformerLookup where Self: ValueTransformer {
  /// The transformer that was registered under a name; nil if there is none.
  public init?(forName name: NSValueTransformerName) {
    guard let found = ValueTransformer.named(name.rawValue) as? Self else { return nil }
    self = found
  }
}

/// Keeps objects as archives, and gives only objects of the classes that it allows.
///
/// Its directions are those of its name, and so the opposite of other transformers': `transformedValue(_:)` reads the stored
/// archive, `reverseTransformedValue(_:)` writes it. Source: Apple's documentation of `NSSecureUnarchiveFromDataTransformer`.
open class NSSecureUnarchiveFromDataTransformer: ValueTransformer {
  /// The classes of which an archive's object may be, or of their subclasses; a subclass gives its own.
  open class var allowedTopLevelClasses: [AnyClass] {
    [
      NSArray.self, NSDictionary.self, NSSet.self, NSString.self, NSNumber.self, NSDate.self, NSData.self, NSURL.self,
      NSUUID.self, NSNull.self,
    ]
  }

  /// The object of an archive; nil where the value is none, or one of another class.
  open override func transformedValue(_ value: Any?) -> Any? {
    // Looked at afterwards: where Foundation on Linux checks classes, one that is not allowed ends the process.
    guard let data = value as? Data, let object = TransformableValue.unarchived(data) as? NSObject else { return nil }
    return Self.allowedTopLevelClasses.contains { object.isKind(of: $0) } ? object : nil
  }

  /// The archive of an object; nil where it does not support secure coding.
  open override func reverseTransformedValue(_ value: Any?) -> Any? {
    value.flatMap { try? NSKeyedArchiver.archivedData(withRootObject: $0, requiringSecureCoding: true) }
  }
}

/// What a value transformer is registered as, and what models name.
public struct NSValueTransformerName: RawRepresentable, Hashable, Sendable {
  /// The name itself.
  public let rawValue: String
  /// A transformer's name.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// A transformer's name.
  public init(_ rawValue: String) { self.rawValue = rawValue }
  /// The name that models give to `NSSecureUnarchiveFromDataTransformer`.
  public static let secureUnarchiveFromDataTransformerName = NSValueTransformerName("NSSecureUnarchiveFromData")
}
