extension CoreDataErrors {
  /// What is wrong with a value, for the description of a validation error ("Book.title: a value is required").
  ///
  /// Most codes come from validation itself. A model's validation predicates may name any number: those of Core Data's
  /// validation have their text here, and the default is for a program's own.
  static func explanation(_ code: CocoaError.Code) -> String {
    switch code {
    case .managedObjectValidation: "the value is not valid"
    case .managedObjectConstraintValidation: "a uniqueness constraint is violated"
    case .validationMultipleErrors: "several values are not valid"
    case .validationMissingMandatoryProperty: "a value is required"
    case .validationRelationshipLacksMinimumCount: "there are too few related objects"
    case .validationRelationshipExceedsMaximumCount: "there are too many related objects"
    case .validationRelationshipDeniedDelete: "the object cannot be deleted while it has related objects"
    case .validationNumberTooLarge: "the number is too large"
    case .validationNumberTooSmall: "the number is too small"
    case .validationDateTooLate: "the date is too late"
    case .validationDateTooSoon: "the date is too soon"
    case .validationInvalidDate: "the date is not valid"
    case .validationStringTooLong: "the text is too long"
    case .validationStringTooShort: "the text is too short"
    case .validationStringPatternMatching: "the text does not match the pattern"
    case .validationInvalidURI: "the URI is not valid"
    default: "Core Data error \(code.rawValue)"
    }
  }
}
