/// A type of an attribute's accessors. It reads and writes the object's slot without a look-up by name and without
/// boxing in `Any`. Accessors may have its optional type too.
public protocol ManagedValue {
  /// The value of the property; nil for no value. Called on the context's queue.
  static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Self?
  /// Sets the attribute; nil for no value.
  static func write(_ value: Self?, to property: ManagedPropertyKey, of object: NSManagedObject)
  /// The result of reading nil through a type that is not optional: zero, false or empty, as on Apple's platforms. Nil
  /// if the type has no such value; reading traps then.
  static var valueOfNil: Self? { get }
}

extension ManagedValue {
  /// nil: reading a nil ends the program where the accessor is not optional.
  public static var valueOfNil: Self? { nil }
}

/// Typed access, on the context's queue only, like `value(forKey:)`.
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

  /// The value of an attribute whose accessor is optional; nil for no value.
  @inlinable
  public final subscript<Value: ManagedValue>(property: ManagedProperty<Value?>) -> Value? {
    get { Value.read(property, of: self) }
    set { Value.write(newValue, to: property, of: self) }
  }

  /// The object at the other end of a to-one relationship, or nil. Setting it sets the inverse relationship too.
  public final subscript<Object: NSManagedObject>(property: ManagedProperty<Object?>) -> Object? {
    get { relatedObject(property) }
    set { setRelated(newValue, slot: property.slot(in: layout, .toOne)) }
  }

  /// The object at the other end of a mandatory to-one relationship. Traps if there is none.
  public final subscript<Object: NSManagedObject>(property: ManagedProperty<Object>) -> Object {
    get {
      if let object: Object = relatedObject(property) { return object }
      missing(property)
    }
    set { setRelated(newValue, slot: property.slot(in: layout, .toOne)) }
  }

  /// Any other property, by name like `value(forKey:)`: to-many relationships (`NSSet?`, `NSOrderedSet?`, `Set<X>`),
  /// fetched properties (`[X]?`), transformable values and `NSNumber`. Traps if the value has another type.
  @_disfavoredOverload
  public final subscript<Value>(property: ManagedProperty<Value?>) -> Value? {
    get {
      guard let value = propertyValue(forKey: property.name) else { return nil }
      return value as? Value ?? unsuitable(value, property)
    }
    set { setPropertyValue(newValue, forKey: property.name) }
  }

  /// The same for a type that is not optional. Traps if there is no value.
  @_disfavoredOverload
  public final subscript<Value>(property: ManagedProperty<Value>) -> Value {
    get {
      guard let value = propertyValue(forKey: property.name) else { missing(property) }
      return value as? Value ?? unsuitable(value, property)
    }
    set { setPropertyValue(newValue, forKey: property.name) }
  }

  private final func relatedObject<Object: NSManagedObject>(_ property: ManagedPropertyKey) -> Object? {
    guard let object = related(property.slot(in: layout, .toOne)) else { return nil }
    return object as? Object ?? unsuitable(object, property)
  }

  fileprivate final func unsuitable<Value>(_ value: Any, _ property: ManagedPropertyKey) -> Value {
    // Any number may be read as a decimal one.
    if let number = value as? NSNumber, let decimal = NSDecimalNumber(decimal: number.decimalValue) as? Value {
      return decimal
    }
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
  /// The value of an integer or Boolean attribute; nil for no value.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Int64? {
    object.read(property, .integer, Int64.self)
  }
  /// Writes the attribute and marks the object as updated.
  public static func write(_ value: Int64?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .integer, value)
  }
  /// Zero.
  public static var valueOfNil: Int64? { 0 }
}

extension Int32: ManagedValue {
  /// The value of an integer or Boolean attribute; nil for no value. Of a number that another program has written, and
  /// that does not fit, the nearest one: validation lets none in.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Int32? {
    object.read(property, .integer, Int64.self).map { Int32(clamping: $0) }
  }
  /// Writes the attribute and marks the object as updated.
  public static func write(_ value: Int32?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .integer, value.map { Int64($0) })
  }
  /// Zero.
  public static var valueOfNil: Int32? { 0 }
}

