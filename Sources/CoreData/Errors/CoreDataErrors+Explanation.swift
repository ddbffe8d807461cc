extension CoreDataErrors {
  /// The meaning of a code: for the errors of validation, and the description of an error that has no message of its
  /// own.
  ///
  /// The texts begin in lower case, since validation puts them behind the name of the property ("Book.title: a value is
  /// required"); `error(_:_:_:)` makes a sentence of them. The default is for numbers that are none of Core Data's,
  /// such as a program's own warning of a validation predicate.
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
    case .managedObjectContextLocking: "the context could not be locked"
    case .persistentStoreCoordinatorLocking: "the coordinator could not be locked"
    case .migrationConstraintViolation: "the migrated objects violate a uniqueness constraint"
    case .migrationCancelled: "the migration was cancelled"
    case .migrationMissingSourceModel: "the model that the store was made with was not found"
    case .migrationMissingMappingModel: "no mapping model leads from the store's model to this one"
    case .migrationManagerSourceStore: "the store to be migrated could not be read"
    case .migrationManagerDestinationStore: "the migrated store could not be written"
    case .entityMigrationPolicy: "an entity could not be migrated"
    case .inferredMappingModel: "no mapping between the two models can be inferred"
    case .externalRecordImport: "an external record could not be imported"
    case .persistentHistoryTokenExpired: "the history after this token was deleted"
    case .managedObjectModelReferenceNotFound: "the model of a migration stage was not found"
    case .stagedMigrationFrameworkVersionMismatch: "the store was written by a newer framework than the stages know"
    case .stagedMigrationBackwardMigration: "the stages lead back to an earlier model"
    default: "Core Data error \(code.rawValue)"
    }
  }
}
