import CoreData
import Testing

/// The enumeration of what a program does about an error.
@Suite struct CoreDataErrorTests {
  @Test(arguments: [
    (NSManagedObjectMergeError, CoreDataError.conflict), (NSManagedObjectConstraintMergeError, .notUnique),
    (NSPersistentStoreTimeoutError, .locked), (NSPersistentStoreIncompatibleVersionHashError, .migrationNeeded),
    (NSMigrationMissingSourceModelError, .migrationFailed), (NSInferredMappingModelError, .migrationFailed),
    (NSManagedObjectReferentialIntegrityError, .objectNotFound), (NSPersistentStoreOpenError, .cannotOpen),
    (NSPersistentHistoryTokenExpiredError, .historyExpired), (NSPersistentStoreOperationError, .other),
    (NSSQLiteError, .other),
  ])
  func eachCodeIsACase(code: Int, expected: CoreDataError) {
    #expect(CoreDataError(NSError(domain: NSCocoaErrorDomain, code: code)) == expected)
  }

  @Test func theCauseWinsOverTheCode() {
    func error(_ code: Int, _ info: [String: Any]) -> CoreDataError {
      CoreDataError(NSError(domain: NSCocoaErrorDomain, code: code, userInfo: info))
    }
    #expect(error(NSSQLiteError, [NSSQLiteErrorDomain: NSNumber(value: 13)]) == .diskFull)
    // SQLITE_CORRUPT_INDEX, an extended code.
    #expect(error(NSSQLiteError, [NSSQLiteErrorDomain: NSNumber(value: 779)]) == .damaged)
    let server = NSError(domain: "NSPostgreSQLErrorDomain", code: 0, userInfo: ["SQLSTATE": "53100"])
    #expect(error(NSPersistentStoreSaveError, [NSUnderlyingErrorKey: server]) == .diskFull)
    #expect(CoreDataError(NSError(domain: NSPOSIXErrorDomain, code: NSManagedObjectMergeError)) == .other)
    #expect(CoreDataError(CoreDataError.locked) == .locked)
  }

  @Test func aRefusedSaveNamesTheValues() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let book = context.make("Book")
      let author = context.make("Author")
      do {
        try context.save()
        Issue.record("Mandatory values may not be missing.")
      } catch {
        guard case .validation(let problems) = CoreDataError(error) else {
          Issue.record("\(error)")
          return
        }
        #expect(Set(problems.map(\.key)) == ["title", "name"])
        #expect(Set(problems.map(\.objectID)) == [book.objectID, author.objectID])
        #expect(problems.allSatisfy { $0.code == NSValidationMissingMandatoryPropertyError && !$0.message.isEmpty })
      }
    }
  }

  @Test func aConflictAndAMissingObjectAreSo() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Book", ["title": "A"]) }.objectID
    try store.read { context in
      context.object(with: id).setValue("mine", forKey: "title")
      try store.save { $0.delete($0.object(with: id)) }
      do {
        try context.save()
        Issue.record("The row was deleted.")
      } catch { #expect(CoreDataError(error) == .conflict) }
    }
    try store.read { context in
      do {
        _ = try context.existingObject(with: id)
        Issue.record("The row was deleted.")
      } catch { #expect(CoreDataError(error) == .objectNotFound) }
    }
  }
}
