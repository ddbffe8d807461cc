/// Stores values as JSON: dictionaries with text keys, arrays, texts, numbers, booleans, `NSNull`, and what they
/// contain.
///
/// A transformable attribute with the transformer name "JSONValueTransformer" has it. Files hold the text in UTF-8,
/// with the keys of dictionaries in order. A PostgreSQL server has a `jsonb` column, which people and other programs
/// query, as in `settings->>'colour'`. It is an addition; a Mac's program defines the same few lines as a subclass of
/// Foundation's `ValueTransformer` and registers it under the name.
///
/// ```swift
/// let settings = NSAttributeDescription()
/// settings.name = "settings"
/// settings.type = .transformable
/// settings.valueTransformerName = NSValueTransformerName.jsonTransformerName.rawValue
/// ```
///
/// Numbers come back as `NSNumber`; dates and data have no form in JSON, and a save refuses them: store texts instead.
public final class JSONValueTransformer: ValueTransformer {
  /// The class of transformed values: `NSData`.
  public override class func transformedValueClass() -> AnyClass { NSData.self }

  /// The JSON text of a value as `Data`; nil for a value that JSON cannot express, such as a date or NaN.
  public override func transformedValue(_ value: Any?) -> Any? {
    guard let value, JSONSerialization.isValidJSONObject([value]) else { return nil }
    return try? JSONSerialization.data(
      withJSONObject: value, options: [.sortedKeys, .fragmentsAllowed, .withoutEscapingSlashes])
  }

  /// The value of a JSON text; nil if it is none.
  public override func reverseTransformedValue(_ value: Any?) -> Any? {
    (value as? Data).flatMap { try? JSONSerialization.jsonObject(with: $0, options: .fragmentsAllowed) }
  }
}
