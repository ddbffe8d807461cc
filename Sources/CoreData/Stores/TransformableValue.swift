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
    guard hasClasses(of: data), let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
    unarchiver.requiresSecureCoding = false
    // The default policy ends the process for a class that is not in this program.
    unarchiver.decodingFailurePolicy = .setErrorAndReturn
    let value = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
    return unarchiver.error == nil ? value : nil
  }

  /// Whether the program has the classes that a keyed archive names. For one that it lacks Foundation would write to
  /// standard error, with each value, that the data may be corrupt.
  private static func hasClasses(of data: Data) -> Bool {
    guard case .dictionary(let archive)? = try? BinaryPropertyList(data).root(),
      case .array(let objects)? = archive["$objects"]
    else { return true }
    return objects.allSatisfy { object in
      guard case .dictionary(let kind) = object, case .string(let name)? = kind["$classname"] else { return true }
      var names = [name]
      if case .array(let hints)? = kind["$classhints"] {
        for case .string(let hint) in hints { names.append(hint) }
      }
      return names.contains { NSKeyedUnarchiver.class(forClassName: $0) != nil || NSClassFromString($0) != nil }
    }
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
