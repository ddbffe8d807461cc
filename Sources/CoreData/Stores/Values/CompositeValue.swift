/// Values of composite attributes: dictionaries by element name, nested for composite elements. Nil elements have no
/// key, and a composite without any value is nil, as in the store.
///
/// ```text
/// set                                    kept
/// ["city": "Bath", "zip": NSNull()]      ["city": "Bath"]
/// [:]                                    nil
/// ["street": "x"], an unknown element    refused: the process traps, as with any wrong type
/// "Bath"                                 refused
/// ```
package enum CompositeValue {
  /// The dictionary in the attribute's form. Nil if the value is not a dictionary, has an unknown key, or a value that
  /// the element cannot hold.
  package static func converted(_ value: Any, _ composite: NSCompositeAttributeDescription) -> [String: Any]? {
    guard let given = value as? [String: Any] else { return nil }
    var elements: [String: Any] = [:]
    for (name, value) in given {
      guard let element = composite.element(name) else { return nil }
      guard let value = KeyValueReading.unwrapped(value) else { continue }
      guard let converted = AttributeValue.converted(value, element) else { return nil }
      if element.attributeType == .compositeAttributeType, (converted as? [String: Any])?.isEmpty == true { continue }
      elements[name] = converted
    }
    return elements
  }

  /// The element at a path.
  static func value(at path: ArraySlice<String>, in elements: [String: Any]) -> Any? {
    guard let name = path.first, let value = elements[name] else { return nil }
    let remainingPath = path.dropFirst()
    return remainingPath.isEmpty ? value : (value as? [String: Any]).flatMap { self.value(at: remainingPath, in: $0) }
  }

  /// Sets the element at a path, creating the dictionaries on the way.
  package static func set(_ value: Any?, at path: ArraySlice<String>, in elements: inout [String: Any]) {
    guard let name = path.first else { return }
    let remainingPath = path.dropFirst()
    if remainingPath.isEmpty {
      elements[name] = value
    } else {
      var inner = elements[name] as? [String: Any] ?? [:]
      set(value, at: remainingPath, in: &inner)
      elements[name] = inner
    }
  }

  static func isEqual(_ left: Any?, _ right: Any?) -> Bool {
    switch (left, right) {
    case (nil, nil): true
    case (let left as [String: Any], let right as [String: Any]):
      left.count == right.count && left.allSatisfy { name, value in isEqual(value, right[name]) }
    // By their bytes, as the texts of other attributes: `String.areEqual`.
    case (let left as String, let right as String): StringMatching.isIdentical(left, right)
    case (let left?, let right?): SameValues.ofSingle(left, right)
    default: false
    }
  }
}
