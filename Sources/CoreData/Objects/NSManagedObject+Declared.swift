/// Called by the generated bodies of `@NSManaged` declarations, besides `ManagedProperty`.
extension NSManagedObject {
  /// The name of the relationship that a method such as `addToX` means. It usually begins with a small letter, but need
  /// not. Generated code calls it.
  ///
  /// The plugin sees `addToBooks` and not the model's spelling: `books`, or `Books` if the model has it so. A name that
  /// the entity lacks comes back as it is, and the call that uses it traps with the entity's properties.
  ///
  /// - Parameter name: the method's suffix with its first letter in lower case.
  public final func relationshipKey(_ name: String) -> String {
    if layout.locations[name] != nil { return name }
    let capital = name.prefix(1).uppercased() + name.dropFirst()
    return layout.locations[capital] == nil ? name : capital
  }

  /// The primitive value of `key`, for a property named `primitiveX`; or the attribute of exactly that name, if the
  /// entity has one.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   var primitiveText: String? {
  ///     get { self[primitive: "text", String?.self] }
  ///     set { self[primitive: "text", String?.self] = newValue }
  ///   }
  /// }
  /// ```
  ///
  /// Generated for `@NSManaged var primitiveText: String?`. It reads and writes as `primitiveValue(forKey:)` and
  /// `setPrimitiveValue(_:forKey:)` do: no fault is fired and no observer told. Traps if the value is of another type.
  public final subscript<Value>(primitive key: String, type: Value?.Type) -> Value? {
    get { typedPrimitive(key) }
    set { setPrimitiveValue(newValue, forKey: primitiveKey(key)) }
  }

  /// The same for a type that is not optional. Traps if there is no value.
  ///
  /// A nil reads as the type's zero, false or empty value, where it has one. Not part of Apple's API, where the
  /// accessor is made at run time.
  public final subscript<Value>(primitive key: String, type: Value.Type) -> Value {
    get {
      if let value: Value = typedPrimitive(key) { return value }
      if let zero = (Value.self as? any ManagedValue.Type)?.valueOfNil as? Value { return zero }
      fatalError("\(layout.name).\(key) is nil, and its primitive accessor's type is not optional.")
    }
    set { setPrimitiveValue(newValue, forKey: primitiveKey(key)) }
  }

  private final func typedPrimitive<Value>(_ key: String) -> Value? {
    guard let value = primitiveValue(forKey: primitiveKey(key)) else { return nil }
    guard let typed = value as? Value else {
      fatalError(
        "\(layout.name).\(key) holds a \(type(of: value)), and its primitive accessor is of the type \(Value.self).")
    }
    return typed
  }

  /// The first that the entity has: an attribute that is itself named "primitiveText", then "text", then "Text".
  private final func primitiveKey(_ key: String) -> String {
    let capital = key.prefix(1).uppercased() + key.dropFirst()
    return ["primitive" + capital, key, capital].first { layout.locations[$0] != nil } ?? key
  }
}
