/// What a program does about an error of Core Data, as an enumeration. An addition to Apple's API, beside the codes of
/// `CocoaError.Code`.
///
/// ```swift
/// do {
///   try await container.write { context in try context.fetch(Book.fetchRequest()).first?.pages += 1 }
/// } catch {
///   switch CoreDataError(error) {
///   case .conflict: print("another save changed the book: read it again")
///   case .validation(let problems): for problem in problems { print(problem.key ?? "", problem.message) }
///   case .locked: print("another process keeps the store locked: try again later")
///   case .migrationNeeded, .migrationFailed: print("the model does not fit the store")
///   case .diskFull: print("free some space")
///   default: print(error)
///   }
/// }
/// ```
///
/// It groups codes by what a caller can do. The thrown error itself has the message, the code and the objects. Any
/// thread.
///
/// What to do about each, and whether trying again helps:
///
/// | Case | Try again | Do |
/// | --- | --- | --- |
/// | `validation` | no | show the problems, let the user change the values |
/// | `conflict` | yes | `rollback()`, read, do the work again |
/// | `notUnique` | no | fetch the object that has the values, or use others |
/// | `locked` | later | wait: another process writes for a long time |
/// | `migrationNeeded` | no | open with `shouldMigrateStoreAutomatically` |
/// | `migrationFailed` | no | keep the file, correct the mapping or the models |
/// | `objectNotFound` | no | leave the object out: it was deleted |
/// | `cannotOpen` | no | check path, permissions and the kind of the store |
/// | `diskFull` | later | free space |
/// | `damaged` | no | restore a backup |
/// | `historyExpired` | yes | read everything, begin at a nil token |
///
/// It is made of a thrown error and never thrown by Core Data itself: `catch let error as CoreDataError` catches
/// nothing. The numbers are in `CocoaError.Code`.
public enum CoreDataError: Error, Sendable, Equatable {
  /// Values break rules of the model, or a Deny rule forbids a deletion: 1550, and 1560 to 1690.
  ///
  /// One problem for each value and rule: a save that finds several throws 1560, of which this has the single errors.
  case validation([ValidationProblem])
  /// Another save changed or deleted the same rows since this context read them: 133020. Roll back, and do the work
  /// again.
  ///
  /// Only with the error policy, which is the default of a new context: other policies resolve it.
  case conflict
  /// Another object has the same unique values: 133021 and 1551. Use that object, or other values.
  ///
  /// Merge policies other than the error policy resolve 133021. Core Data does not throw 1551 here; a program's own
  /// validation may.
  case notUnique
  /// Another connection kept the store locked for longer than the time limit: 134090. Try again later.
  ///
  /// SQLite's SQLITE_BUSY after the store's busy timeout (https://www.sqlite.org/rescode.html#busy). A PostgreSQL
  /// server's deadlocks, serialization failures and lock timeouts are this case too. Nothing was written.
  case locked
  /// The store was made with another model, and no migration was asked for: 134100.
  ///
  /// The store is untouched. `NSPersistentStoreDescription` asks for a migration by default; a store that is added by
  /// options asks with `NSMigratePersistentStoresAutomaticallyOption`.
  case migrationNeeded
  /// A migration was tried and failed, and the store is as it was: 134110 to 134170, 134190, and 134504 to
  /// 134506.
  case migrationFailed
  /// An object has no row any more: 133000.
  ///
  /// Thrown by `existingObject(with:)`, by a child's save of an object that its parent no longer has, and by a save to
  /// PostgreSQL that refers to a deleted row.
  case objectNotFound
  /// The store's file could not be opened, or is no store: 134000 to 134020, and 134080. A lost connection to a
  /// PostgreSQL server is this case too.
  ///
  /// The error's message names the file or server and the reason.
  case cannotOpen
  /// The disk is full: SQLite's code 13, or PostgreSQL's SQLSTATE 53100, whatever Core Data's code is.
  ///
  /// Nothing was written: a transaction is committed as a whole.
  case diskFull
  /// SQLite found the file damaged: SQLite's code 11.
  ///
  /// Open no further contexts on it, and copy the file before any attempt to repair
  /// (https://www.sqlite.org/howtocorrupt.html).
  case damaged
  /// The history after a token was deleted: 134301. Fetch after nil to begin again.
  case historyExpired
  /// Everything else: impossible requests and settings, whose error message says what to change, and errors of other
  /// domains.
  case other

