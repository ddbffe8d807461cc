/// Validation before a save, by the model's rules for each property.
///
/// How `NSManagedObjectContext.validate()` validates one object:
///
/// ```text
/// SaveHooks of the entity say no         nothing is called
/// validateForInsert / validateForUpdate  an override, which calls super
///   └ validateProperties
///       ├ class validates values         validateByClass: validateValue for each property
///       │     └ validateAgainstModel, then the class's validateNAME(_:)
///       └ else                           only layout.validatedSlots
///             ├ isPlainlyValid           the bytes in the slot show it: no value is made
///             └ validateAgainstModel     presence, width, predicates
/// validateForDelete                      validateDenyRules
/// ```
///
/// Errors are collected, not thrown at the first: the save reports all of them in one 1560.
extension NSManagedObject {
  /// A fault among the changed objects has changes of to-many relationships only; its row is not read for validation.
  final func validateProperties() throws {
    var errors: [any Error] = []
    // Values that were never read are those of the store, which were valid when they were saved.
    let isUnread = snapshot == nil && state.isDisjoint(with: [.unborn, .inserted])
    let values = isUnread ? nil : access()
    if layout.classValidatesValues {
      validateByClass(values, &errors)
    } else if let values {
      for checked in layout.validatedSlots {
        let slot = checked.slot
        if checked.isPlainlyValid(in: values) { continue }
        if isUnsetTransient(slot, values) { continue }
        let description = layout.slots[slot]
        let value = description.kind == .toOne ? related(slot) : values.value(slot)
        do { try validateAgainstModel(value, key: description.name) } catch { errors.append(error) }
      }
    }
    for index in layout.validatedToManys {
      do { try validateMembers(index) } catch { errors.append(error) }
    }
    if let error = CoreDataErrors.combined(errors) { throw error }
  }

  /// Whether a transient attribute is nil since the object was fetched: no row has its value.
  ///
  /// A mandatory transient attribute would else make every save of a fetched object fail until something has set it.
  private func isUnsetTransient(_ slot: Int, _ values: Snapshot) -> Bool {
    layout.slots[slot].isTransient && !isInserted && values.isNil(slot) && committed?.isNil(slot) ?? true
  }

  /// Asks the class about each property that may have become invalid: all of a new object, and those of a changed one
  /// that changed or have rules in the model.
  ///
  /// A property without a rule in the model is passed to the class too, if it changed: the class's override may have
  /// rules of its own.
  private func validateByClass(_ values: Snapshot?, _ errors: inout [any Error]) {
    func validate(_ value: Any?, _ key: String) {
      var checked = value
      do { try validateValue(&checked, forKey: key) } catch { errors.append(error) }
    }
    if let values {
      for (slot, description) in layout.slots.enumerated() {
        let isChanged = isInserted || committed.map { !$0.isEqual(values, slot: slot) } ?? false
        guard isChanged || description.needsValidation, !isUnsetTransient(slot, values) else { continue }
        validate(description.kind == .toOne ? related(slot) : values.value(slot), description.name)
      }
    }
    for (index, relationship) in layout.toManys.enumerated() {
      guard isInserted || toManys.indices.contains(index) && toManys[index]?.hasChanges == true else { continue }
      validate(toMany(index).asCollection, relationship.name)
    }
  }

  /// One property's value against its description: presence, then its predicates.
  ///
  /// Called by `validateValue(_:forKey:)`, so by programs too. To-many relationships have no slot: `validateMembers`
  /// checks them.
  final func validateAgainstModel(_ value: Any?, key: String) throws {
    guard case .slot(let slot) = layout.locations[key] else { return }
    try validate(value, layout.slots[slot].property, key: key)
  }

  /// The same as `validateValue(_:forKey:)` with any value, in the form that it has on Apple's platforms.
  ///
  /// Methods `validateNAME(_:)` with Apple's signature may call it; other code uses the form with `inout Any?`.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   func validateText(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>) throws {
  ///     if (value.pointee as? String ?? "").isEmpty { throw CocoaError(.validationStringTooShort) }
  ///   }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - value: points to the value; numbers as `NSNumber`, nil for none.
  ///   - key: a property of the entity.
  /// - Throws: as `validateValue(_:forKey:)` with `inout Any?`.
  ///
  /// Source: Apple's documentation of `validateValue(_:forKey:)`.
  public final func validateValue(
    _ value: AutoreleasingUnsafeMutablePointer<AnyObject?>, forKey key: String
  ) throws {
    var checked: Any? = value.pointee
    try validateValue(&checked, forKey: key)
    if let object = checked.map({ $0 as AnyObject }), object !== value.pointee { value.pointee = object }
    if checked == nil { value.pointee = nil }
  }

  /// Calls the class's method for one property.
  ///
  /// The methods are found through the generated key path table, since Linux has no selectors to look them up by. A
  /// value that the method puts in place goes back to the caller, and is not stored.
  final func validateByMethod(_ value: inout Any?, key: String) throws {
    guard let method = layout.validations[key] else { return }
    var object = value.map { $0 as AnyObject }
    let given = object
    try method(self, &object)
    if object !== given { value = object }
  }

