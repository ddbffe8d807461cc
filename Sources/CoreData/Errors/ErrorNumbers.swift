// The numbers of Core Data's errors under their older names. `CocoaError.Code` says when each of them is raised.

/// The number of `CocoaError.Code.managedObjectValidation`: a value breaks a rule of the model.
public let NSManagedObjectValidationError = 1550
/// The number of `CocoaError.Code.managedObjectConstraintValidation`: a uniqueness constraint is violated.
public let NSManagedObjectConstraintValidationError = 1551
/// The number of `CocoaError.Code.validationMultipleErrors`: several values break rules of the model.
public let NSValidationMultipleErrorsError = 1560
/// The number of `CocoaError.Code.validationMissingMandatoryProperty`: a mandatory property has no value.
public let NSValidationMissingMandatoryPropertyError = 1570
/// The number of `CocoaError.Code.validationRelationshipLacksMinimumCount`: a to-many relationship has fewer members
/// than its minimum.
public let NSValidationRelationshipLacksMinimumCountError = 1580
/// The number of `CocoaError.Code.validationRelationshipExceedsMaximumCount`: a to-many relationship has more members
/// than its maximum.
public let NSValidationRelationshipExceedsMaximumCountError = 1590
/// The number of `CocoaError.Code.validationRelationshipDeniedDelete`: a Deny rule forbids a deletion.
public let NSValidationRelationshipDeniedDeleteError = 1600
/// The number of `CocoaError.Code.validationNumberTooLarge`: a number is above its maximum.
public let NSValidationNumberTooLargeError = 1610
/// The number of `CocoaError.Code.validationNumberTooSmall`: a number is below its minimum.
public let NSValidationNumberTooSmallError = 1620
/// The number of `CocoaError.Code.validationDateTooLate`: a date is after the latest one allowed.
public let NSValidationDateTooLateError = 1630
/// The number of `CocoaError.Code.validationDateTooSoon`: a date is before the earliest one allowed.
public let NSValidationDateTooSoonError = 1640
/// The number of `CocoaError.Code.validationInvalidDate`: a date is not valid.
public let NSValidationInvalidDateError = 1650
/// The number of `CocoaError.Code.validationStringTooLong`: a string is longer than its maximum.
public let NSValidationStringTooLongError = 1660
/// The number of `CocoaError.Code.validationStringTooShort`: a string is shorter than its minimum.
public let NSValidationStringTooShortError = 1670
/// The number of `CocoaError.Code.validationStringPatternMatching`: a string does not match its pattern.
public let NSValidationStringPatternMatchingError = 1680
/// The number of `CocoaError.Code.validationInvalidURI`: a URI is not valid.
public let NSValidationInvalidURIError = 1690
/// The number of `CocoaError.Code.managedObjectContextLocking`: a context could not be locked.
public let NSManagedObjectContextLockingError = 132000
/// The number of `CocoaError.Code.persistentStoreCoordinatorLocking`: a coordinator could not be locked.
public let NSPersistentStoreCoordinatorLockingError = 132010
/// The number of `CocoaError.Code.managedObjectReferentialIntegrity`: an object has no row in its store.
public let NSManagedObjectReferentialIntegrityError = 133000
/// The number of `CocoaError.Code.managedObjectExternalRelationship`: a relationship leads to another store.
public let NSManagedObjectExternalRelationshipError = 133010
/// The number of `CocoaError.Code.managedObjectMerge`: an object was changed in its store since the context read it.
public let NSManagedObjectMergeError = 133020
/// The number of `CocoaError.Code.managedObjectConstraintMerge`: two objects have the same unique values.
public let NSManagedObjectConstraintMergeError = 133021
/// The number of `CocoaError.Code.persistentStoreInvalidType`: no class is registered for a store type.
public let NSPersistentStoreInvalidTypeError = 134000
/// The number of `CocoaError.Code.persistentStoreTypeMismatch`: a file is not of the store type that was asked for.
public let NSPersistentStoreTypeMismatchError = 134010
/// The number of `CocoaError.Code.persistentStoreIncompatibleSchema`: a file's tables do not fit the model.
public let NSPersistentStoreIncompatibleSchemaError = 134020
/// The number of `CocoaError.Code.persistentStoreSave`: a store cannot take the changes.
public let NSPersistentStoreSaveError = 134030
/// The number of `CocoaError.Code.persistentStoreIncompleteSave`: only some of several stores were saved.
public let NSPersistentStoreIncompleteSaveError = 134040
/// The number of `CocoaError.Code.persistentStoreSaveConflicts`: conflicts kept objects from being saved.
public let NSPersistentStoreSaveConflictsError = 134050
/// The number of `CocoaError.Code.coreData`: a general failure of Core Data.
public let NSCoreDataError = 134060
/// The number of `CocoaError.Code.persistentStoreOperation`: a request or an operation is not possible as it was asked.
public let NSPersistentStoreOperationError = 134070
/// The number of `CocoaError.Code.persistentStoreOpen`: a store could not be opened.
public let NSPersistentStoreOpenError = 134080
/// The number of `CocoaError.Code.persistentStoreTimeout`: another connection kept the store locked.
public let NSPersistentStoreTimeoutError = 134090
/// The number of `CocoaError.Code.persistentStoreUnsupportedRequestType`: a store does not support a kind of request.
public let NSPersistentStoreUnsupportedRequestTypeError = 134091
/// The number of `CocoaError.Code.persistentStoreIncompatibleVersionHash`: the model is not the one that a store was
/// made with.
public let NSPersistentStoreIncompatibleVersionHashError = 134100
/// The number of `CocoaError.Code.migration`: a store could not be migrated.
public let NSMigrationError = 134110
/// The number of `CocoaError.Code.migrationConstraintViolation`: migrated objects violate a new uniqueness constraint.
public let NSMigrationConstraintViolationError = 134111
/// The number of `CocoaError.Code.migrationCancelled`: a migration was cancelled.
public let NSMigrationCancelledError = 134120
/// The number of `CocoaError.Code.migrationMissingSourceModel`: the model that a store was made with was not found.
public let NSMigrationMissingSourceModelError = 134130
/// The number of `CocoaError.Code.migrationMissingMappingModel`: no mapping model leads from the old model to the new
/// one.
public let NSMigrationMissingMappingModelError = 134140
/// The number of `CocoaError.Code.migrationManagerSourceStore`: the store to be migrated cannot be opened.
public let NSMigrationManagerSourceStoreError = 134150
/// The number of `CocoaError.Code.migrationManagerDestinationStore`: the migrated store cannot be written.
public let NSMigrationManagerDestinationStoreError = 134160
/// The number of `CocoaError.Code.entityMigrationPolicy`: a migration policy failed.
public let NSEntityMigrationPolicyError = 134170
/// The number of `CocoaError.Code.sqlite`: SQLite failed in a way that no other code describes.
public let NSSQLiteError = 134180
/// The number of `CocoaError.Code.inferredMappingModel`: no mapping can be inferred between two models.
public let NSInferredMappingModelError = 134190
/// The number of `CocoaError.Code.externalRecordImport`: an external record could not be imported.
public let NSExternalRecordImportError = 134200
/// The number of `CocoaError.Code.persistentHistoryTokenExpired`: the history after a token was deleted.
public let NSPersistentHistoryTokenExpiredError = 134301
/// The number of `CocoaError.Code.managedObjectModelReferenceNotFound`: the model of a migration stage was not found.
public let NSManagedObjectModelReferenceNotFoundError = 134504
/// The number of `CocoaError.Code.stagedMigrationFrameworkVersionMismatch`: a store was written by a newer framework
/// than the stages know.
public let NSStagedMigrationFrameworkVersionMismatchError = 134505
/// The number of `CocoaError.Code.stagedMigrationBackwardMigration`: migration stages lead back to an earlier model.
public let NSStagedMigrationBackwardMigrationError = 134506
