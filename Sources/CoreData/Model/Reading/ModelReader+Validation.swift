extension ModelReader {
  /// Turns an attribute's minimum, maximum and pattern into validation predicates, as the model compiler does; the
  /// warnings are the error codes of a value that fails.
  func readValidation(
    _ node: ModelNode, into attribute: NSAttributeDescription, _ entityName: String
  ) throws(ManagedObjectModelError) {
    var rules: [(predicate: NSPredicate, code: CocoaErrorCode)] = []
    func add(_ key: String, _ format: String, _ argument: Any, _ code: CocoaErrorCode) throws(ManagedObjectModelError) {
      do {
        rules.append((try NSPredicate.parse(format: format, arguments: [argument]), code))
      } catch {
        throw self.error(entityName, node.attributes["name"], "has the \(key) \"\(argument)\", which cannot be used")
      }
    }
    let type = attribute.attributeType
    if let length = try limit("minValueString", of: node, if: type == .stringAttributeType, entityName) {
      try add("minimum length", "length >= %@", length, .validationStringTooShort)
    }
    if let length = try limit("maxValueString", of: node, if: type == .stringAttributeType, entityName) {
      try add("maximum length", "length <= %@", length, .validationStringTooLong)
    }
    if let minimum = try limit("minValueString", of: node, if: type.isNumber, entityName) {
      try add("minimum", "SELF >= %@", minimum, .validationNumberTooSmall)
    }
    if let maximum = try limit("maxValueString", of: node, if: type.isNumber, entityName) {
      try add("maximum", "SELF <= %@", maximum, .validationNumberTooLarge)
    }
    if let interval = try limit("minDateTimeInterval", of: node, if: type == .dateAttributeType, entityName) {
      let date = Date(timeIntervalSinceReferenceDate: interval.doubleValue)
      try add("earliest date", "SELF >= %@", date, .validationDateTooSoon)
    }
    if let interval = try limit("maxDateTimeInterval", of: node, if: type == .dateAttributeType, entityName) {
      let date = Date(timeIntervalSinceReferenceDate: interval.doubleValue)
      try add("latest date", "SELF <= %@", date, .validationDateTooLate)
    }
    if type == .stringAttributeType, let pattern = node.attributes["regularExpressionString"] {
      guard (try? NSRegularExpression(pattern: pattern)) != nil else {
        throw error(
          entityName, node.attributes["name"], "has the pattern \"\(pattern)\", which is no regular expression")
      }
      try add("pattern", "SELF MATCHES %@", pattern, .validationStringPatternMatching)
    }
    attribute.setValidationPredicates(
      rules.map(\.predicate), withValidationWarnings: rules.map { NSNumber(value: $0.code.rawValue) })
  }

  private func limit(
    _ key: String, of node: ModelNode, if applies: Bool, _ entityName: String
  ) throws(ManagedObjectModelError) -> NSNumber? {
    guard applies, let text = node.attributes[key] else { return nil }
    guard let number = Decimal(string: text) else {
      throw error(entityName, node.attributes["name"], "has the \(key) \"\(text)\", which is no number")
    }
    return NSDecimalNumber(decimal: number)
  }

  /// An expression in a model file.
  func expression(
    _ text: String, _ entityName: String, _ propertyName: String?
  ) throws(ManagedObjectModelError) -> NSExpression {
    do {
      return try NSExpression.parse(format: text)
    } catch {
      throw self.error(entityName, propertyName, "has the expression \"\(text)\", which cannot be read: \(error)")
    }
  }

  /// A predicate in a model file.
  func predicate(
    _ text: String, _ entityName: String?, _ name: String
  ) throws(ManagedObjectModelError) -> NSPredicate {
    do {
      return try NSPredicate.parse(format: text)
    } catch {
      throw self.error(entityName, "has in \(name) the predicate \"\(text)\", which cannot be read: \(error)")
    }
  }
}

extension NSAttributeType {
  fileprivate var isNumber: Bool {
    switch self {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .decimalAttributeType,
      .doubleAttributeType, .floatAttributeType:
      true
    default: false
    }
  }
}
