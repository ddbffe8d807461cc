/// An object whose properties predicates, sort descriptors and expressions can read by name.
///
/// Managed objects, object IDs, descriptions of a model, changes and transactions of the history, and the rows of
/// stores in memory conform. It is no part of Objective-C's protocol: nothing is looked up by the runtime, each type
/// answers for its own keys.
protocol KeyValueReadable {
  /// The value of a property; nil for no value. A to-many relationship gives a set or an ordered set.
  ///
  /// An unknown key gives nil and never traps, since predicates come from texts.
  func readableValue(forKey key: String) -> Any?
}

/// A value that knows its order among others of its kind.
///
/// History tokens conform: predicates on transactions compare them with `>`.
protocol OrderedValue: AnyObject {
  /// The order of this value and another one; nil if they have none.
  func order(to other: AnyObject) -> ComparisonResult?
}

/// A managed object or an object ID, identified by its row.
///
/// Predicates compare and sort objects by it, and SQL generation finds the row of an object in a condition.
package protocol PersistentKeyed: AnyObject {
  /// The name of the object's own entity, and its primary key; nil while the ID is temporary.
  var persistentKey: (entityName: String, key: Int64)? { get }
}

/// Something that stands for another object where values are compared.
///
/// A row of a store in memory stands for its object ID, so that `author == %@` compares it with the ID that the
/// predicate has.
protocol IdentifiedObject: NSObject {
  var identity: NSObject { get }
}

/// Reads values by name from anything: managed objects, dictionaries, collections, strings, and Swift's stored
/// properties.
///
/// It is what key-value coding is on Apple's platforms, for predicates and sort descriptors only. The order of the
/// attempts: a class that answers itself, a dictionary, a text or number with the few properties of Apple's classes, a
/// collection, whose members are asked one by one, and last Swift's `Mirror`.
///
/// ```text
/// "name"  of ["name": "Emma"]              "Emma"
/// "length" of "Emma"                        4
/// "title" of [book, other]                  [title of book, title of other]
/// "pages" of struct Draft { var pages = 3 } 3, by Mirror
/// ```
///
/// Source: Key-Value Coding Programming Guide, "Accessing Collection Properties" and "Accessor Search Patterns".
enum KeyValueReading {
  /// The value at a key path, with collection operators. Unknown keys read as nil, unknown operators trap.
  ///
  /// A nil on the way ends the path with nil. A collection on the way makes the rest of the path a list of the members'
  /// values; an operator then takes that list.
  static func value(at path: some Collection<String>, of object: Any?) -> Any? {
    guard let key = path.first, let object = object.flatMap(unwrapped) else { return object.flatMap(unwrapped) }
    let remainingPath = path.dropFirst()
    if key.hasPrefix("@") {
      return CollectionOperator.value(of: key, over: object, path: Array(remainingPath))
    }
    guard let next = value(forKey: key, of: object) else { return nil }
    return remainingPath.isEmpty ? next : value(at: remainingPath, of: next)
  }

  /// The value of one key.
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
  ///
  /// A dictionary result of a fetch has `NSNull` for a nil value of a column.
  private static func entry(_ value: Any?) -> Any? { value is NSNull ? value : value.flatMap(unwrapped) }

  /// The properties of `NSString` that predicates on lists of texts use: `SELF.length > 3`. Numbers are read as Swift
  /// reads them, so "12 km" is 0; `FUNCTION(SELF, "intValue")` reads as `NSString` does.
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

  /// The properties of `NSNumber`.
  private static func number(_ key: String, of number: NSNumber) -> Any? {
    switch key {
    case "intValue", "integerValue", "longLongValue": number.intValue
    case "doubleValue", "floatValue": number.doubleValue
    case "boolValue": number.boolValue
    case "stringValue": number.stringValue
    default: general(key, of: number)
    }
  }

  /// What every object has: `self` and `description`, and the number of entries of a dictionary. `count` of an array
  /// asks each member, as on Apple's platforms; `@count` is its size.
  private static func general(_ key: String, of object: Any) -> Any? {
    switch key {
    case "self": object
    case "description": String(describing: object)
    case "count": (object as? any Collection).map { $0.count } ?? (object as? NSDictionary)?.count
    default: nil
    }
  }

  /// A stored property of a Swift value or object, those of superclasses included. A leading underscore is tried too,
  /// since a property wrapper stores `name` as `_name`. Slow, and only for types that offer nothing else.
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
