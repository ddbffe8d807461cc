/// Transformable attributes as bytes: by their transformer, or as keyed archives.
package enum TransformableValue {
  /// The value, or the stored bytes if it cannot be decoded because its class is not in this program.
  package static func decode(_ data: Data, _ transformerName: String?) -> Any {
    if let transformer = ValueTransformer.named(transformerName) {
      let isReader = transformer is NSSecureUnarchiveFromDataTransformer
      return (isReader ? transformer.transformedValue(data) : transformer.reverseTransformedValue(data)) ?? data
    }
    return NSKeyedUnarchiver.knownObject(from: data) ?? data
  }

  package static func encode(_ value: Any, _ transformerName: String?) -> Data? {
    if let transformer = ValueTransformer.named(transformerName) {
      let isReader = transformer is NSSecureUnarchiveFromDataTransformer
      return (isReader ? transformer.reverseTransformedValue(value) : transformer.transformedValue(value)) as? Data
    }
    if let data = value as? Data { return data }
    return try? NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: false)
  }
}
