/// Stores values as JSON: dictionaries with text keys, arrays, texts, numbers, Booleans and `NSNull`.
///
/// A transformable attribute with the transformer name "JSONValueTransformer" uses it. Files hold the text in UTF-8,
/// with the keys of dictionaries sorted. A PostgreSQL server has a `jsonb` column, which other programs can query, as
/// in `settings->>'colour'`. It is an addition to Apple's API: a program on a Mac registers a subclass of
/// `ValueTransformer` with the same methods under the name.
///
/// ```swift
/// let settings = NSAttributeDescription()
/// settings.name = "settings"
/// settings.type = .transformable
/// settings.valueTransformerName = NSValueTransformerName.jsonTransformerName.rawValue
/// ```
///
/// Numbers come back as `NSNumber`. Dates and data have no form in JSON, and a save refuses them: set texts instead.
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
