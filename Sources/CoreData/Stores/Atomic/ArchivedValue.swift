/// The form of attribute values in a store's file: numbers, strings, dates and data as they are, all others as one of
/// these.
///
/// ```text
/// attribute                                     in a property list
/// --------------------------------------------  ------------------------------------
/// Integer, Double, Float, Boolean               a number
/// String, Date, Binary                          as it is
/// Decimal, UUID, URI                            a string: "3.14", "8D9B9D24-…", "https://…"
/// composite                                     a dictionary of the same forms
/// transformable                                 data
/// ```
///
/// Decimals are strings because a property list's real number has 15 digits.
enum ArchivedValue {
  /// - Throws: 134030 for a value that has no archive.
  static func encoded(_ value: Any, _ attribute: NSAttributeDescription) throws -> Any {
    switch attribute.attributeType {
    case .decimalAttributeType: return (value as? NSDecimalNumber ?? .zero).description(withLocale: posix)
    case .UUIDAttributeType: return (value as? UUID)?.uuidString ?? ""
    case .URIAttributeType: return (value as? URL)?.absoluteString ?? ""
    case .compositeAttributeType:
      guard let composite = attribute as? NSCompositeAttributeDescription else { return value }
      return try (value as? [String: Any] ?? [:]).reduce(into: [String: Any]()) { elements, element in
        guard let description = composite.element(element.key) else { return }
        elements[element.key] = try encoded(element.value, description)
      }
    case .transformableAttributeType, .undefinedAttributeType, .objectIDAttributeType:
      do {
        if let data = try TransformableValue.encode(value, attribute.valueTransformerName) { return data }
      } catch {
        throw CoreDataErrors.error(error.of(attribute), "Writing the store's file")
      }
      throw CoreDataErrors.error(
        .persistentStoreSave,
        "The transformer \(attribute.valueTransformerName ?? "") makes no data of the value of "
          + "\(attribute.owner?.name ?? "").\(attribute.name).")
    default: return value
    }
  }

  /// Nil if the attribute cannot have the stored value.
  static func decoded(_ stored: Any, _ attribute: NSAttributeDescription) -> Any? {
    switch attribute.attributeType {
    case .decimalAttributeType: return (stored as? String).map { NSDecimalNumber(string: $0, locale: posix) }
    case .UUIDAttributeType: return (stored as? String).flatMap(UUID.init(uuidString:))
    case .URIAttributeType: return (stored as? String).flatMap(URL.init(string:))
    case .compositeAttributeType:
      guard let composite = attribute as? NSCompositeAttributeDescription, let elements = stored as? [String: Any]
      else { return nil }
      return elements.reduce(into: [String: Any]()) { decoded, element in
        decoded[element.key] = composite.element(element.key).flatMap { Self.decoded(element.value, $0) }
      }
    case .transformableAttributeType, .undefinedAttributeType, .objectIDAttributeType:
      return (stored as? Data).map { TransformableValue.decode($0, attribute.valueTransformerName) }
    default: return stored
    }
  }

  private static let posix = Locale(identifier: "en_US_POSIX")
}
