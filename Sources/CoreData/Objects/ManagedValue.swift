/// A type that an attribute's accessors can have, besides the optional of it: read from the object's slot and written
/// there without a look-up by name and without `Any`.
public protocol ManagedValue {
  /// The value, or nil.
  static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Self?
  /// Sets the attribute; nil for no value.
  static func write(_ value: Self?, to property: ManagedPropertyKey, of object: NSManagedObject)
  /// What reading a nil gives where the accessor's type is not optional: zero, false or empty, as on Apple's platforms;
  /// nil where there is no such value.
  static var valueOfNil: Self? { get }
}

extension ManagedValue {
  /// nil: reading a nil ends the program where the accessor is not optional.
  public static var valueOfNil: Self? { nil }
}

/// Typed access. As with `value(forKey:)`, on the context's queue only.
extension NSManagedObject {
  /// The value of an attribute that is not optional. Reading a nil gives `valueOfNil`, and traps if there is none.
  @inlinable
  public final subscript<Value: ManagedValue>(property: ManagedProperty<Value>) -> Value {
    get {
      if let value = Value.read(property, of: self) ?? Value.valueOfNil { return value }
      missing(property)
    }
    set { Value.write(newValue, to: property, of: self) }
  }

  /// The value of an attribute, or nil.
  @inlinable
  public final subscript<Value: ManagedValue>(property: ManagedProperty<Value?>) -> Value? {
    get { Value.read(property, of: self) }
    set { Value.write(newValue, to: property, of: self) }
  }

  /// The object at the other end of a to-one relationship.
  public final subscript<Object: NSManagedObject>(property: ManagedProperty<Object?>) -> Object? {
    get { relatedObject(property) }
    set { setRelated(newValue, slot: property.slot(in: layout, .toOne)) }
  }

  /// The object at the other end of a to-one relationship that always has one.
  public final subscript<Object: NSManagedObject>(property: ManagedProperty<Object>) -> Object {
    get {
      if let object: Object = relatedObject(property) { return object }
      missing(property)
    }
    set { setRelated(newValue, slot: property.slot(in: layout, .toOne)) }
  }

  /// Any other property: to-many relationships (`NSSet?`, `NSOrderedSet?`, `Set<X>`), fetched properties (`[X]?`),
  /// transformable values and `NSNumber`. By name, as `value(forKey:)`.
  @_disfavoredOverload
  public final subscript<Value>(property: ManagedProperty<Value?>) -> Value? {
    get {
      guard let value = value(forKey: property.name) else { return nil }
      return value as? Value ?? unsuitable(value, property)
    }
    set { setValue(newValue, forKey: property.name) }
  }

  /// The same where there always is a value.
  @_disfavoredOverload
  public final subscript<Value>(property: ManagedProperty<Value>) -> Value {
    get {
      guard let value = value(forKey: property.name) else { missing(property) }
      return value as? Value ?? unsuitable(value, property)
    }
    set { setValue(newValue, forKey: property.name) }
  }

  private final func relatedObject<Object: NSManagedObject>(_ property: ManagedPropertyKey) -> Object? {
    guard let object = related(property.slot(in: layout, .toOne)) else { return nil }
    return object as? Object ?? unsuitable(object, property)
  }

  fileprivate final func unsuitable<Value>(_ value: Any, _ property: ManagedPropertyKey) -> Value {
    fatalError(
      "\(layout.name).\(property.name) holds a \(type(of: value)), and its accessor is of the type \(Value.self).")
  }

  @usableFromInline
  final func missing(_ property: ManagedPropertyKey) -> Never {
    fatalError("\(layout.name).\(property.name) is nil, and its accessor's type is not optional.")
  }
}

// MARK: Numbers

extension Int64: ManagedValue {
  /// The attribute's value, or nil.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Int64? {
    object.read(property, .integer, Int64.self)
  }
  /// Sets the attribute; nil for no value.
  public static func write(_ value: Int64?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .integer, value)
  }
  /// Zero.
  public static var valueOfNil: Int64? { 0 }
}

