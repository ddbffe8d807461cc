/// Transformable attributes as bytes: by their transformer, or as keyed archives.
enum TransformableValue {
  /// A value that cannot be decoded (its class is not in this program) is given as the bytes that are stored.
  static func decode(_ data: Data, _ transformerName: String?) -> Any {
    if let transformer = ValueTransformer.named(transformerName) {
      let isReader = transformer is NSSecureUnarchiveFromDataTransformer
      return (isReader ? transformer.transformedValue(data) : transformer.reverseTransformedValue(data)) ?? data
    }
    return unarchived(data) ?? data
  }

  /// The object of a keyed archive; nil where it is none, or a class of it is not in this program.
  static func unarchived(_ data: Data) -> Any? {
    guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
    unarchiver.requiresSecureCoding = false
    // The default policy ends the process at a class that is not in this program.
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
