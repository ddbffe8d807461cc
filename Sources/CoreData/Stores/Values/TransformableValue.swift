internal import Synchronization

/// Transformable attributes as bytes: by their transformer, or as keyed archives.
///
/// ```text
/// transformer                         to bytes                        from bytes
/// ----------------------------------  ------------------------------  -----------------------------
/// none, or an unregistered name       a keyed archive; Data as it is  unarchived, else the Data
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
      if let name = transformerName, let warning = unregisteredWarning(name) {
        FileHandle.standardError.write(Data("CoreData: warning: \(warning)\n".utf8))
      }
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

  /// The names under which Foundation has transformers that archive by keys, as is done here without any.
  private static let archivingNames: Set<String> = [
    "", NSValueTransformerName.secureUnarchiveFromDataTransformerName.rawValue, "NSKeyedUnarchiveFromData",
    "NSUnarchiveFromData",
  ]

  private static let warnedNames = Mutex(archivingNames)

  /// What is said when a value is archived because its transformer is not registered; nil from the second time on.
  ///
  /// Apple's framework warns too, and goes on: a program that only reads or copies a store of another program lacks
  /// that one's transformers.
  package static func unregisteredWarning(_ name: String) -> String? {
    guard warnedNames.withLock({ $0.insert(name).inserted }) else { return nil }
    return """
      no value transformer is registered under the name \(name), so values are written as keyed archives, which the \
      transformer may not read; call ValueTransformer.setValueTransformer(_:forName:) before a store is opened
      """
  }

  private static var unarchivable: RefusedValue {
    RefusedValue(
      "cannot be archived", remedy: "use a value transformer, or objects of classes that conform to NSSecureCoding")
  }
}
