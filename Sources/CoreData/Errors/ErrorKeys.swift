// Keys of the user info of Core Data's errors. Their texts are Apple's, since programs compare and archive them.

/// The single errors, `[NSError]`, of a 1560 (`CocoaError.Code.validationMultipleErrors`).
///
/// ```swift
/// do { try context.save() } catch {
///   let error = error as NSError
///   let singles = error.userInfo[NSDetailedErrorsKey] as? [NSError] ?? [error]
///   for single in singles { print(single.localizedDescription) }
/// }
/// ```
///
/// A single error has no such list: the example treats both forms alike. The list is flat, and none of its elements has
/// a list of its own.
///
/// Source: Apple's documentation of `NSDetailedErrorsKey`.
public let NSDetailedErrorsKey = "NSDetailedErrors"

/// The object, an `NSManagedObject`, that validation refused. Batch requests, which have no objects, do not set it.
///
/// Use the object on its context's queue only, like the context's save that threw. For an element of a composite
/// attribute it is the object that has the composite.
///
/// ```swift
/// do { try context.save() } catch let error as NSError {
///   if let book = error.userInfo[NSValidationObjectErrorKey] as? Book { print("look at", book.title ?? "") }
/// }
/// ```
///
/// Source: Apple's documentation of `NSValidationObjectErrorKey`.
public let NSValidationObjectErrorKey = "NSValidationErrorObject"

/// The name of the property, a `String`, that validation refused; a key path ("address.city") for an element of a
/// composite attribute. Batch requests set it too, and so does a save for a value that a store cannot keep
/// (`CocoaError.Code.persistentStoreSave`).
///
/// It is the name in the model, not a label for users: a program looks up its own label by it.
///
/// Source: Apple's documentation of `NSValidationKeyErrorKey`.
public let NSValidationKeyErrorKey = "NSValidationErrorKey"

/// The validation predicate, an `NSPredicate`, that a value does not match. Missing values, numbers that are too wide
/// for their type, and the limits of relationships have no predicate.
///
/// Source: Apple's documentation of `NSValidationPredicateErrorKey`.
public let NSValidationPredicateErrorKey = "NSValidationErrorPredicate"

/// The value that validation refused, as `value(forKey:)` gives it; absent when the property has none, and for the
/// limits of a to-many relationship. Values may be private. The descriptions of errors contain none, so do not print
/// this key to a log.
///
/// Source: Apple's documentation of `NSValidationValueErrorKey`.
public let NSValidationValueErrorKey = "NSValidationErrorValue"

/// The stores that an error concerns, an array of `NSPersistentStore`. Only a 134040
/// (`CocoaError.Code.persistentStoreIncompleteSave`) has it: the stores that were not saved. All other errors name the
/// store's path in their description.
///
/// Source: Apple's documentation of `NSAffectedStoresErrorKey`.
public let NSAffectedStoresErrorKey = "NSAffectedStoresErrorKey"

/// The objects that an error concerns: an array of `NSManagedObject`, or of `NSManagedObjectID` when
/// `existingObject(with:)` finds no row.
///
/// A save sets it for equal unique values (the objects of the save that have them), for a relationship between two
/// stores (the object that has it), for a child's object that the parent has deleted, and for a 134040 (the objects
/// that are not saved).
///
/// ```swift
/// do { try context.save() } catch let error as NSError {
///   let objects = error.userInfo[NSAffectedObjectsErrorKey] as? [NSManagedObject] ?? []
///   print(objects.map(\.objectID.uriString))
/// }
/// ```
///
/// Source: Apple's documentation of `NSAffectedObjectsErrorKey`.
public let NSAffectedObjectsErrorKey = "NSAffectedObjectsErrorKey"

/// The conflicts that a save's merge policy left: `[NSMergeConflict]` with 133020, `[NSConstraintConflict]` with
/// 133021.
///
/// ```swift
/// do { try context.save() } catch let error as NSError where error.code == NSManagedObjectMergeError {
///   for conflict in error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict] ?? [] {
///     print(conflict.oldVersionNumber, "->", conflict.newVersionNumber)
///   }
/// }
/// ```
///
/// The conflicts have the context's objects: use them on the context's queue, before the next save.
///
/// Source: Apple's documentation of `NSPersistentStoreSaveConflictsErrorKey`.
public let NSPersistentStoreSaveConflictsErrorKey = "conflictList"

/// The domain of SQLite's result codes: the domain of underlying errors, and the key of the code, an `NSNumber`, in the
/// user info of errors that SQLite caused.
///
/// ```swift
/// do { try context.save() } catch let error as NSError {
///   guard let code = (error.userInfo[NSSQLiteErrorDomain] as? NSNumber)?.intValue else { throw error }
///   print("SQLite's code is", code & 0xff)  // 13: the disk is full
/// }
/// ```
///
/// The number is the extended code, with the primary one in its low byte.
///
/// Source: Apple's documentation of `NSSQLiteErrorDomain`; https://www.sqlite.org/rescode.html.
public let NSSQLiteErrorDomain = "NSSQLiteErrorDomain"
