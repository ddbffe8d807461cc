internal import Synchronization

/// Turns a transformable attribute's value into data and back. Foundation on Linux has no such class, so this module
/// has one with Apple's names.
///
/// ```swift
/// final class Reversed: ValueTransformer {
///   override func transformedValue(_ value: Any?) -> Any? {
///     (value as? String).map { Data(String($0.reversed()).utf8) }
///   }
///   override func reverseTransformedValue(_ value: Any?) -> Any? {
///     (value as? Data).map { String(String(decoding: $0, as: UTF8.self).reversed()) }
///   }
/// }
/// ValueTransformer.setValueTransformer(Reversed(), forName: NSValueTransformerName("Reversed"))
/// ```
///
/// Register it before a store is opened. It is called on the queue that reads or saves, on several queues at once, and
/// must be safe for that. It decides which bytes the column holds, so all programs that share a store register the same
/// one.
///
/// Source: Apple's documentation of `ValueTransformer`.
open class ValueTransformer: NSObject {
  private static let transformers = Mutex<[String: Registered]>([
    NSValueTransformerName.jsonTransformerName.rawValue: Registered(transformer: JSONValueTransformer())
  ])

  /// `@unchecked Sendable`: transformers are used from any thread, as on Apple's platforms, and have to be safe for
  /// that.
  private struct Registered: @unchecked Sendable { let transformer: ValueTransformer }

  /// A transformer that returns values unchanged, unless a subclass does otherwise.
  public override init() { super.init() }

  /// Registers a transformer under the name that models use; nil removes the name. Any thread.
  ///
  /// Without a transformer under an attribute's name values are keyed archives: what a transformer wrote is then read
  /// as its bytes, and new values are written in another form, with one warning for each name on standard error. So
  /// register it before the first store is opened, in each program. Values that objects have in memory do not change.
  ///
  /// - Parameters:
  ///   - transformer: one object for all attributes with the name, used from several threads.
  ///   - name: the text of `NSAttributeDescription.valueTransformerName`.
  public class func setValueTransformer(_ transformer: ValueTransformer?, forName name: NSValueTransformerName) {
    let registered = transformer.map { Registered(transformer: $0) }
    transformers.withLock { $0[name.rawValue] = registered }
  }

  /// The registered names, in any order.
  ///
  /// "JSONValueTransformer" is among them from the beginning. Any thread.
  public class func valueTransformerNames() -> [NSValueTransformerName] {
    transformers.withLock { $0.keys.map { NSValueTransformerName($0) } }
  }

  static func named(_ name: String?) -> ValueTransformer? {
    guard let name, !name.isEmpty else { return nil }
    return transformers.withLock { $0[name] }?.transformer
  }

  /// The class of transformed values. For documentation only: the framework does not read it.
  open class func transformedValueClass() -> AnyClass { NSObject.self }

  /// Whether `reverseTransformedValue(_:)` works. For documentation only: the framework does not read it.
  open class func allowsReverseTransformation() -> Bool { true }

  /// Turns an object into the stored value, usually `Data`. The default returns it unchanged.
  ///
  /// Called when an object is saved, on the queue of the save. Nil stores NULL, and the value is lost without an error:
  /// return `Data` for every value that the program sets.
  open func transformedValue(_ value: Any?) -> Any? { value }

  /// Turns a stored value into the object. The default returns it unchanged.
  ///
  /// Called when a row is read, on the queue that reads. If it returns nil, the property's value is the bytes. Contexts
  /// of one coordinator share the object, so return an immutable one.
  open func reverseTransformedValue(_ value: Any?) -> Any? { value }
}

/// Gives `ValueTransformer` the initialiser by name: a protocol's initialiser may return an existing object. No other
/// type needs to conform.
public protocol ValueTransformerLookup {}

extension ValueTransformer: ValueTransformerLookup {}

extension ValueTransformerLookup where Self: ValueTransformer {
  /// The transformer that is registered under a name; nil if there is none, or it is not of this class.
  ///
  /// ```swift
  /// let json = ValueTransformer(forName: .jsonTransformerName)
  /// let data = json?.transformedValue(["colour": "red"]) as? Data
  /// print(data.map { String(decoding: $0, as: UTF8.self) } ?? "")  // {"colour":"red"}
  /// ```
  public init?(forName name: NSValueTransformerName) {
    guard let transformer = ValueTransformer.named(name.rawValue) as? Self else { return nil }
    self = transformer
  }
}

