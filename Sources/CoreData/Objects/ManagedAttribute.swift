/// A property of a managed object that `@NSManaged` cannot declare: enumerations and structures stored by their raw
/// values, and types that the build plugin cannot resolve.
///
/// ```swift
/// enum Kind: Int16 { case plain, starred }
///
/// final class Note: NSManagedObject {
///   @ManagedAttribute("kind", default: .plain) var kind: Kind
/// }
/// ```
///
/// It reads and writes like `value(forKey:)` and `setValue(_:forKey:)`, at the same cost, and so on the context's queue
/// only. It is an addition to Apple's API.
///
/// Take it for types that the model does not know: an enumeration with raw values, a structure that is stored as `Data`
/// or text by its raw value. Properties of attribute types belong into generated classes or `@NSManaged`, whose
/// accessors need no look-up by name.
///
/// What happens otherwise: a raw value that a newer version of the program has stored reads as the default, and setting
/// the property overwrites it.
@propertyWrapper
public struct ManagedAttribute<Value> {
  private let key: String
  private let fallback: Value?
  /// The property's value for an attribute's value; nil if there is none.
  ///
  /// The two closures are made where the type is known to be `RawRepresentable`; the subscript only knows `Value`.
  private let decode: (Any) -> Value?
  private let encode: (Value) -> Any?

  /// A property that stores a raw value in the attribute `key`. If the attribute is nil or has an unknown raw value,
  /// reading gives `default`; without a default it traps.
  ///
  /// ```swift
  /// enum Priority: Int16 { case low, high }
  ///
  /// final class Todo: NSManagedObject {
  ///   @ManagedAttribute("priority", default: .low) var priority: Priority
  /// }
  /// ```
  ///
  /// The model's attribute has the type of the raw value, here Integer 16. Predicates compare raw values:
  /// `NSPredicate(format: "priority == %d", Priority.high.rawValue)`.
  ///
  /// - Parameters:
  ///   - key: the attribute's name. The first access traps if the entity has none of that name.
  ///   - fallback: the value for nil and for unknown raw values; it is never written by itself.
  public init(_ key: String, default fallback: Value? = nil) where Value: RawRepresentable {
    self.key = key
    self.fallback = fallback
    decode = { ($0 as? Value.RawValue).flatMap(Value.init(rawValue:)) }
    encode = { $0.rawValue }
  }

  /// An optional property that stores a raw value. Nil and unknown raw values read as nil.
  ///
  /// ```swift
  /// enum Grade: String { case good, poor }
  ///
  /// final class Note: NSManagedObject {
  ///   @ManagedAttribute("grade") var grade: Grade?
  /// }
  /// ```
  ///
  /// Setting nil stores nil, which a property with a default cannot.
  public init<Wrapped: RawRepresentable>(_ key: String) where Value == Wrapped? {
    self.key = key
    fallback = .some(nil)
    decode = { ($0 as? Wrapped.RawValue).flatMap(Wrapped.init(rawValue:)) }
    encode = { $0?.rawValue }
  }

  /// An optional property of any type. A value of another type reads as nil.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   @ManagedAttribute("text") var text: String?
  /// }
  /// ```
  ///
  /// Numbers convert as `as?` does: an `Int` property over a Double attribute reads nil for 1.5.
  public init<Wrapped>(_ key: String) where Value == Wrapped? {
    self.key = key
    fallback = .some(nil)
    decode = { $0 as? Wrapped }
    encode = { $0 }
  }

  /// A property of any other type. If the attribute is nil, reading gives `default`; without a default it traps.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   @ManagedAttribute("stars", default: 0) var stars: Int
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - key: the attribute's name. The first access traps if the entity has none of that name.
  ///   - fallback: the value for nil, never written by itself. Predicates and sort descriptors see the nil.
  @_disfavoredOverload
  public init(_ key: String, default fallback: Value? = nil) {
    self.key = key
    self.fallback = fallback
    decode = { $0 as? Value }
    encode = { $0 }
  }

  /// Never used: the subscript below gets and sets the value.
  @available(*, unavailable, message: "@ManagedAttribute is for properties of NSManagedObject's subclasses")
  public var wrappedValue: Value {
    get { fatalError("@ManagedAttribute is for properties of NSManagedObject's subclasses.") }
    set { fatalError("@ManagedAttribute is for properties of NSManagedObject's subclasses.") }
  }

  /// The value, read from and written to the object that has the property. Reading traps where the attribute holds no
  /// value of the type and there is no default.
  ///
  /// Swift calls it for `object.property`, with the key paths of the property and of its wrapper (Swift Evolution
  /// SE-0258, "Referencing the enclosing 'self' in a wrapper type"). Setting marks the object as updated and tells
  /// observers of the attribute's name.
  public static subscript<Object: NSManagedObject>(
    _enclosingInstance object: Object, wrapped wrapped: ReferenceWritableKeyPath<Object, Value>,
    storage storage: ReferenceWritableKeyPath<Object, ManagedAttribute<Value>>
  ) -> Value {
    get {
      let property = object[keyPath: storage]
      if let value = object.propertyValue(forKey: property.key).flatMap(property.decode) ?? property.fallback {
        return value
      }
      fatalError(
        "\(object.layout.name).\(property.key) holds nothing that is a \(Value.self), and there is no default.")
    }
    set {
      let property = object[keyPath: storage]
      object.setPropertyValue(property.encode(newValue), forKey: property.key)
    }
  }
}

extension NSManagedObject {
  /// The former name, for one version. It is declared in the class because programs have types of their own with this
  /// name.
  @available(*, deprecated, renamed: "ManagedAttribute")
  public typealias Managed<Value> = ManagedAttribute<Value>
}
