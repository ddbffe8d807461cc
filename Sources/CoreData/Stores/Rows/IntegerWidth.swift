/// The width of Integer 16 and Integer 32 attributes.
///
/// No value is cut to the width. A number that does not fit stays what it is in objects, predicates and key-value
/// coding, and is refused before it reaches a store, with 1610 or 1620, as a number beyond the model's limits is. So it
/// has one value everywhere.
///
/// ```text
/// rating (Integer 16) = 70,000    the object has 70,000; save and validateForUpdate throw 1610
///                                 a batch update throws 1610, and writes nothing
/// a file that has 70,000          read as it is: another program has written it
/// ```
extension NSAttributeType {
  /// The numbers that fit, for types with fewer bits than `Int64`; nil for others.
  package var integerRange: ClosedRange<Int64>? {
    switch self {
    case .integer16AttributeType: Int64(Int16.min)...Int64(Int16.max)
    case .integer32AttributeType: Int64(Int32.min)...Int64(Int32.max)
    default: nil
    }
  }

  /// The error of a number that does not fit; nil if it fits, or if the type has no such limits.
  func widthError(_ number: Int64) -> CocoaError.Code? {
    guard let range = integerRange, !range.contains(number) else { return nil }
    return number > range.upperBound ? .validationNumberTooLarge : .validationNumberTooSmall
  }

  /// What is wrong with a number that does not fit.
  func widthExplanation(_ code: CocoaError.Code) -> String {
    let width = self == .integer16AttributeType ? 16 : 32
    return "\(CoreDataErrors.explanation(code)) for an attribute of the type Integer \(width)"
  }
}

extension NSAttributeDescription {
  /// The numbers that the attribute may hold, if its type limits them. A derived value comes from the store, whatever
  /// it is.
  var integerRange: ClosedRange<Int64>? {
    self is NSDerivedAttributeDescription ? nil : attributeType.integerRange
  }

  /// Throws 1610 or 1620 for a number that does not fit, in a composite attribute's elements too. For writes that
  /// bypass the validation of objects.
  ///
  /// - Parameter path: the names of the entity, the attribute and its elements.
  package func checkWidth(_ value: Any, _ path: String) throws {
    if let composite = self as? NSCompositeAttributeDescription, let values = value as? [String: Any] {
      for element in composite.elements where element.isNarrow {
        if let value = values[element.name] { try element.checkWidth(value, "\(path).\(element.name)") }
      }
    } else if isNarrow, let number = AttributeValue.integer(value), let code = attributeType.widthError(number) {
      throw CoreDataErrors.error(
        code, "\(path): \(attributeType.widthExplanation(code)).", [NSValidationKeyErrorKey: name])
    }
  }
}
