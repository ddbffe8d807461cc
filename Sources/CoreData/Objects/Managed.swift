/// A property of a managed object for what `@NSManaged` cannot declare: values that are kept as their raw values, and
/// types that the build plugin cannot name.
///
///     enum Kind: Int16 { case plain, starred }
///
///     final class Note: NSManagedObject {
///       @Managed("kind", default: .plain) var kind: Kind
///     }
///
/// Reads and writes by name, as `value(forKey:)` and `setValue(_:forKey:)` do, and costs as much.
@propertyWrapper
public struct Managed<Value> {
  private let key: String
  private let fallback: Value?
  /// The value for what the object holds; nil where there is none.
  private let decode: (Any) -> Value?
  private let encode: (Value) -> Any?

  /// A property that keeps a raw value in the attribute `key`. Where the attribute is nil, or holds a raw value that
  /// stands for nothing, `default` is read, and without it the program ends.
  public init(_ key: String, default fallback: Value? = nil) where Value: RawRepresentable {
    self.key = key
    self.fallback = fallback
    decode = { ($0 as? Value.RawValue).flatMap(Value.init(rawValue:)) }
    encode = { $0.rawValue }
  }

  /// The same where nil, and a raw value that stands for nothing, are read as nil.
  public init<Wrapped: RawRepresentable>(_ key: String) where Value == Wrapped? {
    self.key = key
    fallback = .some(nil)
    decode = { ($0 as? Wrapped.RawValue).flatMap(Wrapped.init(rawValue:)) }
    encode = { $0?.rawValue }
  }

  /// A property of any type that may be nil.
  public init<Wrapped>(_ key: String) where Value == Wrapped? {
    self.key = key
    fallback = .some(nil)
    decode = { $0 as? Wrapped }
    encode = { $0 }
  }

  /// A property of any other type. Where the attribute is nil `default` is read, and without it the program ends.
  @_disfavoredOverload
  public init(_ key: String, default fallback: Value? = nil) {
    self.key = key
    self.fallback = fallback
    decode = { $0 as? Value }
    encode = { $0 }
  }

  /// Never used: the subscript below gets and sets the value.
  @available(*, unavailable, message: "@Managed is for properties of NSManagedObject's subclasses")
  public var wrappedValue: Value {
    get { fatalError("@Managed is for properties of NSManagedObject's subclasses.") }
    set { fatalError("@Managed is for properties of NSManagedObject's subclasses.") }
  }

  /// The value, read from and written to the object that has the property. Reading traps where the attribute holds no
  /// value of the type and there is no default.
  public static subscript<Object: NSManagedObject>(
    _enclosingInstance object: Object, wrapped wrapped: ReferenceWritableKeyPath<Object, Value>,
    storage storage: ReferenceWritableKeyPath<Object, Managed<Value>>
  ) -> Value {
    get {
      let property = object[keyPath: storage]
      if let value = object.value(forKey: property.key).flatMap(property.decode) ?? property.fallback { return value }
      fatalError(
        "\(object.layout.name).\(property.key) holds nothing that is a \(Value.self), and there is no default.")
    }
    set {
      let property = object[keyPath: storage]
      object.setValue(property.encode(newValue), forKey: property.key)
    }
  }
}
