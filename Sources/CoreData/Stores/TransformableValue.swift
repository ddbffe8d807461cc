/// Transformable attributes as bytes: by their transformer, or as keyed archives.
enum TransformableValue {
  /// The value, or the stored bytes if it cannot be decoded because its class is not in this program.
  static func decode(_ data: Data, _ transformerName: String?) -> Any {
    if let transformer = ValueTransformer.named(transformerName) {
      let isReader = transformer is NSSecureUnarchiveFromDataTransformer
      return (isReader ? transformer.transformedValue(data) : transformer.reverseTransformedValue(data)) ?? data
    }
    return unarchived(data) ?? data
  }

  /// The object of a keyed archive; nil for other data, and if the program lacks one of its classes.
  static func unarchived(_ data: Data) -> Any? {
    guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
    unarchiver.requiresSecureCoding = false
    // The default policy ends the process for a class that is not in this program.
    unarchiver.decodingFailurePolicy = .setErrorAndReturn
    let value = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
    return unarchiver.error == nil ? value : nil
  }

  static func encode(_ value: Any, _ transformerName: String?) -> Data? {
    if let transformer = ValueTransformer.named(transformerName) {
      let isReader = transformer is NSSecureUnarchiveFromDataTransformer
      return (isReader ? transformer.reverseTransformedValue(value) : transformer.transformedValue(value)) as? Data
    }
    if let data = value as? Data { return data }
    return try? NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: false)
  }
}
