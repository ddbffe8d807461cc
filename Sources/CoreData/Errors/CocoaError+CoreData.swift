/// Core Data's errors under the names that Apple gives their codes, all in `NSCocoaErrorDomain`:
///
///     do {
///       try context.save()
///     } catch let error as CocoaError where error.code == .managedObjectMerge { … }
///
/// Source: CoreDataErrors.h of Apple's SDK, as its documentation lists them.
extension CocoaError.Code {
  public static let managedObjectValidation = CocoaError.Code(rawValue: NSManagedObjectValidationError)
  public static let managedObjectConstraintValidation = CocoaError.Code(
    rawValue: NSManagedObjectConstraintValidationError)
  public static let validationMultipleErrors = CocoaError.Code(rawValue: NSValidationMultipleErrorsError)
  public static let validationMissingMandatoryProperty = CocoaError.Code(
    rawValue: NSValidationMissingMandatoryPropertyError)
  public static let validationRelationshipLacksMinimumCount = CocoaError.Code(
    rawValue: NSValidationRelationshipLacksMinimumCountError)
  public static let validationRelationshipExceedsMaximumCount = CocoaError.Code(
    rawValue: NSValidationRelationshipExceedsMaximumCountError)
  public static let validationRelationshipDeniedDelete = CocoaError.Code(
    rawValue: NSValidationRelationshipDeniedDeleteError)
  public static let validationNumberTooLarge = CocoaError.Code(rawValue: NSValidationNumberTooLargeError)
  public static let validationNumberTooSmall = CocoaError.Code(rawValue: NSValidationNumberTooSmallError)
  public static let validationDateTooLate = CocoaError.Code(rawValue: NSValidationDateTooLateError)
  public static let validationDateTooSoon = CocoaError.Code(rawValue: NSValidationDateTooSoonError)
  public static let validationInvalidDate = CocoaError.Code(rawValue: NSValidationInvalidDateError)
  public static let validationStringTooLong = CocoaError.Code(rawValue: NSValidationStringTooLongError)
  public static let validationStringTooShort = CocoaError.Code(rawValue: NSValidationStringTooShortError)
  public static let validationStringPatternMatching = CocoaError.Code(rawValue: NSValidationStringPatternMatchingError)
  public static let validationInvalidURI = CocoaError.Code(rawValue: NSValidationInvalidURIError)
  public static let managedObjectContextLocking = CocoaError.Code(rawValue: NSManagedObjectContextLockingError)
  public static let persistentStoreCoordinatorLocking = CocoaError.Code(
    rawValue: NSPersistentStoreCoordinatorLockingError)
  public static let managedObjectReferentialIntegrity = CocoaError.Code(
    rawValue: NSManagedObjectReferentialIntegrityError)
  public static let managedObjectExternalRelationship = CocoaError.Code(
    rawValue: NSManagedObjectExternalRelationshipError)
  public static let managedObjectMerge = CocoaError.Code(rawValue: NSManagedObjectMergeError)
  public static let managedObjectConstraintMerge = CocoaError.Code(rawValue: NSManagedObjectConstraintMergeError)
  public static let persistentStoreInvalidType = CocoaError.Code(rawValue: NSPersistentStoreInvalidTypeError)
  public static let persistentStoreTypeMismatch = CocoaError.Code(rawValue: NSPersistentStoreTypeMismatchError)
  public static let persistentStoreIncompatibleSchema = CocoaError.Code(
    rawValue: NSPersistentStoreIncompatibleSchemaError)
  public static let persistentStoreSave = CocoaError.Code(rawValue: NSPersistentStoreSaveError)
  public static let persistentStoreIncompleteSave = CocoaError.Code(rawValue: NSPersistentStoreIncompleteSaveError)
  public static let persistentStoreSaveConflicts = CocoaError.Code(rawValue: NSPersistentStoreSaveConflictsError)
  public static let coreData = CocoaError.Code(rawValue: NSCoreDataError)
  public static let persistentStoreOperation = CocoaError.Code(rawValue: NSPersistentStoreOperationError)
  public static let persistentStoreOpen = CocoaError.Code(rawValue: NSPersistentStoreOpenError)
  public static let persistentStoreTimeout = CocoaError.Code(rawValue: NSPersistentStoreTimeoutError)
  public static let persistentStoreUnsupportedRequestType = CocoaError.Code(
    rawValue: NSPersistentStoreUnsupportedRequestTypeError)
  public static let persistentStoreIncompatibleVersionHash = CocoaError.Code(
    rawValue: NSPersistentStoreIncompatibleVersionHashError)
  public static let migration = CocoaError.Code(rawValue: NSMigrationError)
  public static let migrationConstraintViolation = CocoaError.Code(rawValue: NSMigrationConstraintViolationError)
  public static let migrationCancelled = CocoaError.Code(rawValue: NSMigrationCancelledError)
  public static let migrationMissingSourceModel = CocoaError.Code(rawValue: NSMigrationMissingSourceModelError)
  public static let migrationMissingMappingModel = CocoaError.Code(rawValue: NSMigrationMissingMappingModelError)
  public static let migrationManagerSourceStore = CocoaError.Code(rawValue: NSMigrationManagerSourceStoreError)
  public static let migrationManagerDestinationStore = CocoaError.Code(
    rawValue: NSMigrationManagerDestinationStoreError)
  public static let entityMigrationPolicy = CocoaError.Code(rawValue: NSEntityMigrationPolicyError)
  public static let sqlite = CocoaError.Code(rawValue: NSSQLiteError)
  public static let inferredMappingModel = CocoaError.Code(rawValue: NSInferredMappingModelError)
  public static let externalRecordImport = CocoaError.Code(rawValue: NSExternalRecordImportError)
  public static let persistentHistoryTokenExpired = CocoaError.Code(rawValue: NSPersistentHistoryTokenExpiredError)
  public static let managedObjectModelReferenceNotFound = CocoaError.Code(
    rawValue: NSManagedObjectModelReferenceNotFoundError)
  public static let stagedMigrationFrameworkVersionMismatch = CocoaError.Code(
    rawValue: NSStagedMigrationFrameworkVersionMismatchError)
  public static let stagedMigrationBackwardMigration = CocoaError.Code(
    rawValue: NSStagedMigrationBackwardMigrationError)
}

