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
/// Catch a code where the program reacts to exactly this situation. Where it reacts in a few ways to all of them (ask
/// the user, try again, give up), `CoreDataError(error)` sorts the codes into such groups. The number of each code, for
/// logs and for older code, is the constant of the same name with `NS` in front and `Error` behind it:
/// `NSManagedObjectMergeError`.
///
/// The codes of validation (1550 to 1690) come alone, or several of them in one 1560. A program that catches one of
/// them therefore catches 1560 too:
///
/// ```swift
/// do {
///   try context.save()
/// } catch let error as NSError where error.code == NSValidationMultipleErrorsError {
///   for single in error.userInfo[NSDetailedErrorsKey] as? [NSError] ?? [] { print(single.localizedDescription) }
/// }
/// ```
///
/// A failed save keeps the changes in the context, and the next `save()` tries all of them again. (After a 134040 it
/// keeps those that are not saved.) Call `rollback()` where the program gives them up.
///
/// Each code below says when this module raises it, what its user info has, and what a program can do. A few codes
/// exist for situations that only Apple's framework has; they are declared so that programs which name them compile.
///
/// Source: CoreDataErrors.h of Apple's SDK, as its documentation lists them.
extension CocoaError.Code {
  /// A value breaks a rule of the model that has no code of its own. A save raises it for a validation predicate
  /// (`NSPropertyDescription.setValidationPredicates(_:withValidationWarnings:)`) whose warning is no number; a warning
  /// that is a text is the error's description.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .managedObjectValidation {
  ///   let key = error.userInfo[NSValidationKeyErrorKey] as? String ?? ""
  ///   print("the value of \(key) is not accepted: \(error.localizedDescription)")
  /// }
  /// ```
  ///
  /// The user info has the object, the property's name, the value and the predicate (`NSValidationPredicateErrorKey`).
  /// Rules that a model file sets for lengths, ranges, dates and patterns have codes of their own, from 1610 to 1680. A
  /// program's own `validateForInsert()` may throw it as well.
  ///
  /// The number is 1550. Source: Apple's documentation of `NSManagedObjectValidationError`.
  public static let managedObjectValidation = CocoaError.Code(rawValue: NSManagedObjectValidationError)

  /// A uniqueness constraint is violated, found by validation. Only Apple's framework raises it, and its documentation
  /// does not say when. This module learns of equal values from the store, when it writes, so a violated constraint is
  /// `managedObjectConstraintMerge` here.
  ///
  /// `CoreDataError.notUnique` stands for both. The number is 1551.
  public static let managedObjectConstraintValidation = CocoaError.Code(
    rawValue: NSManagedObjectConstraintValidationError)

  /// Several values break rules of the model. A save raises it when validation finds more than one fault, in one object
  /// or in several; `NSDetailedErrorsKey` lists the single errors.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .validationMultipleErrors {
  ///   for single in error.userInfo[NSDetailedErrorsKey] as? [NSError] ?? [] {
  ///     print(single.userInfo[NSValidationKeyErrorKey] as? String ?? "", single.localizedDescription)
  ///   }
  /// }
  /// ```
  ///
  /// The list is flat: errors of several values of one object stand in it one by one. A save with a single fault throws
  /// that error itself. `CoreDataError.validation` gives both forms as one list of problems.
  ///
  /// An override of `validateForUpdate()` that finds a fault of its own has to combine it with what `super` throws, or
  /// the user sees one fault at a time.
  ///
  /// The number is 1560. Source: Apple's documentation of `NSValidationMultipleErrorsError`.
  public static let validationMultipleErrors = CocoaError.Code(rawValue: NSValidationMultipleErrorsError)

  /// A mandatory property has no value. A save raises it for an attribute or a to-one relationship that is nil, and for
  /// a mandatory to-many relationship below its minimum that is empty. Batch requests raise it for rows that would have
  /// no value.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .validationMissingMandatoryProperty {
  ///   print("please fill in \(error.userInfo[NSValidationKeyErrorKey] as? String ?? "all fields")")
  /// }
  /// ```
  ///
  /// An empty text is a value: only nil is missing. An attribute of a new object begins with the model's default value,
  /// so this error means that the model has none, or that the program set nil. A batch deletion raises it if it would
  /// clear a mandatory relationship of a row that stays.
  ///
  /// The user info has the object (not from batch requests) and the property's name. The number is 1570. Source:
  /// Apple's documentation of `NSValidationMissingMandatoryPropertyError`.
  public static let validationMissingMandatoryProperty = CocoaError.Code(
    rawValue: NSValidationMissingMandatoryPropertyError)

  /// A to-many relationship has fewer members than its minimum. A save raises it for a new object, and for one whose
  /// members changed.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .validationRelationshipLacksMinimumCount {
  ///   print("add more to \(error.userInfo[NSValidationKeyErrorKey] as? String ?? "")")
  /// }
  /// ```
  ///
  /// Deleted members do not count. An optional relationship may be empty in spite of its minimum; a mandatory one that
  /// is empty is `validationMissingMandatoryProperty`. Members that were never read and not changed are not counted, so
  /// that a save reads no relationship for this.
  ///
  /// The minimum is `NSRelationshipDescription.minCount`. The number is 1580. Source: Apple's documentation of
  /// `NSValidationRelationshipLacksMinimumCountError`.
  public static let validationRelationshipLacksMinimumCount = CocoaError.Code(
    rawValue: NSValidationRelationshipLacksMinimumCountError)

