/// Core Data's errors under the names that Apple gives their codes, all in `NSCocoaErrorDomain`:
///
/// ```swift
/// do {
///   try context.save()
/// } catch let error as CocoaError where error.code == .managedObjectMerge {
///   context.rollback()
/// }
/// ```
///
/// Source: CoreDataErrors.h of Apple's SDK, as its documentation lists them.
extension CocoaError.Code {
  /// A value breaks a rule of the model. A save raises it for a validation predicate whose warning names no code of its
  /// own; the warning, where it is a text, is the description.
  public static let managedObjectValidation = CocoaError.Code(rawValue: NSManagedObjectValidationError)
  /// A uniqueness constraint is violated. Nothing here raises it: a violated constraint is
  /// `managedObjectConstraintMerge`.
  public static let managedObjectConstraintValidation = CocoaError.Code(
    rawValue: NSManagedObjectConstraintValidationError)
  /// Several values break rules of the model. A save raises it when validation finds more than one fault;
  /// `NSDetailedErrorsKey` lists them.
  public static let validationMultipleErrors = CocoaError.Code(rawValue: NSValidationMultipleErrorsError)
  /// A mandatory property has no value. A save raises it for an attribute or a to-one relationship that is nil and for
  /// a mandatory to-many relationship below its minimum that is empty; batch requests raise it as well.
  public static let validationMissingMandatoryProperty = CocoaError.Code(
    rawValue: NSValidationMissingMandatoryPropertyError)
  /// A to-many relationship has fewer members than its minimum. A save raises it; an optional relationship may be empty
  /// in spite of its minimum.
  public static let validationRelationshipLacksMinimumCount = CocoaError.Code(
    rawValue: NSValidationRelationshipLacksMinimumCountError)
  /// A to-many relationship has more members than its maximum. A save raises it for relationships whose `maxCount` is
  /// not 0.
  public static let validationRelationshipExceedsMaximumCount = CocoaError.Code(
    rawValue: NSValidationRelationshipExceedsMaximumCountError)
  /// A Deny rule forbids a deletion. A save or a batch deletion raises it while the relationship has objects that are
  /// not deleted too.
  public static let validationRelationshipDeniedDelete = CocoaError.Code(
    rawValue: NSValidationRelationshipDeniedDeleteError)
  /// A number is above its maximum. A save raises it for the maximum that a model file sets. A save and batch requests
  /// raise it for a number that is too large for an Integer 16 or Integer 32 attribute.
  public static let validationNumberTooLarge = CocoaError.Code(rawValue: NSValidationNumberTooLargeError)
  /// A number is below its minimum. A save raises it for the minimum that a model file sets. A save and batch requests
  /// raise it for a number that is too small for an Integer 16 or Integer 32 attribute.
  public static let validationNumberTooSmall = CocoaError.Code(rawValue: NSValidationNumberTooSmallError)
  /// A date is after the latest one allowed. A save raises it for the latest date that a model file sets.
  public static let validationDateTooLate = CocoaError.Code(rawValue: NSValidationDateTooLateError)
  /// A date is before the earliest one allowed. A save raises it for the earliest date that a model file sets.
  public static let validationDateTooSoon = CocoaError.Code(rawValue: NSValidationDateTooSoonError)
  /// A date is not valid. Nothing here raises it: every `Date` can be stored.
  public static let validationInvalidDate = CocoaError.Code(rawValue: NSValidationInvalidDateError)
  /// A string is longer than its maximum. A save raises it for the maximum length, in UTF-16 units, that a model file
  /// sets.
  public static let validationStringTooLong = CocoaError.Code(rawValue: NSValidationStringTooLongError)
  /// A string is shorter than its minimum. A save raises it for the minimum length, in UTF-16 units, that a model file
  /// sets.
  public static let validationStringTooShort = CocoaError.Code(rawValue: NSValidationStringTooShortError)
  /// A string does not match its pattern. A save raises it for the regular expression that a model file sets; the whole
  /// string has to match.
  public static let validationStringPatternMatching = CocoaError.Code(rawValue: NSValidationStringPatternMatchingError)
  /// A URI is not valid. Nothing here raises it: every `URL` can be stored.
  public static let validationInvalidURI = CocoaError.Code(rawValue: NSValidationInvalidURIError)
  /// A context could not be locked. Nothing here raises it: contexts have no lock that a caller could take.
  public static let managedObjectContextLocking = CocoaError.Code(rawValue: NSManagedObjectContextLockingError)
  /// A coordinator could not be locked. Nothing here raises it: coordinators have no lock that a caller could take.
  public static let persistentStoreCoordinatorLocking = CocoaError.Code(
    rawValue: NSPersistentStoreCoordinatorLockingError)
  /// An object has no row in its store. `existingObject(with:)` raises it, and the save of a child context whose object
  /// the parent has deleted; `NSAffectedObjectsErrorKey` has the object or its ID. A save at a server raises it when an
  /// object that it refers to was deleted meanwhile.
  public static let managedObjectReferentialIntegrity = CocoaError.Code(
    rawValue: NSManagedObjectReferentialIntegrityError)
  /// A relationship leads to another store. Nothing here raises it: a save refuses such a relationship with
  /// `persistentStoreSave`.
  public static let managedObjectExternalRelationship = CocoaError.Code(
    rawValue: NSManagedObjectExternalRelationshipError)
  /// An object was changed in its store since the context read it. A save raises it when the merge policy does not
  /// resolve the conflicts, which are under `NSPersistentStoreSaveConflictsErrorKey`.
  public static let managedObjectMerge = CocoaError.Code(rawValue: NSManagedObjectMergeError)
  /// Two objects have the same unique values. A save or a batch insertion raises it when the merge policy does not
  /// resolve the conflict, and SQLite's failures of constraints become it.
  public static let managedObjectConstraintMerge = CocoaError.Code(rawValue: NSManagedObjectConstraintMergeError)
  /// No class is registered for a store type. The coordinator's operations on store files raise it; the description
  /// names the types that can be opened.
  public static let persistentStoreInvalidType = CocoaError.Code(rawValue: NSPersistentStoreInvalidTypeError)
  /// A file is not of the store type that was asked for. Opening raises it for a file that is not an SQLite database, a
  /// binary or XML store that cannot be read as one, and an app's own store whose metadata names another type.
  public static let persistentStoreTypeMismatch = CocoaError.Code(rawValue: NSPersistentStoreTypeMismatchError)
  /// A file's tables do not fit the model. Opening raises it for an SQLite file that belongs to another program, for a
  /// damaged store or copy of its model, and for a model that the type of store cannot hold; writing raises it when the
  /// store's own tables lack a row.
  public static let persistentStoreIncompatibleSchema = CocoaError.Code(
    rawValue: NSPersistentStoreIncompatibleSchemaError)
  /// A store cannot take the changes. A save raises it for a store that is read-only or no longer open, an entity that
  /// no store holds, a relationship between stores, a context without a coordinator, and `willSave()` methods that
  /// never come to rest. Writing batch requests and deletions of history raise it for read-only stores.
  public static let persistentStoreSave = CocoaError.Code(rawValue: NSPersistentStoreSaveError)
  /// Only some of several stores were saved. A save raises it when a store has its part for good, such as an app's own
  /// store, and another one fails then; `NSAffectedStoresErrorKey` and `NSAffectedObjectsErrorKey` have what is not
  /// saved, and `NSUnderlyingErrorKey` the reason.
  public static let persistentStoreIncompleteSave = CocoaError.Code(rawValue: NSPersistentStoreIncompleteSaveError)
  /// Conflicts kept objects from being saved. Nothing here raises it: conflicts are `managedObjectMerge` and
  /// `managedObjectConstraintMerge`.
  public static let persistentStoreSaveConflicts = CocoaError.Code(rawValue: NSPersistentStoreSaveConflictsError)
  /// A general failure of Core Data. Only `NSFetchedResultsController.performFetch()` raises it: for a row out of the
  /// order of its sections, and for a request that was changed while a cache is in use.
  public static let coreData = CocoaError.Code(rawValue: NSCoreDataError)
  /// A request or an operation is not possible as it was asked. Fetches, batch requests, asynchronous fetches, query
  /// generations and the coordinator's operations on stores raise it; the description says what to change.
  public static let persistentStoreOperation = CocoaError.Code(rawValue: NSPersistentStoreOperationError)
  /// A store could not be opened. Opening raises it for a file that cannot be opened, holds no metadata of a store or
  /// is open already in this coordinator, and for an unknown configuration.
  public static let persistentStoreOpen = CocoaError.Code(rawValue: NSPersistentStoreOpenError)
  /// Another connection kept the store locked. Any access raises it when a lock lasted longer than the time limit of
  /// the store, `NSPersistentStoreTimeoutOption`.
  public static let persistentStoreTimeout = CocoaError.Code(rawValue: NSPersistentStoreTimeoutError)
  /// A store does not support a kind of request. Executing raises it for an unknown class of request, a batch request
  /// to a store that takes none, and a history request where no store keeps a history.
  public static let persistentStoreUnsupportedRequestType = CocoaError.Code(
    rawValue: NSPersistentStoreUnsupportedRequestTypeError)
  /// The model is not the one that a store was made with. Opening raises it when the version hashes differ and no
  /// migration was asked for, or the store is an app's own; the description names the entities that differ, and the
  /// store's metadata is under the key "metadata". A store at a server raises it when another program has migrated or
  /// replaced it.
  public static let persistentStoreIncompatibleVersionHash = CocoaError.Code(
    rawValue: NSPersistentStoreIncompatibleVersionHashError)
  /// A store could not be migrated. A migration raises it for failures of SQLite and of writing a file without a code
  /// of their own, for a binary or XML store that changed meanwhile, for a store in memory, and at a server for objects
  /// of others that it would drop.
  public static let migration = CocoaError.Code(rawValue: NSMigrationError)
  /// Migrated objects violate a new uniqueness constraint. A migration raises it; the file stays as it was.
  public static let migrationConstraintViolation = CocoaError.Code(rawValue: NSMigrationConstraintViolationError)
  /// A migration was cancelled. Nothing here raises it: a cancelled migration throws the error that
  /// `NSMigrationManager.cancelMigrationWithError(_:)` was given.
  public static let migrationCancelled = CocoaError.Code(rawValue: NSMigrationCancelledError)
  /// The model that a store was made with was not found. A migration raises it when neither the models in use nor those
  /// in the program's bundles have the hashes of the store.
  public static let migrationMissingSourceModel = CocoaError.Code(rawValue: NSMigrationMissingSourceModelError)
  /// No mapping model leads from the old model to the new one. Opening raises it when a migration is needed and
  /// `NSInferMappingModelAutomaticallyOption` is not set, and `NSMigrationManager` when it is given no mapping.
  public static let migrationMissingMappingModel = CocoaError.Code(rawValue: NSMigrationMissingMappingModelError)
  /// The store to be migrated cannot be opened. `NSMigrationManager` raises it.
  public static let migrationManagerSourceStore = CocoaError.Code(rawValue: NSMigrationManagerSourceStoreError)
  /// The migrated store cannot be written. `NSMigrationManager` raises it.
  public static let migrationManagerDestinationStore = CocoaError.Code(
    rawValue: NSMigrationManagerDestinationStoreError)
  /// An entity could not be migrated by its policy. A migration raises it when the program has no class of the policy's
  /// name, and when a mapping's expression calls a method that the policy or the migration manager does not have. What
  /// a policy throws itself is thrown as it is.
  public static let entityMigrationPolicy = CocoaError.Code(rawValue: NSEntityMigrationPolicyError)
  /// SQLite failed in a way that no other code describes. Any access to a store raises it; `NSSQLiteErrorDomain` has
  /// SQLite's code.
  public static let sqlite = CocoaError.Code(rawValue: NSSQLiteError)
  /// No mapping can be inferred between two models. A lightweight migration and
  /// `NSMappingModel.inferredMappingModel(forSourceModel:destinationModel:)` raise it; the description names the entity
  /// and the property.
  public static let inferredMappingModel = CocoaError.Code(rawValue: NSInferredMappingModelError)
  /// An external record could not be imported. Nothing here raises it: there are no external records.
  public static let externalRecordImport = CocoaError.Code(rawValue: NSExternalRecordImportError)
  /// The history after a token was deleted. A fetch of history raises it; fetch after nil to begin again.
  public static let persistentHistoryTokenExpired = CocoaError.Code(rawValue: NSPersistentHistoryTokenExpiredError)
  /// The model of a migration stage was not found. A staged migration raises it when a model reference leads to no
  /// model, or to one with another checksum.
  public static let managedObjectModelReferenceNotFound = CocoaError.Code(
    rawValue: NSManagedObjectModelReferenceNotFoundError)
  /// A store was written by a newer framework than the stages know. Nothing here raises it: stages depend on models
  /// only, not on a version of this framework.
  public static let stagedMigrationFrameworkVersionMismatch = CocoaError.Code(
    rawValue: NSStagedMigrationFrameworkVersionMismatchError)
  /// Migration stages lead back to an earlier model. A staged migration raises it when no stage begins at the version
  /// of the store.
  public static let stagedMigrationBackwardMigration = CocoaError.Code(
    rawValue: NSStagedMigrationBackwardMigrationError)
}

