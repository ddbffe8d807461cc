extension ModelReader {
  /// Turns an attribute's minimum, maximum and pattern into validation predicates, as Xcode's model compiler does. The
  /// warnings are the error codes for values that do not match.
  ///
  /// ```text
  /// String, minimum 1            length >= 1                 1670
  /// String, maximum 80           length <= 80                1660    in UTF-16 units
  /// String, pattern [A-Z]+       SELF MATCHES "[A-Z]+"       1680    the whole text
  /// Integer, Double, Decimal     SELF >= 0, SELF <= 100      1620, 1610
  /// Date                         SELF >= CAST(…, "NSDate")   1640, 1630    seconds since 2001 in the file
  /// ```
  ///
  /// The predicates are evaluated with the value as `SELF`, and not for nil. A program can read them from
  /// `validationPredicates`, for example to show the limits in a form.
  func readValidation(
    _ element: ModelAttribute, into attribute: NSAttributeDescription, _ entityName: String
  ) throws(ManagedObjectModelError) {
    var rules: [(predicate: NSPredicate, code: CocoaError.Code)] = []
    @inline(never)
    func add(_ key: String, format: String, argument: Any, code: CocoaError.Code) throws(ManagedObjectModelError) {
      do {
        rules.append((try NSPredicate.parse(format: format, arguments: [argument]), code))
      } catch {
        throw document.error(
          element.node, entity: entityName, property: element.node.attributes["name"],
          "has the \(key) \"\(argument)\", which cannot be used")
      }
    }
    func number(_ limit: Decimal) -> NSNumber { NSDecimalNumber(decimal: limit) }
    func date(_ limit: Decimal) -> Date { Date(timeIntervalSinceReferenceDate: number(limit).doubleValue) }

    switch element.type {
    case .stringAttributeType:
      if let minimum = element.minimum {
        try add("minimum length", format: "length >= %@", argument: number(minimum), code: .validationStringTooShort)
      }
      if let maximum = element.maximum {
        try add("maximum length", format: "length <= %@", argument: number(maximum), code: .validationStringTooLong)
      }
    case .dateAttributeType:
      if let minimum = element.minimum {
        try add("earliest date", format: "SELF >= %@", argument: date(minimum), code: .validationDateTooSoon)
      }
      if let maximum = element.maximum {
        try add("latest date", format: "SELF <= %@", argument: date(maximum), code: .validationDateTooLate)
      }
    default:
      if let minimum = element.minimum {
        try add("minimum", format: "SELF >= %@", argument: number(minimum), code: .validationNumberTooSmall)
      }
      if let maximum = element.maximum {
        try add("maximum", format: "SELF <= %@", argument: number(maximum), code: .validationNumberTooLarge)
      }
    }
    if let pattern = element.pattern {
      try add("pattern", format: "SELF MATCHES %@", argument: pattern, code: .validationStringPatternMatching)
    }
    attribute.setValidationPredicates(
      rules.map(\.predicate), withValidationWarnings: rules.map { NSNumber(value: $0.code.rawValue) })
  }

  /// An expression in a model file.
  ///
  /// - Parameters:
  ///   - text: the format, such as "books.@count".
  ///   - node: where it stands, for the error's line.
  ///   - propertyName: the property or index that has it, for the error.
  func expression(
    _ text: String, at node: ModelNode, entity entityName: String, property propertyName: String?
  ) throws(ManagedObjectModelError) -> NSExpression {
    do {
      return try NSExpression.parse(format: text)
    } catch {
      throw document.error(
        node, entity: entityName, property: propertyName,
        "has the expression \"\(text)\", which cannot be read: \(error)")
    }
  }

  /// A predicate in a model file.
  ///
  /// - Parameter name: what has the predicate, as a part of the error's sentence: "the fetch index byTitle".
  func predicate(
    _ text: String, at node: ModelNode, entity entityName: String?, in name: String
  ) throws(ManagedObjectModelError) -> NSPredicate {
    do {
      return try NSPredicate.parse(format: text)
    } catch {
      throw document.error(
        node, entity: entityName, "has in \(name) the predicate \"\(text)\", which cannot be read: \(error)")
    }
  }
}