extension Int32: ManagedValue {
  /// The attribute's value, or nil.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Int32? {
    object.read(property, .integer, Int64.self).map { Int32(truncatingIfNeeded: $0) }
  }
  /// Sets the attribute; nil for no value.
  public static func write(_ value: Int32?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .integer, value.map { Int64($0) })
  }
  /// Zero.
  public static var valueOfNil: Int32? { 0 }
}

extension Int16: ManagedValue {
  /// The attribute's value, or nil.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Int16? {
    object.read(property, .integer, Int64.self).map { Int16(truncatingIfNeeded: $0) }
  }
  /// Sets the attribute; nil for no value.
  public static func write(_ value: Int16?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .integer, value.map { Int64($0) })
  }
  /// Zero.
  public static var valueOfNil: Int16? { 0 }
}

extension Int: ManagedValue {
  /// The attribute's value, or nil.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Int? {
    object.read(property, .integer, Int64.self).map { Int($0) }
  }
  /// Sets the attribute; nil for no value.
  public static func write(_ value: Int?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .integer, value.map { Int64($0) })
  }
  /// Zero.
  public static var valueOfNil: Int? { 0 }
}

extension Bool: ManagedValue {
  /// The attribute's value, or nil.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Bool? {
    object.read(property, .boolean, Int64.self).map { $0 != 0 }
  }
  /// Sets the attribute; nil for no value.
  public static func write(_ value: Bool?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .boolean, value.map { $0 ? 1 : 0 as Int64 })
  }
  /// False.
  public static var valueOfNil: Bool? { false }
}

extension Double: ManagedValue {
  /// The attribute's value, or nil.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Double? {
    object.read(property, .double, Double.self)
  }
  /// Sets the attribute; nil for no value.
  public static func write(_ value: Double?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .double, value)
  }
  /// Zero.
  public static var valueOfNil: Double? { 0 }
}

extension Float: ManagedValue {
  /// The attribute's value, or nil.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Float? {
    object.read(property, .float, Double.self).map { Float($0) }
  }
  /// Sets the attribute; nil for no value.
  public static func write(_ value: Float?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .float, value.map { Double($0) })
  }
  /// Zero.
  public static var valueOfNil: Float? { 0 }
}

// MARK: Text, data, dates

extension String: ManagedValue {
  /// The attribute's value, or nil.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> String? {
    object.read(property, .string, String.self)
  }
  /// Sets the attribute; nil for no value.
  public static func write(_ value: String?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .string, value)
  }
  /// An empty string.
  public static var valueOfNil: String? { "" }
}

extension Data: ManagedValue {
  /// The attribute's value, or nil.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Data? {
    object.read(property, .data, Data.self)
  }
  /// Sets the attribute; nil for no value.
  public static func write(_ value: Data?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .data, value)
  }
  /// Empty data.
  public static var valueOfNil: Data? { Data() }
}

extension Date: ManagedValue {
  /// The attribute's value, or nil.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Date? {
    object.read(property, .date, Double.self).map(Date.init(timeIntervalSinceReferenceDate:))
  }
  /// Sets the attribute; nil for no value.
  public static func write(_ value: Date?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .date, value?.timeIntervalSinceReferenceDate)
  }
}

// MARK: Values in boxes

/// A type whose values do not lie in their slot.
private protocol BoxedManagedValue: ManagedValue {}

extension BoxedManagedValue {
  /// The attribute's value, or nil.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Self? {
    guard let value = object.read(property, .boxed, Boxed.self)?.value else { return nil }
    return value as? Self ?? object.unsuitable(value, property)
  }
  /// Sets the attribute; nil for no value.
  public static func write(_ value: Self?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .boxed, value.map { Boxed($0) })
  }
}

extension UUID: BoxedManagedValue {}
extension URL: BoxedManagedValue {}

extension Decimal: ManagedValue {
  /// The attribute's value, or nil.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Decimal? {
    (object.read(property, .boxed, Boxed.self)?.value as? NSDecimalNumber)?.decimalValue
  }
  /// Sets the attribute; nil for no value.
  public static func write(_ value: Decimal?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .boxed, value.map { Boxed(NSDecimalNumber(decimal: $0)) })
  }
  /// Zero.
  public static var valueOfNil: Decimal? { 0 }
}