  /// The store computes a derived value, so a mandatory one may be absent here.
  private func validate(_ value: Any?, _ property: NSPropertyDescription, key: String) throws {
    guard let value else {
      // A new object has no derived value yet, and a changed one may not have read it since the store computed it.
      if property.isOptional || !isInserted && property is NSDerivedAttributeDescription { return }
      throw validationError(.validationMissingMandatoryProperty, key: key, value: nil)
    }
    try validate(value, against: property, key: key)
  }

  /// The width comes before the predicates, because a number that does not fit would be stored as another one. A
  /// predicate's warning may be a number, which is the error's code, or a text, which is its description; a model from
  /// the editor has numbers such as 1610.
  private func validate(_ value: Any, against property: NSPropertyDescription, key: String) throws {
    if let attribute = property as? NSAttributeDescription, attribute.integerRange != nil,
      let number = AttributeValue.integer(value), let code = attribute.attributeType.widthError(number)
    {
      throw validationError(
        code, key: key, value: value,
        message: "\(layout.name).\(key): \(attribute.attributeType.widthExplanation(code))")
    }
    for (index, predicate) in property.validationPredicates.enumerated() where !predicate.evaluate(with: value) {
      let warning = property.validationWarnings.indices.contains(index) ? property.validationWarnings[index] : nil
      let code = (warning as? NSNumber)?.intValue ?? CocoaError.Code.managedObjectValidation.rawValue
      throw validationError(
        CocoaError.Code(rawValue: code), key: key, value: value, predicate: predicate,
        message: warning as? String)
    }
    if let composite = property as? NSCompositeAttributeDescription, let elements = value as? [String: Any] {
      try validate(elements, of: composite, key: key)
    }
  }

  /// Validates the elements of a composite attribute that has a value, each under its key path.
  ///
  /// Elements are optional or not by themselves, whatever the composite is: an absent composite has no elements to
  /// check.
  private func validate(_ values: [String: Any], of composite: NSCompositeAttributeDescription, key: String) throws {
    var errors: [any Error] = []
    for element in composite.elements where element.hasRules || element.isNarrow {
      do {
        try validate(values[element.name], element, key: "\(key).\(element.name)")
      } catch { errors.append(error) }
    }
    if let error = CoreDataErrors.combined(errors) { throw error }
  }

  /// Members that are deleted do not count: the save removes them.
  private func validateMembers(_ index: Int) throws {
    let relationship = layout.toManys[index]
    // Members that were never read and not changed are those of the store, which were valid when they were saved.
    guard isInserted || toManys.indices.contains(index) && toManys[index]?.hasChanges == true else { return }
    let count = toMany(index).members?.items.lazy.filter { !$0.isDeleted }.count ?? 0
    // A mandatory to-many relationship may be empty, unless it has a minimum; an optional one may be empty even then.
    let minimum = relationship.isOptional && count == 0 ? 0 : relationship.minCount
    if count < minimum {
      throw validationError(
        count == 0 && !relationship.isOptional
          ? .validationMissingMandatoryProperty : .validationRelationshipLacksMinimumCount,
        key: relationship.name, value: nil)
    }
    if relationship.maxCount > 0 && count > relationship.maxCount {
      throw validationError(.validationRelationshipExceedsMaximumCount, key: relationship.name, value: nil)
    }
    if !relationship.validationPredicates.isEmpty {
      try validate(toMany(index).asCollection, against: relationship, key: relationship.name)
    }
  }

  /// An object with a Deny rule can be deleted only if the relationship has no objects left.
  ///
  /// Called after delete rules of other objects are applied (`propagateDeletes()`): an object whose last member is
  /// deleted in the same save may go.
  final func validateDenyRules() throws {
    var errors: [any Error] = []
    for slot in layout.toOneSlots where layout.slots[slot].relationship?.deleteRule == .denyDeleteRule {
      if let other = related(slot), !other.isDeleted {
        errors.append(validationError(.validationRelationshipDeniedDelete, key: layout.slots[slot].name, value: nil))
      }
    }
    for (index, relationship) in layout.toManys.enumerated() where relationship.deleteRule == .denyDeleteRule {
      if toMany(index).members?.items.contains(where: { !$0.isDeleted }) == true {
        errors.append(validationError(.validationRelationshipDeniedDelete, key: relationship.name, value: nil))
      }
    }
    if let error = CoreDataErrors.combined(errors) { throw error }
  }

  /// The object in the user info lets a form find the field; the description names entity and property, and never the
  /// value.
  private func validationError(
    _ code: CocoaError.Code, key: String, value: Any?, predicate: NSPredicate? = nil, message: String? = nil
  ) -> NSError {
    var info: [String: Any] = [
      NSValidationObjectErrorKey: self, NSValidationKeyErrorKey: key,
      NSLocalizedDescriptionKey: message ?? "\(layout.name).\(key): \(CoreDataErrors.explanation(code))",
    ]
    if let value { info[NSValidationValueErrorKey] = value }
    if let predicate { info[NSValidationPredicateErrorKey] = predicate }
    return NSError(domain: NSCocoaErrorDomain, code: code.rawValue, userInfo: info)
  }
}