extension CocoaError {
  public static let managedObjectValidation = Code.managedObjectValidation
  public static let managedObjectConstraintValidation = Code.managedObjectConstraintValidation
  public static let validationMultipleErrors = Code.validationMultipleErrors
  public static let validationMissingMandatoryProperty = Code.validationMissingMandatoryProperty
  public static let validationRelationshipLacksMinimumCount = Code.validationRelationshipLacksMinimumCount
  public static let validationRelationshipExceedsMaximumCount = Code.validationRelationshipExceedsMaximumCount
  public static let validationRelationshipDeniedDelete = Code.validationRelationshipDeniedDelete
  public static let validationNumberTooLarge = Code.validationNumberTooLarge
  public static let validationNumberTooSmall = Code.validationNumberTooSmall
  public static let validationDateTooLate = Code.validationDateTooLate
  public static let validationDateTooSoon = Code.validationDateTooSoon
  public static let validationInvalidDate = Code.validationInvalidDate
  public static let validationStringTooLong = Code.validationStringTooLong
  public static let validationStringTooShort = Code.validationStringTooShort
  public static let validationStringPatternMatching = Code.validationStringPatternMatching
  public static let validationInvalidURI = Code.validationInvalidURI
  public static let managedObjectContextLocking = Code.managedObjectContextLocking
  public static let persistentStoreCoordinatorLocking = Code.persistentStoreCoordinatorLocking
  public static let managedObjectReferentialIntegrity = Code.managedObjectReferentialIntegrity
  public static let managedObjectExternalRelationship = Code.managedObjectExternalRelationship
  public static let managedObjectMerge = Code.managedObjectMerge
  public static let managedObjectConstraintMerge = Code.managedObjectConstraintMerge
  public static let persistentStoreInvalidType = Code.persistentStoreInvalidType
  public static let persistentStoreTypeMismatch = Code.persistentStoreTypeMismatch
  public static let persistentStoreIncompatibleSchema = Code.persistentStoreIncompatibleSchema
  public static let persistentStoreSave = Code.persistentStoreSave
  public static let persistentStoreIncompleteSave = Code.persistentStoreIncompleteSave
  public static let persistentStoreSaveConflicts = Code.persistentStoreSaveConflicts
  public static let coreData = Code.coreData
  public static let persistentStoreOperation = Code.persistentStoreOperation
  public static let persistentStoreOpen = Code.persistentStoreOpen
  public static let persistentStoreTimeout = Code.persistentStoreTimeout
  public static let persistentStoreUnsupportedRequestType = Code.persistentStoreUnsupportedRequestType
  public static let persistentStoreIncompatibleVersionHash = Code.persistentStoreIncompatibleVersionHash
  public static let migration = Code.migration
  public static let migrationConstraintViolation = Code.migrationConstraintViolation
  public static let migrationCancelled = Code.migrationCancelled
  public static let migrationMissingSourceModel = Code.migrationMissingSourceModel
  public static let migrationMissingMappingModel = Code.migrationMissingMappingModel
  public static let migrationManagerSourceStore = Code.migrationManagerSourceStore
  public static let migrationManagerDestinationStore = Code.migrationManagerDestinationStore
  public static let entityMigrationPolicy = Code.entityMigrationPolicy
  public static let sqlite = Code.sqlite
  public static let inferredMappingModel = Code.inferredMappingModel
  public static let externalRecordImport = Code.externalRecordImport
  public static let persistentHistoryTokenExpired = Code.persistentHistoryTokenExpired
  public static let managedObjectModelReferenceNotFound = Code.managedObjectModelReferenceNotFound
  public static let stagedMigrationFrameworkVersionMismatch = Code.stagedMigrationFrameworkVersionMismatch
  public static let stagedMigrationBackwardMigration = Code.stagedMigrationBackwardMigration
}