/// The same codes as constants of the error itself: `CocoaError.managedObjectMerge` is
/// `CocoaError.Code.managedObjectMerge`.
extension CocoaError {
  /// `Code.managedObjectValidation`: a value breaks a rule of the model.
  public static let managedObjectValidation = Code.managedObjectValidation
  /// `Code.managedObjectConstraintValidation`: a uniqueness constraint is violated.
  public static let managedObjectConstraintValidation = Code.managedObjectConstraintValidation
  /// `Code.validationMultipleErrors`: several values break rules of the model.
  public static let validationMultipleErrors = Code.validationMultipleErrors
  /// `Code.validationMissingMandatoryProperty`: a mandatory property has no value.
  public static let validationMissingMandatoryProperty = Code.validationMissingMandatoryProperty
  /// `Code.validationRelationshipLacksMinimumCount`: a to-many relationship has fewer members than its minimum.
  public static let validationRelationshipLacksMinimumCount = Code.validationRelationshipLacksMinimumCount
  /// `Code.validationRelationshipExceedsMaximumCount`: a to-many relationship has more members than its maximum.
  public static let validationRelationshipExceedsMaximumCount = Code.validationRelationshipExceedsMaximumCount
  /// `Code.validationRelationshipDeniedDelete`: a Deny rule forbids a deletion.
  public static let validationRelationshipDeniedDelete = Code.validationRelationshipDeniedDelete
  /// `Code.validationNumberTooLarge`: a number is above its maximum.
  public static let validationNumberTooLarge = Code.validationNumberTooLarge
  /// `Code.validationNumberTooSmall`: a number is below its minimum.
  public static let validationNumberTooSmall = Code.validationNumberTooSmall
  /// `Code.validationDateTooLate`: a date is after the latest one allowed.
  public static let validationDateTooLate = Code.validationDateTooLate
  /// `Code.validationDateTooSoon`: a date is before the earliest one allowed.
  public static let validationDateTooSoon = Code.validationDateTooSoon
  /// `Code.validationInvalidDate`: a date is not valid.
  public static let validationInvalidDate = Code.validationInvalidDate
  /// `Code.validationStringTooLong`: a string is longer than its maximum.
  public static let validationStringTooLong = Code.validationStringTooLong
  /// `Code.validationStringTooShort`: a string is shorter than its minimum.
  public static let validationStringTooShort = Code.validationStringTooShort
  /// `Code.validationStringPatternMatching`: a string does not match its pattern.
  public static let validationStringPatternMatching = Code.validationStringPatternMatching
  /// `Code.validationInvalidURI`: a URI is not valid.
  public static let validationInvalidURI = Code.validationInvalidURI
  /// `Code.managedObjectContextLocking`: a context could not be locked.
  public static let managedObjectContextLocking = Code.managedObjectContextLocking
  /// `Code.persistentStoreCoordinatorLocking`: a coordinator could not be locked.
  public static let persistentStoreCoordinatorLocking = Code.persistentStoreCoordinatorLocking
  /// `Code.managedObjectReferentialIntegrity`: an object has no row in its store.
  public static let managedObjectReferentialIntegrity = Code.managedObjectReferentialIntegrity
  /// `Code.managedObjectExternalRelationship`: a relationship leads to another store.
  public static let managedObjectExternalRelationship = Code.managedObjectExternalRelationship
  /// `Code.managedObjectMerge`: an object was changed in its store since the context read it.
  public static let managedObjectMerge = Code.managedObjectMerge
  /// `Code.managedObjectConstraintMerge`: two objects have the same unique values.
  public static let managedObjectConstraintMerge = Code.managedObjectConstraintMerge
  /// `Code.persistentStoreInvalidType`: no class is registered for a store type.
  public static let persistentStoreInvalidType = Code.persistentStoreInvalidType
  /// `Code.persistentStoreTypeMismatch`: a file is not of the store type that was asked for.
  public static let persistentStoreTypeMismatch = Code.persistentStoreTypeMismatch
  /// `Code.persistentStoreIncompatibleSchema`: a file's tables do not fit the model.
  public static let persistentStoreIncompatibleSchema = Code.persistentStoreIncompatibleSchema
  /// `Code.persistentStoreSave`: a store cannot take the changes.
  public static let persistentStoreSave = Code.persistentStoreSave
  /// `Code.persistentStoreIncompleteSave`: only some of several stores were saved.
  public static let persistentStoreIncompleteSave = Code.persistentStoreIncompleteSave
  /// `Code.persistentStoreSaveConflicts`: conflicts kept objects from being saved.
  public static let persistentStoreSaveConflicts = Code.persistentStoreSaveConflicts
  /// `Code.coreData`: a general failure of Core Data.
  public static let coreData = Code.coreData
  /// `Code.persistentStoreOperation`: a request or an operation is not possible as it was asked.
  public static let persistentStoreOperation = Code.persistentStoreOperation
  /// `Code.persistentStoreOpen`: a store could not be opened.
  public static let persistentStoreOpen = Code.persistentStoreOpen
  /// `Code.persistentStoreTimeout`: another connection kept the store locked.
  public static let persistentStoreTimeout = Code.persistentStoreTimeout
  /// `Code.persistentStoreUnsupportedRequestType`: a store does not support a kind of request.
  public static let persistentStoreUnsupportedRequestType = Code.persistentStoreUnsupportedRequestType
  /// `Code.persistentStoreIncompatibleVersionHash`: the model is not the one that a store was made with.
  public static let persistentStoreIncompatibleVersionHash = Code.persistentStoreIncompatibleVersionHash
  /// `Code.migration`: a store could not be migrated.
  public static let migration = Code.migration
  /// `Code.migrationConstraintViolation`: migrated objects violate a new uniqueness constraint.
  public static let migrationConstraintViolation = Code.migrationConstraintViolation
  /// `Code.migrationCancelled`: a migration was cancelled.
  public static let migrationCancelled = Code.migrationCancelled
  /// `Code.migrationMissingSourceModel`: the model that a store was made with was not found.
  public static let migrationMissingSourceModel = Code.migrationMissingSourceModel
  /// `Code.migrationMissingMappingModel`: no mapping model leads from the old model to the new one.
  public static let migrationMissingMappingModel = Code.migrationMissingMappingModel
  /// `Code.migrationManagerSourceStore`: the store to be migrated cannot be opened.
  public static let migrationManagerSourceStore = Code.migrationManagerSourceStore
  /// `Code.migrationManagerDestinationStore`: the migrated store cannot be written.
  public static let migrationManagerDestinationStore = Code.migrationManagerDestinationStore
  /// `Code.entityMigrationPolicy`: a migration policy failed.
  public static let entityMigrationPolicy = Code.entityMigrationPolicy
  /// `Code.sqlite`: SQLite failed in a way that no other code describes.
  public static let sqlite = Code.sqlite
  /// `Code.inferredMappingModel`: no mapping can be inferred between two models.
  public static let inferredMappingModel = Code.inferredMappingModel
  /// `Code.externalRecordImport`: an external record could not be imported.
  public static let externalRecordImport = Code.externalRecordImport
  /// `Code.persistentHistoryTokenExpired`: the history after a token was deleted.
  public static let persistentHistoryTokenExpired = Code.persistentHistoryTokenExpired
  /// `Code.managedObjectModelReferenceNotFound`: the model of a migration stage was not found.
  public static let managedObjectModelReferenceNotFound = Code.managedObjectModelReferenceNotFound
  /// `Code.stagedMigrationFrameworkVersionMismatch`: a store was written by a newer framework than the stages know.
  public static let stagedMigrationFrameworkVersionMismatch = Code.stagedMigrationFrameworkVersionMismatch
  /// `Code.stagedMigrationBackwardMigration`: migration stages lead back to an earlier model.
  public static let stagedMigrationBackwardMigration = Code.stagedMigrationBackwardMigration
}
