/// A type of an attribute's accessors. It reads and writes the object's slot without a look-up by name and without
/// boxing in `Any`. Accessors may have its optional type too.
///
/// The types that conform: `Bool`, `Int`, `Int16`, `Int32`, `Int64`, `Float`, `Double`, `Decimal`, `String`, `Data`,
/// `Date`, `UUID`, `URL`. An accessor's type need not be the attribute's own: any number type reads any number
/// attribute, `Date` and `Double` read each other's attributes. An accessor whose type cannot hold the value traps with
/// a message that names the property and both types.
///
/// ```swift
/// final class Person: NSManagedObject {
///   static let ageProperty = ManagedProperty<Int16>("age")
///   static let bornProperty = ManagedProperty<Date?>("born")
///   var age: Int16 { get { self[Person.ageProperty] } set { self[Person.ageProperty] = newValue } }
///   var born: Date? { get { self[Person.bornProperty] } set { self[Person.bornProperty] = newValue } }
/// }
/// ```
///
/// A program need not conform types of its own to it: `@ManagedAttribute` stores enumerations and structures by their
/// raw values.
///
/// Not part of Apple's API, where accessors are made at run time.
public protocol ManagedValue {
  /// The value of the property; nil for no value. Called on the context's queue.
  ///
  /// A getter of a generated class calls it through `NSManagedObject`'s subscript. It fires a fault.
  ///
  /// - Returns: nil where the slot holds none. The caller then takes `valueOfNil` if its type is not optional.
  static func read(_ property: ManagedPropertyKey, of object: NSManagedObject) -> Self?
  /// Sets the attribute; nil for no value.
  ///
  /// It sets the slot, marks the object as updated and tells key-value observers, and does not validate: the next save
  /// does.
  static func write(_ value: Self?, to property: ManagedPropertyKey, of object: NSManagedObject)
  /// The result of reading nil through a type that is not optional: zero, false or empty, as on Apple's platforms. Nil
  /// if the type has no such value; reading traps then.
  static var valueOfNil: Self? { get }
}

extension ManagedValue {
  /// Nil: reading nil through an accessor that is not optional traps.
  public static var valueOfNil: Self? { nil }
}

/// Typed access, on the context's queue only, like `value(forKey:)`.
///
/// Generated accessors call these subscripts. The compiler picks the overload by the property's type, so nothing is
/// decided at run time:
///
/// ```text
/// ManagedProperty<Int64>, <String?>, …   ManagedValue: one read of the slot
/// ManagedProperty<Author?>, <Author>     to-one: one look-up of the object by key
/// ManagedProperty<NSSet?>, <[X]?>, …     the rest, by name and through `Any`
/// ```
extension NSManagedObject {
  /// The value of an attribute that is not optional. Reading a nil gives `valueOfNil`, and traps if there is none.
  ///
  /// ```swift
  /// let pagesProperty = ManagedProperty<Int>("pages")
  /// book[pagesProperty] += 1
  /// ```
  ///
  /// It costs about what a stored property of a class does once the object has its values; a fault is filled first.
  /// Setting it marks the object as updated, even for an equal value. Observers are told; validation waits for the
  /// save.
  @inlinable
  public final subscript<Value: ManagedValue>(property: ManagedProperty<Value>) -> Value {
    get {
      if let value = Value.read(property, of: self) ?? Value.valueOfNil { return value }
      missing(property)
    }
    set { Value.write(newValue, to: property, of: self) }
  }

  /// The value of an attribute whose accessor is optional; nil for no value.
  ///
  /// ```swift
  /// let titleProperty = ManagedProperty<String?>("title")
  /// book[titleProperty] = nil
  /// print(book[titleProperty] == nil)  // true
  /// ```
  ///
  /// Setting nil in a mandatory attribute is allowed here; the save throws 1570.
  @inlinable
  public final subscript<Value: ManagedValue>(property: ManagedProperty<Value?>) -> Value? {
    get { Value.read(property, of: self) }
    set { Value.write(newValue, to: property, of: self) }
  }

  /// The object at the other end of a to-one relationship, or nil. Setting it sets the inverse relationship too.
  ///
  /// ```swift
  /// let authorProperty = ManagedProperty<Author?>("author")
  /// book[authorProperty] = author
  /// print(author.books?.contains(book) ?? false)  // true
  /// ```
  ///
  /// The result may be a fault, which is filled when it is used. Traps if the other object is of another class than
  /// `Object`, and when an object of another context is set.
  public final subscript<Object: NSManagedObject>(property: ManagedProperty<Object?>) -> Object? {
    get { relatedObject(property) }
    set { setRelated(newValue, slot: property.slot(in: layout, .toOne)) }
  }