public let NSManagedObjectValidationError = 1550
public let NSManagedObjectConstraintValidationError = 1551
public let NSValidationMultipleErrorsError = 1560
public let NSValidationMissingMandatoryPropertyError = 1570
public let NSValidationRelationshipLacksMinimumCountError = 1580
public let NSValidationRelationshipExceedsMaximumCountError = 1590
public let NSValidationRelationshipDeniedDeleteError = 1600
public let NSValidationNumberTooLargeError = 1610
public let NSValidationNumberTooSmallError = 1620
public let NSValidationDateTooLateError = 1630
public let NSValidationDateTooSoonError = 1640
public let NSValidationInvalidDateError = 1650
public let NSValidationStringTooLongError = 1660
public let NSValidationStringTooShortError = 1670
public let NSValidationStringPatternMatchingError = 1680
public let NSValidationInvalidURIError = 1690
public let NSManagedObjectContextLockingError = 132000
public let NSPersistentStoreCoordinatorLockingError = 132010
public let NSManagedObjectReferentialIntegrityError = 133000
public let NSManagedObjectExternalRelationshipError = 133010
public let NSManagedObjectMergeError = 133020
public let NSManagedObjectConstraintMergeError = 133021
public let NSPersistentStoreInvalidTypeError = 134000
public let NSPersistentStoreTypeMismatchError = 134010
public let NSPersistentStoreIncompatibleSchemaError = 134020
public let NSPersistentStoreSaveError = 134030
public let NSPersistentStoreIncompleteSaveError = 134040
public let NSPersistentStoreSaveConflictsError = 134050
public let NSCoreDataError = 134060
public let NSPersistentStoreOperationError = 134070
public let NSPersistentStoreOpenError = 134080
public let NSPersistentStoreTimeoutError = 134090
public let NSPersistentStoreUnsupportedRequestTypeError = 134091
public let NSPersistentStoreIncompatibleVersionHashError = 134100
public let NSMigrationError = 134110
public let NSMigrationConstraintViolationError = 134111
public let NSMigrationCancelledError = 134120
public let NSMigrationMissingSourceModelError = 134130
public let NSMigrationMissingMappingModelError = 134140
public let NSMigrationManagerSourceStoreError = 134150
public let NSMigrationManagerDestinationStoreError = 134160
public let NSEntityMigrationPolicyError = 134170
public let NSSQLiteError = 134180
public let NSInferredMappingModelError = 134190
public let NSExternalRecordImportError = 134200
public let NSPersistentHistoryTokenExpiredError = 134301
public let NSManagedObjectModelReferenceNotFoundError = 134504
public let NSStagedMigrationFrameworkVersionMismatchError = 134505
public let NSStagedMigrationBackwardMigrationError = 134506
