internal import Synchronization

/// Turns a transformable attribute's value into what is stored and back. Foundation on Linux has none, so this is ours, with
/// Apple's names.
open class ValueTransformer: NSObject {
  private static let transformers = Mutex<[String: Registered]>([:])

  /// `@unchecked Sendable`: transformers are registered once and used from any thread, as on Apple's platforms, where they
  /// have to be safe for that.
  private struct Registered: @unchecked Sendable { let transformer: ValueTransformer }

  public override init() { super.init() }

  /// Makes a transformer known by the name that models use.
  public class func setValueTransformer(_ transformer: ValueTransformer?, forName name: NSValueTransformerName) {
    let registered = transformer.map { Registered(transformer: $0) }
    transformers.withLock { $0[name.rawValue] = registered }
  }

  class func named(_ name: String?) -> ValueTransformer? {
    guard let name, !name.isEmpty else { return nil }
    return transformers.withLock { $0[name] }?.transformer
  }

  /// From the object to what is stored: Data, as a rule.
  open func transformedValue(_ value: Any?) -> Any? { value }

  /// From what is stored to the object.
  open func reverseTransformedValue(_ value: Any?) -> Any? { value }
}

public struct NSValueTransformerName: RawRepresentable, Hashable, Sendable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public init(_ rawValue: String) { self.rawValue = rawValue }
  public static let secureUnarchiveFromDataTransformerName = NSValueTransformerName(
    "NSSecureUnarchiveFromDataTransformer")
}
