/// Called by the generated bodies of `@NSManaged` declarations, besides `ManagedProperty`.
extension NSManagedObject {
  /// The name of the relationship that a method such as `addToX` means. It usually begins with a small letter, but need
  /// not. Generated code calls it.
  public final func relationshipKey(_ name: String) -> String {
    if layout.locations[name] != nil { return name }
    let capital = name.prefix(1).uppercased() + name.dropFirst()
    return layout.locations[capital] == nil ? name : capital
  }

  /// The primitive value of `key`, for a property named `primitiveX`; or the attribute of exactly that name, if the
  /// entity has one.
  public final subscript<Value>(primitive key: String, type: Value?.Type) -> Value? {
    get { typedPrimitive(key) }
    set { setPrimitiveValue(newValue, forKey: primitiveKey(key)) }
  }

  /// The same for a type that is not optional. Traps if there is no value.
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

  private final func primitiveKey(_ key: String) -> String {
    let capital = key.prefix(1).uppercased() + key.dropFirst()
    return ["primitive" + capital, key, capital].first { layout.locations[$0] != nil } ?? key
  }
}
