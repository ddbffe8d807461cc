/// Core Data's error codes in `NSCocoaErrorDomain`. The numbers are Apple's.
///
/// Source: CoreDataErrors.h of Apple's SDK, as its documentation lists them.
public enum CocoaErrorCode: Int, Sendable {
  case managedObjectValidation = 1550
  case managedObjectConstraintValidation = 1551
  case validationMultipleErrors = 1560
  case managedObjectValidationMissingRequired = 1570
  case validationRelationshipLacksMinimumCount = 1580
  case validationRelationshipExceedsMaximumCount = 1590
  case validationRelationshipDeniedDelete = 1600
  case validationNumberTooLarge = 1610
  case validationNumberTooSmall = 1620
  case validationDateTooLate = 1630
  case validationDateTooSoon = 1640
  case validationInvalidDate = 1650
  case validationStringTooLong = 1660
  case validationStringTooShort = 1670
  case validationStringPatternMatching = 1680
  case validationInvalidURI = 1690
  case managedObjectReferentialIntegrity = 133000
  case managedObjectExternalRelationship = 133010
  case managedObjectMerge = 133020
  case managedObjectConstraintMerge = 133021
  case persistentStoreInvalidType = 134000
  case persistentStoreTypeMismatch = 134010
  case persistentStoreIncompatibleSchema = 134020
  case persistentStoreSave = 134030
  case persistentStoreIncompleteSave = 134040
  case persistentStoreSaveConflicts = 134050
  case coreData = 134060
  case persistentStoreOperation = 134070
  case persistentStoreOpen = 134080
  case persistentStoreTimeout = 134090
  case persistentStoreUnsupportedRequestType = 134091
  case persistentStoreIncompatibleVersionHash = 134100
  case migration = 134110
  case sqlite = 134180

  /// What the code means, for an error's description.
  var explanation: String {
    switch self {
    case .managedObjectValidation: "the value is not valid"
    case .managedObjectConstraintValidation: "a uniqueness constraint is violated"
    case .validationMultipleErrors: "several values are not valid"
    case .managedObjectValidationMissingRequired: "a value is required"
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
    case .managedObjectReferentialIntegrity: "the object has no row in the store"
    case .managedObjectExternalRelationship: "the relationship leads to another store"
    case .managedObjectMerge: "the object was changed in the store since it was read"
    case .managedObjectConstraintMerge: "an object with the same unique values exists"
    case .persistentStoreInvalidType: "there is no store type of this name"
    case .persistentStoreTypeMismatch: "the file is not of the store type"
    case .persistentStoreIncompatibleSchema: "the file's tables do not fit the model"
    case .persistentStoreSave: "the store could not be saved"
    case .persistentStoreIncompleteSave: "some stores could not be saved"
    case .persistentStoreSaveConflicts: "objects could not be saved because of conflicts"
    case .coreData: "Core Data error"
    case .persistentStoreOperation: "the operation is not possible"
    case .persistentStoreOpen: "the store could not be opened"
    case .persistentStoreTimeout: "another process has the store locked"
    case .persistentStoreUnsupportedRequestType: "the store does not know this kind of request"
    case .persistentStoreIncompatibleVersionHash: "the model is not the one that the store was made with"
    case .migration: "the store could not be migrated"
    case .sqlite: "SQLite error"
    }
  }
}

// MARK: Keys of user info

public let NSDetailedErrorsKey = "NSDetailedErrors"
public let NSValidationObjectErrorKey = "NSValidationErrorObject"
public let NSValidationKeyErrorKey = "NSValidationErrorKey"
public let NSValidationPredicateErrorKey = "NSValidationErrorPredicate"
public let NSValidationValueErrorKey = "NSValidationErrorValue"
public let NSAffectedStoresErrorKey = "NSAffectedStoresErrorKey"
public let NSAffectedObjectsErrorKey = "NSAffectedObjectsErrorKey"
public let NSPersistentStoreSaveConflictsErrorKey = "conflictList"
/// The domain of raw SQLite result codes, as an underlying error or a key of user info.
public let NSSQLiteErrorDomain = "NSSQLiteErrorDomain"
