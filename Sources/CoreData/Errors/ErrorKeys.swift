// Keys of the user info of Core Data's errors. Their texts are Apple's, since programs compare and archive them.

/// The single errors, `[NSError]`, of a 1560 (`CocoaError.Code.validationMultipleErrors`).
public let NSDetailedErrorsKey = "NSDetailedErrors"
/// The object, an `NSManagedObject`, that validation refused. Batch requests, which have no objects, do not set it.
public let NSValidationObjectErrorKey = "NSValidationErrorObject"
/// The name of the property, a `String`, that validation refused; a key path ("address.city") for an element of a
/// composite attribute. Batch requests set it too.
public let NSValidationKeyErrorKey = "NSValidationErrorKey"
/// The validation predicate, an `NSPredicate`, that a value does not match.
public let NSValidationPredicateErrorKey = "NSValidationErrorPredicate"
/// The value that validation refused, as `value(forKey:)` gives it; absent when the property has none.
public let NSValidationValueErrorKey = "NSValidationErrorValue"
/// The stores that an error concerns. No error of this framework sets it: descriptions name the store's path.
public let NSAffectedStoresErrorKey = "NSAffectedStoresErrorKey"
/// The objects that an error concerns: an array of `NSManagedObject`, or of `NSManagedObjectID` when
/// `existingObject(with:)` finds no row.
public let NSAffectedObjectsErrorKey = "NSAffectedObjectsErrorKey"
/// The conflicts that a save's merge policy left: `[NSMergeConflict]` with 133020, `[NSConstraintConflict]` with
/// 133021.
public let NSPersistentStoreSaveConflictsErrorKey = "conflictList"
/// The domain of SQLite's result codes: the domain of underlying errors, and the key of the code, an `NSNumber`, in the
/// user info of errors that SQLite caused.
public let NSSQLiteErrorDomain = "NSSQLiteErrorDomain"