  /// The object at the other end of a mandatory to-one relationship. Traps if there is none.
  ///
  /// A store may lack the object although the relationship is mandatory: a row that another program has written, or a
  /// delete rule "No Action". Declare the accessor optional where that can happen.
  public final subscript<Object: NSManagedObject>(property: ManagedProperty<Object>) -> Object {
    get {
      if let object: Object = relatedObject(property) { return object }
      missing(property)
    }
    set { setRelated(newValue, slot: property.slot(in: layout, .toOne)) }
  }

  /// Any other property, by name like `value(forKey:)`: to-many relationships (`NSSet?`, `NSOrderedSet?`, `Set<X>`),
  /// fetched properties (`[X]?`), transformable values and `NSNumber`. Traps if the value has another type.
  ///
  /// It costs a look-up by name and, for numbers, a box. A to-many relationship is read as a set of this moment.
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

  /// The class is checked at each reading, because the model names the class by text: a program whose class does not
  /// match gets a message, not undefined behaviour.
  private final func relatedObject<Object: NSManagedObject>(_ property: ManagedPropertyKey) -> Object? {
    guard let object = related(property.slot(in: layout, .toOne)) else { return nil }
    return object as? Object ?? unsuitable(object, property)
  }

  /// Accessors that read a value by name or an object trap here if it is of another type, all with the same message.
  /// Decimal attributes are kept as `NSDecimalNumber`, and an accessor of that type reads other numbers as
  /// well.
  fileprivate final func unsuitable<Value>(_ value: Any, _ property: ManagedPropertyKey) -> Value {
    // Any number may be read as a decimal one.
    if let number = value as? NSNumber, let decimal = NSDecimalNumber(decimal: number.decimalValue) as? Value {
      return decimal
    }
    fatalError(
      "\(layout.name).\(property.name) holds a \(type(of: value)), and its accessor is of the type \(Value.self).")
  }

  /// Part of the interface for inlining (`@usableFromInline`): the subscript is compiled into the program, and the
  /// message stays here.
  @usableFromInline
  final func missing(_ property: ManagedPropertyKey) -> Never {
    fatalError("\(layout.name).\(property.name) is nil, and its accessor's type is not optional.")
  }
}

// MARK: Numbers

/// The type of Integer 64 attributes, and the form in which every integer and Boolean attribute is kept: no conversion
/// either way. Of a floating-point or decimal attribute it reads the integer part, by key-value coding.
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

/// The type that Xcode and the plugin give to Integer 32 attributes. Writing cannot be out of range for an attribute of
/// this width; for an Integer 16 attribute the next save checks it (1610, 1620).
extension Int32: ManagedValue {
  /// The value of an integer or Boolean attribute; nil for no value. A number outside the type's range, such as one of
  /// a wider attribute, reads as the nearest that fits.
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

/// The type that Xcode and the plugin give to Integer 16 attributes. Reading a wider attribute gives 32767 for all
/// larger numbers, so take a type that is as wide as the attribute.
extension Int16: ManagedValue {
  /// The value of an integer or Boolean attribute; nil for no value. A number outside the type's range, such as one of
  /// a wider attribute, reads as the nearest that fits.
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

/// For accessors written by hand: any integer attribute, without conversions at the call. A value that the attribute's
/// width does not hold is set, and refused by the next save (1610 or 1620).
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

/// Kept as 0 or 1, in SQLite too. Over an integer attribute it writes 0 and 1, whatever the number was before.
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

/// The form in which Double, Float and Date attributes are kept: the numbers of a date are seconds since 2001-01-01
/// 00:00 UTC.
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

/// A Float attribute's value is kept as the equal Double, so a Double accessor over it reads exactly the Float.
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

/// A text that a row brought is kept as UTF-8 bytes and made a `String` at each of the first two readings; from then on
/// the object keeps it (`ReadTexts`). Setting keeps the `String` itself.
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

/// With "Allows External Storage" the bytes of a large value lie in a file of their own, which is read with the row.
/// Setting keeps the `Data` itself, without a copy of its bytes.
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

/// It has no value of nil: an accessor of the type `Date` traps where the attribute has none, while `Date?` reads nil.
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
///
/// UUID and URI attributes: reading is a load of a reference and a cast, setting makes a box.
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

/// Exact to 38 digits in memory. A Decimal attribute is kept as an `NSDecimalNumber`; an accessor over another numeric
/// attribute converts.
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