extension Int16: ManagedValue {
  /// The value of an integer or Boolean attribute; nil for no value. Of a number that another program has written, and
  /// that does not fit, the nearest one: validation lets none in.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Int16? {
    object.read(property, .integer, Int64.self).map { Int16(clamping: $0) }
  }
  /// Writes the attribute and marks the object as updated.
  public static func write(_ value: Int16?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .integer, value.map { Int64($0) })
  }
  /// Zero.
  public static var valueOfNil: Int16? { 0 }
}

extension Int: ManagedValue {
  /// The value of an integer or Boolean attribute; nil for no value.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Int? {
    object.read(property, .integer, Int64.self).map { Int($0) }
  }
  /// Writes the attribute and marks the object as updated.
  public static func write(_ value: Int?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .integer, value.map { Int64($0) })
  }
  /// Zero.
  public static var valueOfNil: Int? { 0 }
}

extension Bool: ManagedValue {
  /// The value of a Boolean or integer attribute; any number but 0 is true; nil for no value.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Bool? {
    object.read(property, .boolean, Int64.self).map { $0 != 0 }
  }
  /// Writes the attribute and marks the object as updated.
  public static func write(_ value: Bool?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .boolean, value.map { $0 ? 1 : 0 as Int64 })
  }
  /// False.
  public static var valueOfNil: Bool? { false }
}

extension Double: ManagedValue {
  /// The value of a floating-point or date attribute; a date gives its seconds since 2001; nil for no value.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Double? {
    object.read(property, .double, Double.self)
  }
  /// Writes the attribute and marks the object as updated.
  public static func write(_ value: Double?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .double, value)
  }
  /// Zero.
  public static var valueOfNil: Double? { 0 }
}

extension Float: ManagedValue {
  /// The value of a floating-point or date attribute, rounded to 32 bits; nil for no value.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Float? {
    object.read(property, .float, Double.self).map { Float($0) }
  }
  /// Writes the attribute and marks the object as updated.
  public static func write(_ value: Float?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .float, value.map { Double($0) })
  }
  /// Zero.
  public static var valueOfNil: Float? { 0 }
}

// MARK: Text, data, dates

extension String: ManagedValue {
  /// The value of a string attribute; nil for no value.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> String? {
    object.readText(property)
  }
  /// Writes the attribute and marks the object as updated.
  public static func write(_ value: String?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .string, value)
  }
  /// The empty string.
  public static var valueOfNil: String? { "" }
}

extension Data: ManagedValue {
  /// The value of a binary data attribute; nil for no value.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Data? {
    object.read(property, .data, Data.self)
  }
  /// Writes the attribute and marks the object as updated.
  public static func write(_ value: Data?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .data, value)
  }
  /// Empty data.
  public static var valueOfNil: Data? { Data() }
}

extension Date: ManagedValue {
  /// The value of a date or floating-point attribute; nil for no value.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Date? {
    object.read(property, .date, Double.self).map(Date.init(timeIntervalSinceReferenceDate:))
  }
  /// Writes the attribute and marks the object as updated.
  public static func write(_ value: Date?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .date, value?.timeIntervalSinceReferenceDate)
  }
}

// MARK: Values in boxes

/// A type whose values are in boxes, to which the slot points.
private protocol BoxedManagedValue: ManagedValue {}

extension BoxedManagedValue {
  /// The value of an attribute of this type; nil for no value. Traps if the attribute holds another type.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Self? {
    guard let value = object.read(property, .boxed, Boxed.self)?.value else { return nil }
    return value as? Self ?? object.unsuitable(value, property)
  }
  /// Writes the attribute and marks the object as updated.
  public static func write(_ value: Self?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .boxed, value.map { Boxed($0) })
  }
}

extension UUID: BoxedManagedValue {}
extension URL: BoxedManagedValue {}

extension Decimal: ManagedValue {
  /// The value of a decimal attribute, or of another numeric one; nil for no value.
  public static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Decimal? {
    (object.read(property, .boxed, Boxed.self)?.value as? NSNumber)?.decimalValue
  }
  /// Writes the attribute and marks the object as updated.
  public static func write(_ value: Decimal?, to property: ManagedPropertyKey, of object: NSManagedObject) {
    object.write(property, .boxed, value.map { Boxed(NSDecimalNumber(decimal: $0)) })
  }
  /// Zero.
  public static var valueOfNil: Decimal? { 0 }
}