/// Stores objects as keyed archives, and reads an archive only if all its classes are allowed. The check comes before
/// any object is made.
///
/// Objects inside of the archived one must be of the allowed classes too, or of Foundation's classes for values and
/// collections: for a palette of colours `allowedTopLevelClasses` is `[Palette.self, Colour.self]`. Apple's class is
/// less strict: there an object's `init(coder:)` decides which classes it reads.
///
/// As its name says, it transforms an archive into an object, the opposite of other transformers:
/// `transformedValue(_:)` reads the stored archive, `reverseTransformedValue(_:)` writes it. Source: Apple's
/// documentation of `NSSecureUnarchiveFromDataTransformer`.
///
/// ```swift
/// final class Palette: NSObject, NSSecureCoding {
///   static var supportsSecureCoding: Bool { true }
///   let names: [String]
///   init(names: [String]) { self.names = names }
///   func encode(with coder: NSCoder) { coder.encode(names as NSArray, forKey: "names") }
///   init?(coder: NSCoder) {
///     names = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "names") as? [String] ?? []
///   }
/// }
/// final class PaletteTransformer: NSSecureUnarchiveFromDataTransformer {
///   override class var allowedTopLevelClasses: [AnyClass] { [Palette.self] }
/// }
/// ValueTransformer.setValueTransformer(PaletteTransformer(), forName: NSValueTransformerName("PaletteTransformer"))
/// ```
///
/// Use it rather than plain archiving if the store's file may come from elsewhere: an archive decides which classes of
/// the program are created.
open class NSSecureUnarchiveFromDataTransformer: ValueTransformer {
  /// The classes that an archive's object may have, or inherit from. A subclass overrides it.
  ///
  /// Default: the classes of Foundation's values and collections.
  open class var allowedTopLevelClasses: [AnyClass] { foundationClasses }

  /// The classes of values and collections, which hold nothing but what their archive says.
  private static var foundationClasses: [AnyClass] {
    [
      NSArray.self, NSDictionary.self, NSSet.self, NSString.self, NSNumber.self, NSDate.self, NSData.self, NSURL.self,
      NSUUID.self, NSNull.self,
    ]
  }

  /// The object of an archive; nil if the value is not an archive, or has an object of another class.
  open override func transformedValue(_ value: Any?) -> Any? {
    // Foundation on Linux ends the process for a forbidden class where it checks classes itself.
    let allowed = Self.allowedTopLevelClasses
    guard let data = value as? Data,
      let object = NSKeyedUnarchiver.knownObject(from: data, ofClasses: allowed + Self.foundationClasses) as? NSObject
    else { return nil }
    return allowed.contains { object.isKind(of: $0) } ? object : nil
  }

  /// The archive of an object; nil if it does not support secure coding.
  open override func reverseTransformedValue(_ value: Any?) -> Any? {
    // Foundation on Linux ends the process for other objects. This method cannot throw, so an error becomes nil, and
    // the save refuses the value.
    guard let value, (value as AnyObject) is any NSSecureCoding else { return nil }
    return try? NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
  }
}

/// The name under which a value transformer is registered, and which models use.
///
/// ```swift
/// let palette = NSValueTransformerName("PaletteTransformer")
/// let colours = NSAttributeDescription("colours", .transformable) { $0.valueTransformerName = palette.rawValue }
/// ```
public struct NSValueTransformerName: RawRepresentable, Hashable, Sendable {
  /// The name itself.
  public let rawValue: String
  /// A transformer's name.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// A transformer's name, without the label.
  public init(_ rawValue: String) { self.rawValue = rawValue }
  /// The name of `JSONValueTransformer`, which is registered from the beginning: an addition to Apple's names.
  public static let jsonTransformerName = NSValueTransformerName("JSONValueTransformer")
  /// The name that models give to `NSSecureUnarchiveFromDataTransformer`.
  ///
  /// Nothing is registered under it at first: values are keyed archives all the same, and are read without a check of
  /// their classes. Register a subclass under it to have the classes checked.
  public static let secureUnarchiveFromDataTransformerName = NSValueTransformerName("NSSecureUnarchiveFromData")
}
