/// An object whose properties predicates, sort descriptors and expressions can read by name.
protocol KeyValueReadable {
  /// The value of a property; nil for no value. A to-many relationship gives a set or an ordered set.
  func readableValue(forKey key: String) -> Any?
}

/// A value that knows its order among others of its kind.
protocol OrderedValue: AnyObject {
  /// The order of this value and another one; nil if they have none.
  func order(to other: AnyObject) -> ComparisonResult?
}

/// A managed object or an object ID, identified by its row.
package protocol PersistentKeyed: AnyObject {
  /// The name of the object's own entity, and its primary key; nil while the ID is temporary.
  var persistentKey: (entityName: String, key: Int64)? { get }
}

/// Something that stands for another object where values are compared.
protocol IdentifiedObject: NSObject {
  var identity: NSObject { get }
}

/// Reads values by name from anything: managed objects, dictionaries, collections, strings, and Swift's stored
/// properties.
enum KeyValueReading {
  /// The value at a key path, with collection operators. Unknown keys read as nil, unknown operators trap.
  static func value(at path: some Collection<String>, of object: Any?) -> Any? {
    guard let key = path.first, let object = object.flatMap(unwrapped) else { return object.flatMap(unwrapped) }
    let remainingPath = path.dropFirst()
    if key.hasPrefix("@") {
      return CollectionOperator.value(of: key, over: object, path: Array(remainingPath))
    }
    guard let next = value(forKey: key, of: object) else { return nil }
    return remainingPath.isEmpty ? next : value(at: remainingPath, of: next)
  }

  private static func value(forKey key: String, of object: Any) -> Any? {
    if let object = NSManagedObject.from(object) { return key == "self" ? object : object.readableValue(forKey: key) }
    if let readable = object as? any KeyValueReadable {
      return key == "self" ? object : readable.readableValue(forKey: key).flatMap(unwrapped)
    }
    switch object {
    case let dictionary as [String: Any]: return entry(dictionary[key]) ?? general(key, of: object)
    case let dictionary as NSDictionary: return entry(dictionary[key]) ?? general(key, of: object)
    case let string as String: return self.string(key, of: string)
    case let number as NSNumber: return self.number(key, of: number)
    default: break
    }
    if case .collection(let members) = PredicateValue(object) {
      // A collection returns the values of its members, as key-value coding does.
      let values = members.map { member in member.flatMap { value(at: CollectionOfOne(key), of: $0) } }
      return MemberValues(kind: MemberValues.Kind(of: object), values: values)
    }
    return mirrored(key, of: object) ?? general(key, of: object)
  }

  /// A value of a dictionary, in which `NSNull` is a value.
  private static func entry(_ value: Any?) -> Any? { value is NSNull ? value : value.flatMap(unwrapped) }

  private static func string(_ key: String, of string: String) -> Any? {
    switch key {
    case "length": string.utf16.count
    case "uppercaseString", "uppercased": string.uppercased()
    case "lowercaseString", "lowercased": string.lowercased()
    case "capitalizedString": string.capitalized
    case "intValue", "integerValue", "longLongValue": Int(string) ?? 0
    case "doubleValue", "floatValue": Double(string) ?? 0
    default: general(key, of: string)
    }
  }

  private static func number(_ key: String, of number: NSNumber) -> Any? {
    switch key {
    case "intValue", "integerValue", "longLongValue": number.intValue
    case "doubleValue", "floatValue": number.doubleValue
    case "boolValue": number.boolValue
    case "stringValue": number.stringValue
    default: general(key, of: number)
    }
  }

  private static func general(_ key: String, of object: Any) -> Any? {
    switch key {
    case "self": object
    case "description": String(describing: object)
    case "count": (object as? any Collection).map { $0.count } ?? (object as? NSDictionary)?.count
    default: nil
    }
  }

  private static func mirrored(_ key: String, of object: Any) -> Any? {
    var mirror: Mirror? = Mirror(reflecting: object)
    while let current = mirror {
      if let child = current.children.first(where: { $0.label == key || $0.label == "_" + key }) {
        return unwrapped(child.value)
      }
      mirror = current.superclassMirror
    }
    return nil
  }

  /// The value without optionals around it; `NSNull` becomes nil.
  static func unwrapped(_ value: Any) -> Any? {
    let type = type(of: value)
    if type is AnyClass { return type == NSNull.self ? nil : value }
    if type == String.self || type == Int.self || type == Double.self || type == Bool.self { return value }
    guard let optional = value as? any OptionalValue else { return value }
    return optional.wrapped.flatMap(unwrapped)
  }
}