  /// A value that validation refused.
  ///
  /// ```swift
  /// do { try context.save() } catch {
  ///   guard case .validation(let problems) = CoreDataError(error) else { throw error }
  ///   for problem in problems where problem.code == NSValidationMissingMandatoryPropertyError {
  ///     print("fill in", problem.key ?? "")
  ///   }
  /// }
  /// ```
  ///
  /// It may go to another queue, such as a user interface's: the error's user info holds the object itself, which may
  /// not.
  public struct ValidationProblem: Sendable, Equatable {
    /// The name of the property; a key path for an element of a composite attribute, nil if the rule names none.
    public let key: String?
    /// The ID of the object; nil for batch requests, which have no objects.
    ///
    /// That of a new object is temporary and valid in its context only.
    public let objectID: NSManagedObjectID?
    /// The number of the rule's code, such as `NSValidationMissingMandatoryPropertyError`.
    ///
    /// Of a rule of the program's own it is the code that the class or the model gave.
    public let code: Int
    /// The error's description, which names the entity and the property, and no value.
    public let message: String
  }
}

extension CoreDataError {
  /// The case for an error that was thrown, or found in another error's user info.
  ///
  /// ```swift
  /// do { try context.save() } catch {
  ///   if case .conflict = CoreDataError(error) { context.rollback() } else { throw error }
  /// }
  /// ```
  ///
  /// A full disk or a damaged file is `.diskFull` or `.damaged`, although the error's code is 134180 or 134030.
  ///
  /// An error of another domain is `.other`, and a `CoreDataError` is itself. O(1), or O(problems) for validation. Any
  /// thread.
  ///
  /// - Parameter error: as it was caught.
  public init(_ error: any Error) {
    if let error = error as? CoreDataError {
      self = error
      return
    }
    let error = error as NSError
    // The low byte of SQLite's code is the primary one (https://www.sqlite.org/rescode.html).
    switch (error.userInfo[NSSQLiteErrorDomain] as? NSNumber).map({ $0.intValue & 0xff }) {
    case 11: self = .damaged
    case 13: self = .diskFull
    default: self = error.isServerFull ? .diskFull : CoreDataError(ofCode: error)
    }
  }

  /// The codes are grouped by what a caller can do; one that is added to `CocoaError.Code` is `.other` until it has a
  /// line here.
  private init(ofCode error: NSError) {
    guard error.domain == NSCocoaErrorDomain else {
      self = .other
      return
    }
    switch CocoaError.Code(rawValue: error.code) {
    case .managedObjectValidation, .validationMultipleErrors, .validationMissingMandatoryProperty,
      .validationRelationshipLacksMinimumCount, .validationRelationshipExceedsMaximumCount,
      .validationRelationshipDeniedDelete, .validationNumberTooLarge, .validationNumberTooSmall, .validationDateTooLate,
      .validationDateTooSoon, .validationInvalidDate, .validationStringTooLong, .validationStringTooShort,
      .validationStringPatternMatching, .validationInvalidURI:
      let errors = error.userInfo[NSDetailedErrorsKey] as? [NSError] ?? [error]
      self = .validation(errors.map(ValidationProblem.init))
    case .managedObjectMerge, .persistentStoreSaveConflicts: self = .conflict
    case .managedObjectConstraintMerge, .managedObjectConstraintValidation: self = .notUnique
    case .persistentStoreTimeout: self = .locked
    case .persistentStoreIncompatibleVersionHash: self = .migrationNeeded
    case .migration, .migrationConstraintViolation, .migrationCancelled, .migrationMissingSourceModel,
      .migrationMissingMappingModel, .migrationManagerSourceStore, .migrationManagerDestinationStore,
      .entityMigrationPolicy, .inferredMappingModel, .managedObjectModelReferenceNotFound,
      .stagedMigrationFrameworkVersionMismatch, .stagedMigrationBackwardMigration:
      self = .migrationFailed
    case .managedObjectReferentialIntegrity: self = .objectNotFound
    case .persistentStoreInvalidType, .persistentStoreTypeMismatch, .persistentStoreIncompatibleSchema,
      .persistentStoreOpen:
      self = .cannotOpen
    case .persistentHistoryTokenExpired: self = .historyExpired
    default: self = .other
    }
  }
}

extension CoreDataError.ValidationProblem {
  fileprivate init(_ error: NSError) {
    self.init(
      key: error.userInfo[NSValidationKeyErrorKey] as? String,
      objectID: (error.userInfo[NSValidationObjectErrorKey] as? NSManagedObject)?.objectID, code: error.code,
      message: error.localizedDescription)
  }
}

extension NSError {
  /// Whether a PostgreSQL server has no space left; only its store's errors have this key
  /// (https://www.postgresql.org/docs/15/errcodes-appendix.html).
  ///
  /// 53100 is "disk_full", of class 53, insufficient resources.
  fileprivate var isServerFull: Bool {
    (userInfo[NSUnderlyingErrorKey] as? NSError)?.userInfo["SQLSTATE"] as? String == "53100"
  }
}
