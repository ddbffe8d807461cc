/// What a program does about an error of Core Data, as an enumeration. An addition to Apple's API, beside the codes of
/// `CocoaError.Code`.
///
/// ```swift
/// do {
///   try await container.write { context in try context.fetch(Book.fetchRequest()).first?.pages += 1 }
/// } catch {
///   switch CoreDataError(error) {
///   case .conflict: print("somebody else changed the book: try again")
///   case .validation(let problems): for problem in problems { print(problem.key ?? "", problem.message) }
///   case .locked: print("another process keeps the store locked: try again later")
///   case .migrationNeeded, .migrationFailed: print("the model does not fit the store")
///   case .diskFull: print("free some space")
///   default: print(error)
///   }
/// }
/// ```
///
/// It groups codes by what a caller can do, and keeps no more than that: the thrown error has the sentence, the code
/// and the objects. Any thread.
public enum CoreDataError: Error, Sendable, Equatable {
  /// Values break rules of the model, or a deny rule forbids a deletion: 1550, and 1560 to 1690. A person
  /// has to change the values.
  case validation([ValidationProblem])
  /// Another save changed or deleted the same rows since this context read them: 133020. Roll back, and do the work
  /// again.
  case conflict
  /// Another object has the same unique values: 133021 and 1551. Use that object, or other values.
  case notUnique
  /// Another connection kept the store locked for longer than the time limit: 134090. Try again later.
  case locked
  /// The store was made with another model, and no migration was asked for: 134100.
  case migrationNeeded
  /// A migration was tried and failed, and the store is as it was: 134110 to 134170, 134190, and 134504 to
  /// 134506.
  case migrationFailed
  /// An object has no row any more: 133000.
  case objectNotFound
  /// The store's file could not be opened, or is no store: 134000 to 134020, and 134080.
  case cannotOpen
  /// The disk is full: SQLite's code 13, whatever Core Data's is.
  case diskFull
  /// SQLite found the file damaged: SQLite's code 11.
  case damaged
  /// The history after a token was deleted: 134301. Fetch after nil to begin again.
  case historyExpired
  /// Everything else: requests and settings that are not possible as they were asked, and errors of others. The error's
  /// sentence says what to change.
  case other

  /// A value that validation refused.
  public struct ValidationProblem: Sendable, Equatable {
    /// The name of the property; a key path for an element of a composite attribute, nil if the rule names none.
    public let key: String?
    /// The ID of the object; nil for batch requests, which have no objects.
    public let objectID: NSManagedObjectID?
    /// The number of the rule's code, such as `NSValidationMissingMandatoryPropertyError`.
    public let code: Int
    /// The sentence for people.
    public let message: String
  }
}

extension CoreDataError {
  /// What an error of Core Data is, which was thrown or found under another error's keys.
  ///
  /// ```swift
  /// do { try context.save() } catch {
  ///   if case .conflict = CoreDataError(error) { context.rollback() } else { throw error }
  /// }
  /// ```
  ///
  /// The error of a full disk or a damaged file keeps Core Data's code, 134180 or 134030: here the cause wins.
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
  fileprivate var isServerFull: Bool {
    (userInfo[NSUnderlyingErrorKey] as? NSError)?.userInfo["SQLSTATE"] as? String == "53100"
  }
}
