/// Transformable attributes as bytes: by their transformer, or as keyed archives.
///
/// ```text
/// transformer                         to bytes                        from bytes
/// ----------------------------------  ------------------------------  -----------------------------
/// none                                a keyed archive; Data as it is  unarchived, else the Data
/// NSSecureUnarchiveFromData…          reverseTransformedValue         transformedValue
/// the program's own                   transformedValue                reverseTransformedValue
/// ```
///
/// The secure transformer works the other way round: its "transformed" value is the object, as Apple defines it.
package enum TransformableValue {
  /// The value, or the stored bytes if it cannot be decoded because its class is not in this program.
  package static func decode(_ data: Data, _ transformerName: String?) -> Any {
    if let transformer = ValueTransformer.named(transformerName) {
      let isReader = transformer is NSSecureUnarchiveFromDataTransformer
      return (isReader ? transformer.transformedValue(data) : transformer.reverseTransformedValue(data)) ?? data
    }
    return NSKeyedUnarchiver.knownObject(from: data) ?? data
  }

  /// The value as bytes; nil if the program's own transformer makes nothing of it.
  ///
  /// - Throws: ``RefusedValue`` for a value that cannot be archived: NULL would lose it.
  package static func encode(_ value: Any, _ transformerName: String?) throws(RefusedValue) -> Data? {
    guard let transformer = ValueTransformer.named(transformerName) else {
      if let data = value as? Data { return data }
      // Foundation on Linux ends the process for other objects.
      guard (value as AnyObject) is any NSCoding else { throw unarchivable }
      do {
        return try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: false)
      } catch {
        throw unarchivable
      }
    }
    if transformer is NSSecureUnarchiveFromDataTransformer {
      if let data = transformer.reverseTransformedValue(value) as? Data { return data }
      throw unarchivable
    }
    let data = transformer.transformedValue(value) as? Data
    if data == nil, transformer is JSONValueTransformer {
      throw RefusedValue(
        "is one that JSON cannot express",
        remedy: "use numbers, texts, arrays and dictionaries with keys that are texts")
    }
    return data
  }

  private static var unarchivable: RefusedValue {
    RefusedValue(
      "cannot be archived", remedy: "use a value transformer, or objects of classes that conform to NSSecureCoding")
  }
}