  /// A to-many relationship has more members than its maximum. A save raises it for a new object, and for one whose
  /// members changed, if `maxCount` is not 0.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .validationRelationshipExceedsMaximumCount {
  ///   context.rollback()
  ///   print("too many objects in \(error.userInfo[NSValidationKeyErrorKey] as? String ?? "")")
  /// }
  /// ```
  ///
  /// Setting the other end of the relationship counts as a change of this end: `book.author = author` may make the
  /// author's books too many. The user info has the owner of the relationship under `NSValidationObjectErrorKey`.
  ///
  /// The number is 1590. Source: Apple's documentation of `NSValidationRelationshipExceedsMaximumCountError`.
  public static let validationRelationshipExceedsMaximumCount = CocoaError.Code(
    rawValue: NSValidationRelationshipExceedsMaximumCountError)

  /// A Deny rule forbids a deletion. A save or a batch deletion raises it while the relationship has objects that are
  /// not deleted too.
  ///
  /// ```swift
  /// context.delete(author)
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .validationRelationshipDeniedDelete {
  ///   context.rollback()  // the author and the books are as before
  /// }
  /// ```
  ///
  /// `delete(_:)` itself does not fail: the rule is tested with the save, so the objects on the other side may be
  /// deleted after this one. The user info names the relationship and, from a save, the object that cannot be deleted.
  /// A batch deletion names the relationship only, and deletes nothing.
  ///
  /// The number is 1600. Source: Apple's documentation of `NSValidationRelationshipDeniedDeleteError`.
  public static let validationRelationshipDeniedDelete = CocoaError.Code(
    rawValue: NSValidationRelationshipDeniedDeleteError)

  /// A number is above its maximum. A save raises it for the maximum that a model file sets. A save and batch requests
  /// raise it for a number that is too large for an Integer 16 or Integer 32 attribute.
  ///
  /// ```swift
  /// book.pages = 40_000  // if the model gives pages the type Integer 16, which ends at 32,767
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .validationNumberTooLarge {
  ///   print("\(error.userInfo[NSValidationValueErrorKey] ?? "") is too large")
  /// }
  /// ```
  ///
  /// A number that is too large for the type stays in the object as it was set, so the user sees what was typed.
  /// Apple's framework is reported to cut it to the width without an error. Choose Integer 64 in the model where the
  /// limit is the program's and not the data's.
  ///
  /// The number is 1610. Source: Apple's documentation of `NSValidationNumberTooLargeError`.
  public static let validationNumberTooLarge = CocoaError.Code(rawValue: NSValidationNumberTooLargeError)

  /// A number is below its minimum. A save raises it for the minimum that a model file sets. A save and batch requests
  /// raise it for a number that is too small for an Integer 16 or Integer 32 attribute.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .validationNumberTooSmall {
  ///   print("\(error.userInfo[NSValidationKeyErrorKey] ?? "") must be larger")
  /// }
  /// ```
  ///
  /// A model in code raises it with a validation predicate whose warning is this code's number: see
  /// `NSPropertyDescription.setValidationPredicates(_:withValidationWarnings:)`.
  ///
  /// The number is 1620. Source: Apple's documentation of `NSValidationNumberTooSmallError`.
  public static let validationNumberTooSmall = CocoaError.Code(rawValue: NSValidationNumberTooSmallError)

  /// A date is after the latest one allowed. A save raises it for the latest date that a model file sets.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .validationDateTooLate {
  ///   let date = error.userInfo[NSValidationValueErrorKey] as? Date
  ///   print(date.map { "\($0) is too late" } ?? error.localizedDescription)
  /// }
  /// ```
  ///
  /// The limits of a model file are fixed points in time. A limit that moves, such as "not in the future", belongs in
  /// an override of `validateForUpdate()` or `validateValue(_:forKey:)`, which may throw this code too.
  ///
  /// The number is 1630. Source: Apple's documentation of `NSValidationDateTooLateError`.
  public static let validationDateTooLate = CocoaError.Code(rawValue: NSValidationDateTooLateError)

  /// A date is before the earliest one allowed. A save raises it for the earliest date that a model file sets.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .validationDateTooSoon {
  ///   print("\(error.userInfo[NSValidationKeyErrorKey] ?? "") is too early")
  /// }
  /// ```
  ///
  /// The earliest date itself is allowed. The number is 1640. Source: Apple's documentation of
  /// `NSValidationDateTooSoonError`.
  public static let validationDateTooSoon = CocoaError.Code(rawValue: NSValidationDateTooSoonError)

  /// A date is not valid. Only Apple's framework raises it: its documentation speaks of a date that does not match a
  /// pattern for dates. Here an attribute of the type Date holds a `Date`, and each `Date` can be saved to a file.
  ///
  /// A date outside of the range that PostgreSQL has is refused by that store with `persistentStoreSave`. The number is
  /// 1650.
  public static let validationInvalidDate = CocoaError.Code(rawValue: NSValidationInvalidDateError)

  /// A string is longer than its maximum. A save raises it for the maximum length, in UTF-16 units, that a model file
  /// sets.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .validationStringTooLong {
  ///   let text = error.userInfo[NSValidationValueErrorKey] as? String ?? ""
  ///   print("\(text.utf16.count) units are too many")
  /// }
  /// ```
  ///
  /// Most emoji count two units or more, and one in `text.count`: compare `text.utf16.count` with the limit where an
  /// editor shows what is left.
  ///
  /// The number is 1660. Source: Apple's documentation of `NSValidationStringTooLongError`.
  public static let validationStringTooLong = CocoaError.Code(rawValue: NSValidationStringTooLongError)

  /// A string is shorter than its minimum. A save raises it for the minimum length, in UTF-16 units, that a model file
  /// sets.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .validationStringTooShort {
  ///   print("\(error.userInfo[NSValidationKeyErrorKey] ?? "") needs a longer text")
  /// }
  /// ```
  ///
  /// A minimum of 1 refuses the empty text, which a mandatory attribute without a minimum accepts. Nil is not too
  /// short: an optional attribute may have it, and a mandatory one raises `validationMissingMandatoryProperty`.
  ///
  /// The number is 1670. Source: Apple's documentation of `NSValidationStringTooShortError`.
  public static let validationStringTooShort = CocoaError.Code(rawValue: NSValidationStringTooShortError)

  /// A string does not match its pattern. A save raises it for the regular expression that a model file sets; the whole
  /// string has to match.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .validationStringPatternMatching {
  ///   let rule = error.userInfo[NSValidationPredicateErrorKey] as? NSPredicate
  ///   print(rule?.predicateFormat ?? "")  // SELF MATCHES "…"
  /// }
  /// ```
  ///
  /// The rule is the predicate `SELF MATCHES pattern`, with the syntax of `NSRegularExpression`. Write `.*` at both
  /// ends of a pattern that may match anywhere in the text.
  ///
  /// The number is 1680. Source: Apple's documentation of `NSValidationStringPatternMatchingError`.
  public static let validationStringPatternMatching = CocoaError.Code(rawValue: NSValidationStringPatternMatchingError)

  /// A URI is not valid. Only Apple's framework raises it: its documentation speaks of a URI that cannot be represented
  /// as a string. Here an attribute of the type URI holds a `URL`, and each `URL` can be saved.
  ///
  /// The number is 1690.
  public static let validationInvalidURI = CocoaError.Code(rawValue: NSValidationInvalidURIError)

  /// A context could not be locked. Only Apple's framework raises it, for the deprecated `lock()` of a context that
  /// threads share. Here a context has a queue or one thread, and no lock that a caller could take;
  /// `performAndWait(_:)` waits for the queue without a time limit.
  ///
  /// The number is 132000.
  public static let managedObjectContextLocking = CocoaError.Code(rawValue: NSManagedObjectContextLockingError)

  /// A coordinator could not be locked. Only Apple's framework raises it, for the deprecated `lock()` of a coordinator.
  /// Here coordinators have no lock that a caller could take; their methods may be called on any thread.
  ///
  /// A store that another process has locked is `persistentStoreTimeout`. The number is 132010.
  public static let persistentStoreCoordinatorLocking = CocoaError.Code(
    rawValue: NSPersistentStoreCoordinatorLockingError)

  /// An object has no row in its store. `existingObject(with:)` raises it, and the save of a child context whose object
  /// the parent has deleted; `NSAffectedObjectsErrorKey` has the object or its ID. A save at a server raises it when an
  /// object that it refers to was deleted meanwhile.
  ///
  /// ```swift
  /// do {
  ///   let stillThere = try context.existingObject(with: book.objectID)
  ///   print(stillThere.objectID)
  /// } catch let error as CocoaError where error.code == .managedObjectReferentialIntegrity {
  ///   print("the book was deleted meanwhile")
  /// }
  /// ```
  ///
  /// An object that is used without `existingObject(with:)` raises no error when its row is gone, since reading a
  /// property cannot throw: it becomes a deleted object with nil values
  /// (`NSManagedObjectContext.shouldDeleteInaccessibleFaults`).
  ///
  /// The number is 133000. Source: Apple's documentation of `NSManagedObjectReferentialIntegrityError`.
  public static let managedObjectReferentialIntegrity = CocoaError.Code(
    rawValue: NSManagedObjectReferentialIntegrityError)

  /// A relationship leads to an object of another store. Only Apple's framework raises it. Here the save refuses such a
  /// relationship with `persistentStoreSave`, whose description names the property and the object.
  ///
  /// Keep the URI of the other object in an attribute, or use a fetched property, where objects of two stores belong
  /// together. The number is 133010.
  public static let managedObjectExternalRelationship = CocoaError.Code(
    rawValue: NSManagedObjectExternalRelationshipError)

  /// An object was changed or deleted in its store since the context read it. A save raises it when the merge policy
  /// does not resolve the conflicts, which are under `NSPersistentStoreSaveConflictsErrorKey`.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .managedObjectMerge {
  ///   let conflicts = error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict] ?? []
  ///   for conflict in conflicts { context.refresh(conflict.sourceObject, mergeChanges: true) }
  ///   try context.save()  // this context's changes, on top of what the others saved
  /// }
  /// ```
  ///
  /// It is the error of the error policy, the default of every context. Choose another
  /// `NSManagedObjectContext.mergePolicy` where the user does not have to decide. Nothing was written. Other contexts
  /// of the program cause it as other processes do: each save adds one to the row's version, and a save whose object
  /// was read with another version is a conflict.
  ///
  /// ```text
  /// this context              another context, or another process
  /// reads book, version 3
  ///                           reads book, version 3
  ///                           saves another title: version 4
  /// changes the pages
  /// save(): the row has version 4, not 3: 133020
  /// ```
  ///
  /// The number is 133020. Source: Apple's documentation of `NSManagedObjectMergeError`.
  public static let managedObjectMerge = CocoaError.Code(rawValue: NSManagedObjectMergeError)

  /// Two objects have the same unique values. A save or a batch insertion raises it when the merge policy does not
  /// resolve the conflict. SQLite's code 19 (SQLITE_CONSTRAINT) becomes this error.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .managedObjectConstraintMerge {
  ///   for case let conflict as NSConstraintConflict in error.userInfo["conflictList"] as? [Any] ?? [] {
  ///     print("there is another object with this", conflict.constraint.joined(separator: " and "))
  ///   }
  /// }
  /// ```
  ///
  /// `NSPersistentStoreSaveConflictsErrorKey` has `NSConstraintConflict`s and `NSAffectedObjectsErrorKey` the objects
  /// of the save. Where equal values mean "this object again", as in an import,
  /// `NSMergeByPropertyObjectTrumpMergePolicy` writes the new object's values into the existing row, and
  /// `NSMergeByPropertyStoreTrumpMergePolicy` drops the new object.
  ///
  /// Looking for the value before the insertion does not replace the constraint: another process may insert it between
  /// the fetch and the save.
  ///
  /// The number is 133021. Source: Apple's documentation of `NSManagedObjectConstraintMergeError`.
  public static let managedObjectConstraintMerge = CocoaError.Code(rawValue: NSManagedObjectConstraintMergeError)

  /// No class is registered for a store type. The coordinator's operations on store files raise it; the description
  /// names the types that can be opened.
  ///
  /// ```swift
  /// do {
  ///   try coordinator.addPersistentStore(ofType: "Ledger", configurationName: nil, at: url)
  /// } catch let error as CocoaError where error.code == .persistentStoreInvalidType {
  ///   print(error.localizedDescription)  // call registerStoreClass(_:forStoreType:) first
  /// }
  /// ```
  ///
  /// The URL of a PostgreSQL server with a type of stores in files raises it too, and so does `NSPostgreSQLStoreType`
  /// in a program that does not import `CoreDataPostgreSQL`; the description says which import is missing.
  ///
  /// The number is 134000. Source: Apple's documentation of `NSPersistentStoreInvalidTypeError`.
  public static let persistentStoreInvalidType = CocoaError.Code(rawValue: NSPersistentStoreInvalidTypeError)

  /// A file is not of the store type that was asked for. Opening raises it for a file that is not a SQLite database,
  /// for a binary or XML store that cannot be read as one, and for an app's own store whose metadata names another
  /// type.
  ///
  /// ```swift
  /// do {
  ///   try coordinator.addPersistentStore(type: .sqlite, at: url)
  /// } catch let error as CocoaError where error.code == .persistentStoreTypeMismatch {
  ///   print("this file is no database: \(error.localizedDescription)")
  /// }
  /// ```
  ///
  /// The file stays as it is. Binary stores that Apple's framework wrote raise it, since they are archives of private
  /// classes. SQLite's code 26 (SQLITE_NOTADB) becomes this error too; an encrypted file gives it.
  ///
  /// The number is 134010. Source: Apple's documentation of `NSPersistentStoreTypeMismatchError`;
  /// https://www.sqlite.org/rescode.html#notadb.
  public static let persistentStoreTypeMismatch = CocoaError.Code(rawValue: NSPersistentStoreTypeMismatchError)

  /// A file's tables do not fit the model. Opening raises it for a SQLite file that belongs to another program, for a
  /// damaged store or copy of its model, and for a model that the type of store cannot hold; writing raises it when the
  /// store's own tables lack a row.
  ///
  /// ```swift
  /// do {
  ///   try coordinator.addPersistentStore(type: .sqlite, at: url)
  /// } catch let error as CocoaError where error.code == .persistentStoreIncompatibleSchema {
  ///   print("not a store of this program: \(error.localizedDescription)")
  /// }
  /// ```
  ///
  /// It differs from `persistentStoreIncompatibleVersionHash`: there the store is sound and its model is another one,
  /// which a migration can change; here nothing can be migrated. Restore a backup, or name another file.
  ///
  /// The number is 134020. Source: Apple's documentation of `NSPersistentStoreIncompatibleSchemaError`.
  public static let persistentStoreIncompatibleSchema = CocoaError.Code(
    rawValue: NSPersistentStoreIncompatibleSchemaError)

  /// A store cannot take the changes. A save raises it for a store that is read-only or no longer open, an entity that
  /// no store holds, a relationship between stores, a context without a coordinator, a value that the store cannot
  /// keep, and `willSave()` methods that change objects again in each of 1,000 rounds. Writing batch requests and
  /// deletions of history raise it for read-only stores; binary and XML stores raise it when another program has
  /// changed their file.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .persistentStoreSave {
  ///   print(error.localizedDescription)  // names the store, the entity or the value that is in the way
  /// }
  /// ```
  ///
  /// Trying again does not help: something in the program or in the place of the store has to change. A full disk at a
  /// PostgreSQL server has this code too; `CoreDataError.diskFull` stands for it.
  ///
  /// The number is 134030. Source: Apple's documentation of `NSPersistentStoreSaveError`.
  public static let persistentStoreSave = CocoaError.Code(rawValue: NSPersistentStoreSaveError)

  /// Only some of several stores were saved. A save to several stores raises it when one of them has committed its
  /// part, or cannot take it back, and another one fails then. `NSAffectedStoresErrorKey` and
  /// `NSAffectedObjectsErrorKey` list what is not saved, and `NSUnderlyingErrorKey` has the reason.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .persistentStoreIncompleteSave {
  ///   let unsaved = error.userInfo[NSAffectedObjectsErrorKey] as? [NSManagedObject] ?? []
  ///   print("\(unsaved.count) objects are not saved; the next save writes only these")
  /// }
  /// ```
  ///
  /// A program whose stores are all in one file never gets it: they share a transaction. Several files roll back
  /// together as long as none has committed; a failure of the second commit, such as a full disk, raises this error. An
  /// app's own `NSIncrementalStore` cannot take back what it wrote, so an error of any store after it raises it too.
  /// The context treats the objects of the saved stores as clean, has posted `NSManagedObjectContextDidSave` for them,
  /// and keeps the changes of the others.
  ///
  /// The number is 134040. Source: Apple's documentation of `NSPersistentStoreIncompleteSaveError`.
  public static let persistentStoreIncompleteSave = CocoaError.Code(rawValue: NSPersistentStoreIncompleteSaveError)

  /// Conflicts kept objects from being saved. Only Apple's framework raises it, for unresolved merge conflicts. Here
  /// the conflicts of every type of store are `managedObjectMerge` and `managedObjectConstraintMerge`, whose list is
  /// under `NSPersistentStoreSaveConflictsErrorKey`.
  ///
  /// `CoreDataError.conflict` stands for it too. The number is 134050.
  public static let persistentStoreSaveConflicts = CocoaError.Code(rawValue: NSPersistentStoreSaveConflictsError)

  /// A fault in how the program uses Core Data that has no code of its own. `NSFetchedResultsController.performFetch()`
  /// raises it for a row out of the order of its sections, for a section key path that the entity does not have, and
  /// for a request that was changed while a cache is in use.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
  /// let controller = NSFetchedResultsController(
  ///   fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "author.name", cacheName: nil)
  /// do {
  ///   try controller.performFetch()
  /// } catch let error as CocoaError where error.code == .coreData {
  ///   print(error.localizedDescription)  // sort by author.name first
  /// }
  /// ```
  ///
  /// The description says what to change in the program. The number is 134060. Source: Apple's documentation of
  /// `NSCoreDataError`.
  public static let coreData = CocoaError.Code(rawValue: NSCoreDataError)

  /// A request or an operation is not possible as it was asked. Fetches, batch requests, asynchronous fetches, query
  /// generations and the coordinator's operations on stores raise it; the description says what to change.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.predicate = NSPredicate { _, _ in true }  // a block, which SQLite cannot evaluate
  /// do {
  ///   print(try context.fetch(request).count)
  /// } catch let error as CocoaError where error.code == .persistentStoreOperation {
  ///   print(error.localizedDescription)
  /// }
  /// ```
  ///
  /// It is the code of programming errors that Apple's framework answers with an exception: a context without a
  /// coordinator, an unknown entity, an object of another class than the caller names, an attribute that a batch
  /// request cannot set, a predicate that has no SQL. Log it; do not try again.
  ///
  /// The number is 134070. Source: Apple's documentation of `NSPersistentStoreOperationError`.
  public static let persistentStoreOperation = CocoaError.Code(rawValue: NSPersistentStoreOperationError)

  /// A store could not be opened. Opening raises it for a file that cannot be opened or is missing where it has to
  /// exist, holds no metadata of a store or is open already in this coordinator, and for an unknown configuration. Any
  /// access to a server raises it when the connection is lost.
  ///
  /// ```swift
  /// container.loadPersistentStores { description, error in
  ///   guard let error = error as? CocoaError, error.code == .persistentStoreOpen else { return }
  ///   print("\(description.url?.path ?? "") cannot be opened: \(error.localizedDescription)")
  /// }
  /// ```
  ///
  /// The folder of the file must exist and be writable, also for a SQLite store that is only read while others write:
  /// readers of a file in WAL mode write to the shared-memory file beside it (https://www.sqlite.org/wal.html).
  /// SQLite's codes 14 (SQLITE_CANTOPEN) and 23 (SQLITE_AUTH) become this error.
  ///
  /// The number is 134080. Source: Apple's documentation of `NSPersistentStoreOpenError`.
  public static let persistentStoreOpen = CocoaError.Code(rawValue: NSPersistentStoreOpenError)

  /// Another connection kept the store locked. Any access raises it when a lock lasted longer than the time limit of
  /// the store, `NSPersistentStoreTimeoutOption`. A PostgreSQL server raises it for a transaction that it ended because
  /// of a deadlock or a conflict between transactions.
  ///
  /// ```swift
  /// for attempt in 1...3 {
  ///   do {
  ///     try context.save()
  ///     break
  ///   } catch let error as CocoaError where error.code == .persistentStoreTimeout && attempt < 3 {
  ///     print("the store is locked, attempt \(attempt)")
  ///   }
  /// }
  /// ```
  ///
  /// Nothing was written, and the context keeps its changes: save again. If it comes often, look for a process whose
  /// transactions take too long. A SQLite file in WAL mode has one writer at a time, and readers never wait
  /// (https://www.sqlite.org/wal.html); `NSPersistentStoreWriteTurnOption` lets processes that write all the time take
  /// turns.
  ///
  /// The number is 134090. Source: Apple's documentation of `NSPersistentStoreTimeoutError`.
  public static let persistentStoreTimeout = CocoaError.Code(rawValue: NSPersistentStoreTimeoutError)

  /// A store does not support a kind of request. Executing raises it for an unknown class of request, a batch request
  /// to a store that takes none, and a history request where no store keeps a history.
  ///
  /// ```swift
  /// do {
  ///   _ = try context.execute(NSBatchDeleteRequest(fetchRequest: Book.fetchRequest()))
  /// } catch let error as CocoaError where error.code == .persistentStoreUnsupportedRequestType {
  ///   for book in try context.fetch(NSFetchRequest<Book>(entityName: "Book")) { context.delete(book) }
  /// }
  /// ```
  ///
  /// Stores in memory, binary and XML stores take no batch requests, as on Apple's platforms; a SQLite store at
  /// `/dev/null` does, and suits tests. For history, open the store with `NSPersistentHistoryTrackingKey`.
  ///
  /// The number is 134091. Source: Apple's documentation of `NSPersistentStoreUnsupportedRequestTypeError`.
  public static let persistentStoreUnsupportedRequestType = CocoaError.Code(
    rawValue: NSPersistentStoreUnsupportedRequestTypeError)

  /// The model is not the one that a store was made with. Opening raises it when the version hashes differ and no
  /// migration was asked for, or the store is an app's own; the description names the entities that differ, and the
  /// store's metadata is under the key "metadata". A store at a server raises it when another program has migrated or
  /// replaced it, and a save to a SQLite file when another program has migrated that by a mapping model.
  ///
  /// ```swift
  /// do {
  ///   try coordinator.addPersistentStore(type: .sqlite, at: url)
  /// } catch let error as CocoaError where error.code == .persistentStoreIncompatibleVersionHash {
  ///   let metadata = error.userInfo["metadata"] as? [String: Any] ?? [:]
  ///   print("made with version", metadata[NSStoreModelVersionIdentifiersKey] ?? "unknown")
  /// }
  /// ```
  ///
  /// Set `NSMigratePersistentStoresAutomaticallyOption` and `NSInferMappingModelAutomaticallyOption`, as containers do,
  /// to migrate the store instead. The file is unchanged.
  ///
  /// The number is 134100. Source: Apple's documentation of `NSPersistentStoreIncompatibleVersionHashError`.
  public static let persistentStoreIncompatibleVersionHash = CocoaError.Code(
    rawValue: NSPersistentStoreIncompatibleVersionHashError)

  /// A store could not be migrated. A migration raises it for failures of SQLite and of writing a file without a code
  /// of their own, for a binary or XML store that changed meanwhile, for a store in memory, and for columns, indexes,
  /// triggers or views that another program has made in the file and that the migration would lose.
  ///
  /// ```swift
  /// container.loadPersistentStores { _, error in
  ///   guard let error = error as? CocoaError, error.code == .migration else { return }
  ///   print(error.localizedDescription)  // what is in the way, such as a trigger or a view on the old tables
  /// }
  /// ```
  ///
  /// The store is as it was before: a migration is one transaction, or writes a new file that takes the old one's place
  /// at the end. A program with the old model can still open it.
  ///
  /// The number is 134110. Source: Apple's documentation of `NSMigrationError`.
  public static let migration = CocoaError.Code(rawValue: NSMigrationError)

  /// Migrated objects violate a new uniqueness constraint. A migration raises it; the file stays as it was.
  ///
  /// ```swift
  /// container.loadPersistentStores { _, error in
  ///   guard let error = error as? CocoaError, error.code == .migrationConstraintViolation else { return }
  ///   print("merge the duplicates with the old model first: \(error.localizedDescription)")
  /// }
  /// ```
  ///
  /// Open the store with its former model, remove the duplicates, save, and migrate then. A staged migration does both:
  /// a custom stage removes them in its `willMigrateHandler`, before the constraint is added.
  ///
  /// The number is 134111. Source: Apple's documentation of `NSMigrationConstraintViolationError`.
  public static let migrationConstraintViolation = CocoaError.Code(rawValue: NSMigrationConstraintViolationError)

  /// A migration was cancelled. Only Apple's framework raises it, for a migration that was cancelled by hand. Here a
  /// cancelled migration throws the error that `NSMigrationManager.cancelMigrationWithError(_:)` was given, which may
  /// be this one:
  ///
  /// ```swift
  /// let manager = NSMigrationManager(sourceModel: model, destinationModel: model)
  /// manager.cancelMigrationWithError(CocoaError(.migrationCancelled))
  /// ```
  ///
  /// The number is 134120.
  public static let migrationCancelled = CocoaError.Code(rawValue: NSMigrationCancelledError)

  /// The model that a store was made with was not found. A migration raises it when neither the copy in the store, nor
  /// the models in use, nor those in the program's bundles have the hashes of the store.
  ///
  /// ```swift
  /// container.loadPersistentStores { _, error in
  ///   guard let error = error as? CocoaError, error.code == .migrationMissingSourceModel else { return }
  ///   print("this version can no longer read the file; ship the old model in the .xcdatamodeld folder too")
  /// }
  /// ```
  ///
  /// SQLite stores keep a copy of their model, so mostly binary, XML and very old files need the former versions among
  /// the program's resources. The store's metadata is under the key "metadata".
  ///
  /// The number is 134130. Source: Apple's documentation of `NSMigrationMissingSourceModelError`.
  public static let migrationMissingSourceModel = CocoaError.Code(rawValue: NSMigrationMissingSourceModelError)

  /// No mapping model leads from the old model to the new one. Opening raises it when a migration is needed and
  /// `NSInferMappingModelAutomaticallyOption` is not set, and `NSMigrationManager` when it is given no mapping.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.shouldInferMappingModelAutomatically = true  // the default of descriptions; false raises the error
  /// container.persistentStoreDescriptions = [description]
  /// ```
  ///
  /// Options that are passed to a coordinator infer nothing by default: set both keys of migration. Put a mapping model
  /// into the program's bundle where a mapping cannot be inferred.
  ///
  /// The number is 134140. Source: Apple's documentation of `NSMigrationMissingMappingModelError`.
  public static let migrationMissingMappingModel = CocoaError.Code(rawValue: NSMigrationMissingMappingModelError)

  /// The store to be migrated cannot be opened. `NSMigrationManager` raises it for a missing or damaged source, and for
  /// one that was not made with the manager's source model.
  ///
  /// ```swift
  /// let manager = NSMigrationManager(sourceModel: model, destinationModel: model)
  /// let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: model, destinationModel: model)
  /// let copy = url.deletingPathExtension().appendingPathExtension("new.sqlite")
  /// do {
  ///   try manager.migrateStore(from: url, type: .sqlite, mapping: mapping, to: copy, type: .sqlite)
  /// } catch let error as CocoaError where error.code == .migrationManagerSourceStore {
  ///   print((error.userInfo[NSUnderlyingErrorKey] as? NSError)?.localizedDescription ?? error.localizedDescription)
  /// }
  /// ```
  ///
  /// The manager opens the source read-only. The number is 134150. Source: Apple's documentation of
  /// `NSMigrationManagerSourceStoreError`.
  public static let migrationManagerSourceStore = CocoaError.Code(rawValue: NSMigrationManagerSourceStoreError)

  /// The migrated store cannot be written. `NSMigrationManager` raises it if the file cannot be created, if it is the
  /// source itself, or if it is a store of another model than the manager's destination model. What the manager had
  /// written there is removed, and the source is unchanged.
  ///
  /// If the file is a store of the destination model, the migrated objects are added to it. The number is 134160.
  /// Source: Apple's documentation of `NSMigrationManagerDestinationStoreError`.
  public static let migrationManagerDestinationStore = CocoaError.Code(
    rawValue: NSMigrationManagerDestinationStoreError)

  /// An entity could not be migrated by its policy. A migration raises it when the program has no class of the policy's
  /// name, and when a mapping's expression calls a method that the policy or the migration manager does not have. What
  /// a policy throws itself is thrown as it is.
  ///
  /// Expressions of a mapping model call methods by name, which Swift cannot find on Linux: override
  /// `NSEntityMigrationPolicy.value(forSelector:arguments:)` and answer the names there.
  ///
  /// The number is 134170. Source: Apple's documentation of `NSEntityMigrationPolicyError`.
  public static let entityMigrationPolicy = CocoaError.Code(rawValue: NSEntityMigrationPolicyError)

  /// SQLite failed in a way that no other code describes. Any access to a store raises it; `NSSQLiteErrorDomain` has
  /// SQLite's code.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch let error as CocoaError where error.code == .sqlite {
  ///   let code = (error.userInfo[NSSQLiteErrorDomain] as? NSNumber)?.intValue ?? 0
  ///   if code & 0xff == 13 { print("the disk is full") } else { print("SQLite \(code)") }
  /// }
  /// ```
  ///
  /// SQLite's code is the extended one; its low byte is the primary code (https://www.sqlite.org/rescode.html). 13 is a
  /// full disk, 11 a damaged file, 10 a failure of the disk; `CoreDataError` has cases for the first two. SQLite's
  /// codes for locks, missing files, foreign files and violated constraints become `persistentStoreTimeout`,
  /// `persistentStoreOpen`, `persistentStoreTypeMismatch` and `managedObjectConstraintMerge`.
  ///
  /// The number is 134180. Source: Apple's documentation of `NSSQLiteError`.
  public static let sqlite = CocoaError.Code(rawValue: NSSQLiteError)

  /// No mapping can be inferred between two models. A lightweight migration and
  /// `NSMappingModel.inferredMappingModel(forSourceModel:destinationModel:)` raise it; the description names the entity
  /// and the property.
  ///
  /// ```swift
  /// let newer = NSManagedObjectModel(contentsOf: URL(fileURLWithPath: "Library 2.xcdatamodel")) ?? model
  /// do {
  ///   _ = try NSMappingModel.inferredMappingModel(forSourceModel: model, destinationModel: newer)
  /// } catch let error as CocoaError where error.code == .inferredMappingModel {
  ///   print(error.localizedDescription)
  /// }
  /// ```
  ///
  /// Make the call above a test of the program: it then fails before a user's file does. Common reasons are an
  /// attribute with another type, a mandatory attribute without a default value, and a to-many relationship that
  /// becomes to-one. A renaming identifier tells the mapping which old property has a new name.
  ///
  /// The number is 134190. Source: Apple's documentation of `NSInferredMappingModelError`.
  public static let inferredMappingModel = CocoaError.Code(rawValue: NSInferredMappingModelError)

  /// An external record could not be imported. Only Apple's framework raises it, for the files that Spotlight once read
  /// beside a store (`NSExternalRecordsFileFormatOption`). Linux has no Spotlight, and no store here has external
  /// records.
  ///
  /// Attributes with `allowsExternalBinaryDataStorage` have files too, which are no external records: a missing one is
  /// `CocoaError.Code.fileReadNoSuchFile`. The number is 134200.
  public static let externalRecordImport = CocoaError.Code(rawValue: NSExternalRecordImportError)

  /// The history after a token was deleted. A fetch of history raises it; fetch after nil to begin again.
  ///
  /// ```swift
  /// do {
  ///   _ = try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: lastToken))
  /// } catch let error as CocoaError where error.code == .persistentHistoryTokenExpired {
  ///   lastToken = coordinator.currentPersistentHistoryToken(fromStores: nil)
  ///   context.refreshAllObjects()  // what happened in between is not known: read everything again
  /// }
  /// ```
  ///
  /// A program that deletes history has to keep what the slowest reader has not read: delete before the oldest of the
  /// readers' tokens, or only transactions that are older than the longest absence of a reader.
  ///
  /// The number is 134301. Source: Apple's documentation of `NSPersistentHistoryTokenExpiredError`.
  public static let persistentHistoryTokenExpired = CocoaError.Code(rawValue: NSPersistentHistoryTokenExpiredError)

  /// The model of a migration stage was not found. A staged migration raises it when a model reference leads to no
  /// model, or to one with another checksum.
  ///
  /// Either the name, bundle or URL of the `NSManagedObjectModelReference` is wrong, or the model's file was changed
  /// after its checksum was written into the program. `NSManagedObjectModel.versionChecksum` gives the checksum of a
  /// model; `resolvedModel` of the reference traps in the same situation, so call it only where the model is certain.
  ///
  /// The number is 134504. Source: Apple's documentation of `NSManagedObjectModelReferenceNotFoundError`.
  public static let managedObjectModelReferenceNotFound = CocoaError.Code(
    rawValue: NSManagedObjectModelReferenceNotFoundError)

  /// A store was written by a newer framework than the stages know. Only Apple's framework raises it, for a staged
  /// migration in which its own versions do not match; its documentation says no more. Here stages depend on models
  /// only, not on a version of this module.
  ///
  /// The number is 134505.
  public static let stagedMigrationFrameworkVersionMismatch = CocoaError.Code(
    rawValue: NSStagedMigrationFrameworkVersionMismatchError)

  /// Migration stages lead back to an earlier model. A staged migration raises it when no stage begins at the version
  /// of the store.
  ///
  /// ```swift
  /// container.loadPersistentStores { _, error in
  ///   guard let error = error as? CocoaError, error.code == .stagedMigrationBackwardMigration else { return }
  ///   print("a newer version of this program has opened the file, or a stage is missing")
  /// }
  /// ```
  ///
  /// Each version that users may still have needs a stage that begins with it: keep the old stages in the
  /// `NSStagedMigrationManager` when you add a new one.
  ///
  /// The number is 134506. Source: Apple's documentation of `NSStagedMigrationBackwardMigrationError`.
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
